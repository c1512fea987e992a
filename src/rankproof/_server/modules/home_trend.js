// The trend of results on the same queries: a line with intervals, a sentence, and a table of its values.
import { get } from "./api.js";
import { el, fill, svg } from "./dom.js";

const WIDTH = 560;
const HEIGHT = 230;
const EDGE = { left: 52, right: 14, top: 22, bottom: 44 };
const CHOSEN = "";

/** Loads the trend of the results with this id and shows it in the figure; `onChange` gets the system that a person chooses. */
export async function showTrend(figure, id, system, onChange) {
  let trend;
  try {
    trend = await get(`/api/r/${id}/trend`);
  } catch (error) {
    fill(figure, el("p", { class: "why" }, error.message));
    return;
  }
  draw(figure, trend, trend.systems.includes(system) ? system : CHOSEN, onChange);
}

function draw(figure, trend, system, onChange) {
  const values = trendValues(trend, system);
  const options = trend.systems.map((name) => el("option", { value: name, selected: name === system }, name));
  const choice = el(
    "select",
    { on: { change: () => (onChange(choice.value), draw(figure, trend, choice.value, onChange)) } },
    el("option", { value: CHOSEN, selected: system === CHOSEN }, "the chosen system"),
    options,
  );
  const title = `${trend.measure}, ${trend.dataset || "no dataset"}`;
  fill(
    figure,
    el("figcaption", {}, el("strong", {}, title), el("label", { class: "beside" }, "System ", choice)),
    el("p", { class: "trend-words" }, trendWords(values, trend), " ", firstAgainstLast(values)),
    values.length > 1 ? chart(values, trend, title) : null,
    el("details", {}, el("summary", {}, "Values"), valueTable(values, trend)),
    trend.left_out ? el("p", { class: "beside" }, `Left out: ${trend.left_out} on the same queries by another measure.`) : null,
  );
}

/** The points that have a value of the system, the chosen one of each point if no system is named. */
export function trendValues(trend, system) {
  return trend.points.flatMap((point) => {
    const name = system === CHOSEN ? point.chosen : system;
    const mean = point.means.find((candidate) => candidate.name === name);
    return mean === undefined || mean.value === null ? [] : [{ ...mean, point }];
  });
}

/** The values since the judgements or the dataset last changed: only these can be compared. */
export function lastStretch(values) {
  const start = values.findLastIndex(({ point }, at) => at > 0 && (point.judgements_changed || point.dataset_changed));
  return values.slice(Math.max(start, 0));
}

/** From the first to the last value on the same data, in words. */
export function trendWords(values, trend) {
  if (values.length === 0) return "No value.";
  const same = lastStretch(values);
  const [first, last] = [same[0], same.at(-1)];
  const start = same[0] === values[0] ? "" : same[0].point.judgements_changed ? "Since the judgements changed: " : "Since the dataset changed: ";
  if (same.length === 1) return `${start}${shown(last.value)} on ${day(last.point)}.`;
  const moved = `${shown(first.value)} on ${day(first.point)}, ${shown(last.value)} on ${day(last.point)}`;
  return `${start}${moved}: ${apart(last.value - first.value, trend)} over ${same.length} results.`;
}

function firstAgainstLast(values) {
  const same = lastStretch(values);
  if (same.length < 2) return null;
  return el("a", { href: `/r/${same[0].point.id}/changes/${same.at(-1).point.id}` }, "Test the first against the last");
}

function apart(difference, trend) {
  const sign = difference > 0 ? "+" : difference < 0 ? "−" : "±";
  return trend.is_fraction ? `${sign}${(100 * Math.abs(difference)).toFixed(1)} pp` : `${sign}${Math.abs(difference).toPrecision(3)}`;
}

function shown(value) {
  return Math.abs(value) < 100 ? value.toFixed(3) : value.toPrecision(5);
}

function day(point) {
  return point.made ? point.made.slice(0, 10) : point.label;
}

