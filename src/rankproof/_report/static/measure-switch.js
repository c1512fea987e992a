"use strict";

// One choice of the measure for the whole page: the picture of the decision, the systems, the queries.
(function (rp) {
  const { el } = rp.dom;
  const place = document.querySelector('[data-part="measure-switch"]');
  const blocks = [...document.querySelectorAll("[data-measure]")];
  const names = [...new Set(blocks.map((block) => block.dataset.measure))];

  function show(measure) {
    if (names.includes(measure)) {
      blocks.forEach((block) => (block.hidden = block.dataset.measure !== measure));
    }
  }

  function offer() {
    if (!place || !rp.explorer || names.length < 2) {
      return;
    }
    const measures = rp.explorer.model.data.measures.map((measure) => measure.name);
    const select = el("select", { id: "page-measure" }, names.map((name) => el("option", { value: name }, name)));
    select.addEventListener("change", () => rp.explorer.setMeasure(measures.indexOf(select.value)));
    place.append(el("label", { for: select.id }, "Measure "), select);
    place.hidden = false;
    rp.explorer.onMeasure((measure) => {
      const name = measures[measure];
      if (names.includes(name)) {
        select.value = name;
      }
      show(name);
    });
  }

  rp.ready.then(offer, () => {});
})((window.rankproof = window.rankproof || {}));
