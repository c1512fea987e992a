"use strict";

// What a report can do while a server shows it: whole documents, and its queries in the bench.
(function (rp) {
  const { el, fill } = rp.dom;
  let addresses = null;
  rp.ready.then(() => (addresses = rp.dom.parsed("served")), () => {});
  const MOST_PARTS = 20;

  function address(path, parameters) {
    return path + (path.includes("?") ? "&" : "?") + new URLSearchParams(parameters);
  }

  // The text in parts, until it is complete or very long.
  async function read(doc) {
    let text = "";
    for (let part = 0; part < MOST_PARTS; part += 1) {
      const reply = await fetch(address(addresses.documents, { doc, start: Array.from(text).length }));
      if (!reply.ok) {
        throw new Error(await reply.text());
      }
      const { text: more, length } = await reply.json();
      text += more;
      if (!more || Array.from(text).length >= length) {
        return text;
      }
    }
    return text + "…";
  }

  // A button that shows the whole text below the beginning of a document; nothing in a file.
  function wholeText(doc, marked) {
    if (!addresses) {
      return null;
    }
    const place = el("div", { class: "whole", dir: "auto", hidden: true, tabindex: "0", role: "region", "aria-label": "Whole text" });
    const button = el("button", { type: "button", class: "plain" }, "Whole text");
    button.addEventListener("click", async () => {
      button.disabled = true;
      place.hidden = false;
      try {
        fill(place, marked(await read(doc)));
      } catch (error) {
        fill(place, error.message);
        button.disabled = false;
      }
    });
    return [button, place];
  }

  function benchLink(view, data) {
    if (!addresses || !data.systems.length) {
      return null;
    }
    const [a, b] = [view.a, view.b].map((at) => data.systems[at].name);
    return el("a", { href: address(addresses.bench, { a, b, q: data.queries.ids[view.query] }) }, "Open in the bench");
  }

  rp.served = { wholeText, benchLink };
})((window.rankproof = window.rankproof || {}));
