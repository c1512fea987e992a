// The effect of changed settings on all queries: the difference with its interval, and a waterfall of the queries.
import { el, svg } from "./dom.js";

const WIDTH = 260;
const HEIGHT = 80;
const EPSILON = 1e-12;

/** A difference with its sign: percentage points for a share. */
export function amount(change, isFraction) {
  const sign = change > 0 ? "+" : change < 0 ? "−" : "";
  return isFraction ? `${sign}${(100 * Math.abs(change)).toFixed(1)} pp` : `${sign}${Number(Math.abs(change).toPrecision(3))}`;
}

/** The changes of the queries from A to the changed B, larger is better; null where a value is missing. */
export function effectChanges(bench, a, effect) {
  const place = bench.systems.findIndex(({ name }) => name === a);
  const sign = bench.higher_is_better ? 1 : -1;
  return bench.queries.map(({ values }, at) => {
    const [mine, theirs] = [values[place] ?? null, effect.values[at] ?? null];
    return mine === null || theirs === null ? null : sign * (theirs - mine);
  });
}

/** The queries on which the better side is another one with the changes. */
export function flippedPlaces(before, now) {
  const side = (change) => (change > EPSILON ? 1 : change < -EPSILON ? -1 : 0);
  return now.flatMap((change, place) => (change !== null && before[place] !== null && side(change) !== side(before[place]) ? [place] : []));
}

export function effectNode(effect, { bench, state, moved, before, change }) {
  const flipped = flippedPlaces(before, effectChanges(bench, state.a, effect));
  const show = el("button", { type: "button", class: "plain", on: { click: () => change({ g: "flipped" }) } }, `${flipped.length} changed sides`);
  return el(
    "div",
    {},
    el("h3", {}, `Effect on all ${effect.better + effect.same + effect.worse} queries`),
    el("p", { class: "own-change" }, "Your change: ", el("span", { class: `big ${tone(effect.change)}` }, amount(effect.change, bench.is_fraction)), intervalText(effect.change_ci, bench)),
    el("p", { class: "beside" }, `${bench.measure} of B: before ${effect.mean_before.toFixed(4)}, now ${effect.mean.toFixed(4)}`),
    el("p", { class: "against-a" }, `Against A (${state.a}, ${effect.mean_a.toFixed(4)}): `, el("span", { class: tone(effect.difference) }, amount(effect.difference, bench.is_fraction)), intervalText(effect.ci, bench)),
    waterfall(effectChanges(bench, state.a, effect).filter((value) => value !== null)),
    el("p", {}, `${effect.better} better than A, ${effect.same} the same, ${effect.worse} worse; `, flipped.length ? show : "none changed sides"),
  );
}

const tone = (change) => (change > EPSILON ? "better" : change < -EPSILON ? "worse" : "");

function intervalText(interval, { is_fraction }) {
  if (!interval) return " (too few queries differ for an interval)";
  return ` (95% CI [${interval.map((end) => amount(end, is_fraction)).join(", ")}])`;
}

/** The queries by their change, the largest gain first. */
function waterfall(changes) {
  const sorted = changes.filter((value) => Math.abs(value) > EPSILON).sort((x, y) => y - x);
  const largest = Math.max(EPSILON, ...sorted.map(Math.abs));
  const width = WIDTH / Math.max(1, changes.length);
  const losses = sorted.filter((value) => value < 0).length;
  const bars = sorted.map((value, at) => {
    const size = (Math.abs(value) / largest) * (HEIGHT / 2 - 2);
    const x = value > 0 ? at * width : WIDTH - (losses - (at - (sorted.length - losses))) * width;
    return svg("rect", { x: x.toFixed(2), y: (value > 0 ? HEIGHT / 2 - size : HEIGHT / 2).toFixed(2), width: Math.max(0.5, width * 0.85).toFixed(2), height: size.toFixed(2), class: value > 0 ? "gain" : "loss" });
  });
  const line = svg("line", { x1: 0, x2: WIDTH, y1: HEIGHT / 2, y2: HEIGHT / 2 });
  return svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "waterfall", role: "img", "aria-label": `${sorted.length - losses} gains and ${losses} losses` }, line, bars);
}
