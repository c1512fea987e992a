"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const parts = Object.fromEntries([...document.querySelectorAll("main [id], header [id]")].map((one) => [one.id, one]));
let isBusy = false;

function showStatus(words) {
  parts.status.textContent = words;
  parts.error.hidden = true;
}

function showError(words) {
  parts.error.textContent = words;
  parts.error.hidden = false;
}

function busy(on) {
  isBusy = on;
  for (const button of document.querySelectorAll(".grades button, .saves")) {
    if (on) button.setAttribute("aria-disabled", "true");
    else button.removeAttribute("aria-disabled");
  }
}

/** Sends one request at a time; null if it failed or another one is running. */
async function send(url, failed, options = {}) {
  if (isBusy) return null;
  busy(true);
  try {
    const reply = await fetch(url, options);
    if (!reply.ok) throw new Error((await reply.text()).trim());
    return await reply.json();
  } catch (error) {
    showError(`${failed}: ${error instanceof TypeError ? "the server does not respond" : error.message}`);
    return null;
  } finally {
    busy(false);
  }
}

/** Sends a change: a key pressed twice never changes the next item. */
function change(url, body) {
  const headers = { "Content-Type": "application/json" };
  return send(url, "Not saved", { method: "POST", headers, body: JSON.stringify(body) });
}

/** How far whole questions are labelled; `sizes` has the items of each question, in the order of the items. */
function questionProgress(sizes, isDone, unit) {
  let start = 0;
  const open = sizes.map((size) => {
    const items = Array.from({ length: size }, (_, at) => start + at);
    start += size;
    return items.filter((at) => !isDone(at)).length;
  });
  const left = open.reduce((sum, count) => sum + count, 0);
  const ahead = `${left} ${unit}${left === 1 ? "" : "s"} left`;
  const first = open.findIndex((count) => count > 0);
  const complete = first === -1 ? sizes.length : first;
  const begun = first !== -1 && open[first] < sizes[first];
  if (complete > 0 && !begun) return `Question ${complete} of ${sizes.length} complete; you can stop. ${ahead}`;
  return `Question ${complete + 1} of ${sizes.length}: ${sizes[first] - open[first]} of ${sizes[first]}. ${ahead}`;
}

/** Whether a key is a shortcut here: not with a modifier, held down, or turned off. */
function isShortcut(event) {
  return parts.keys.checked && !event.repeat && !event.ctrlKey && !event.metaKey && !event.altKey;
}

/** Moves the focus to the element, so that a screen reader reads it from its beginning, and scrolls to `top`. */
function focusOn(element, top = 0) {
  element.focus({ preventScroll: true });
  window.scrollTo(0, top);
}