function chart(values, trend, title) {
  const bounds = values.flatMap(({ value, low, high }) => [value, low ?? value, high ?? value]);
  const ticks = niceTicks(Math.min(...bounds), Math.max(...bounds));
  const [lowest, highest] = [ticks[0], ticks.at(-1)];
  const x = (at) => EDGE.left + ((WIDTH - EDGE.left - EDGE.right) * (at + 0.5)) / values.length;
  const y = (value) => HEIGHT - EDGE.bottom - ((HEIGHT - EDGE.top - EDGE.bottom) * (value - lowest)) / (highest - lowest || 1);
  const image = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${title}: ${trendWords(values, trend)}` });
  image.append(...ticks.flatMap((tick) => gridLine(tick, y)), ...breaks(values, x), ...whiskers(values, x, y));
  image.append(...stretches(values).map((stretch) => svg("polyline", { class: "line", points: stretch.map((at) => `${x(at)},${y(values[at].value)}`).join(" ") })));
  image.append(...values.map((value, at) => dot(value, x(at), y(value.value))), ...dates(values, x));
  return image;
}

/** The indices of values between changes of the data; a line never joins values of different judgements. */
function stretches(values) {
  const parts = [];
  for (const [at, { point }] of values.entries()) {
    if (at === 0 || point.judgements_changed || point.dataset_changed) parts.push([]);
    parts.at(-1).push(at);
  }
  return parts;
}

function gridLine(tick, y) {
  const label = svg("text", { class: "tick-label", x: EDGE.left - 8, y: y(tick) + 4, "text-anchor": "end" }, tick.toFixed(Math.abs(tick) < 10 ? 2 : 0));
  return [svg("line", { class: "grid-line", x1: EDGE.left, x2: WIDTH - EDGE.right, y1: y(tick), y2: y(tick) }), label];
}

function whiskers(values, x, y) {
  const width = Math.max(2, Math.min(14, (WIDTH - EDGE.left - EDGE.right) / values.length - 2));
  const known = values.map((value, at) => ({ ...value, at })).filter(({ low, high }) => low !== null && high !== null);
  return known.map(({ low, high, at }) => svg("rect", { class: "whisker-band", x: x(at) - width / 2, width, y: y(high), height: Math.max(1, y(low) - y(high)), rx: 2 }));
}

function dot({ name, value, low, high, point }, cx, cy) {
  const interval = low === null ? "" : ` [${shown(low)}, ${shown(high)}]`;
  const words = `${day(point)}, ${point.name}: ${name} ${shown(value)}${interval}`;
  const open = () => window.location.assign(`/r/${point.id}`);
  const mark = svg("circle", { class: point.is_chosen ? "point" : "point open", cx, cy, r: 4 }, svg("title", {}, words));
  mark.addEventListener("click", open);
  return mark;
}

/** A line with its reason wherever the data changed. */
function breaks(values, x) {
  return values.flatMap(({ point }, at) => {
    if (at === 0 || !(point.judgements_changed || point.dataset_changed)) return [];
    const place = (x(at - 1) + x(at)) / 2;
    const why = point.judgements_changed ? "judgements changed" : "dataset changed";
    const anchor = place > WIDTH / 2 ? "end" : "start";
    const label = svg("text", { class: "tick-label", x: place + (anchor === "end" ? -5 : 5), y: 13, "text-anchor": anchor }, why);
    return [svg("line", { class: "break", x1: place, x2: place, y1: 4, y2: HEIGHT - EDGE.bottom }), label];
  });
}

function dates(values, x) {
  const places = values.length === 1 ? [0] : [0, values.length - 1];
  return places.map((at) => {
    const anchor = values.length < 4 ? "middle" : at === 0 ? "start" : "end";
    const place = anchor === "start" ? EDGE.left : anchor === "end" ? WIDTH - EDGE.right : x(at);
    return svg("text", { class: "tick-label", x: place, y: HEIGHT - EDGE.bottom + 20, "text-anchor": anchor }, day(values[at].point));
  });
}

/** About four round values that enclose both. */
export function niceTicks(low, high) {
  const span = high - low || Math.abs(high) / 10 || 1;
  const power = 10 ** Math.floor(Math.log10(span / 3));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => span / candidate <= 4) || 10 * power;
  const [first, last] = [Math.floor(low / step), Math.ceil(high / step)];
  return Array.from({ length: Math.max(last - first, 1) + 1 }, (_, at) => (first + at) * step);
}

function valueTable(values, trend) {
  const rows = [...values].reverse().map(({ name, value, low, high, point }) =>
    el(
      "tr",
      {},
      el("td", {}, day(point)),
      el("th", { scope: "row" }, el("a", { href: `/r/${point.id}` }, point.name), point.judgements_changed ? el("span", { class: "beside" }, " judgements changed") : null),
      el("td", {}, name),
      el("td", { class: "number" }, low === null ? shown(value) : `${shown(value)} [${shown(low)}, ${shown(high)}]`),
    ),
  );
  const head = ["Date", "Result", "System", trend.measure].map((text) => el("th", { scope: "col" }, text));
  return el("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Values of the trend" }, el("table", {}, el("thead", {}, el("tr", {}, head)), el("tbody", {}, rows)));
}
