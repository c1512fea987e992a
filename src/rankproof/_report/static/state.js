"use strict";

// The page address contains the view, so that it can be linked: #queries?measure=…&query=…; other sections keep the measure.
(function (rp) {
  const QUERIES = "queries";

  // The section that the address names, and what follows its question mark; null without one.
  function parts() {
    const [section, ...rest] = window.location.hash.slice(1).split("?");
    return { section, words: rest.length ? rest.join("?") : null };
  }

  function read() {
    return new URLSearchParams(parts().words || "");
  }

  function write(parameters, replace, section) {
    const hash = "#" + (section || QUERIES) + "?" + parameters.toString();
    if (hash === window.location.hash) {
      return;
    }
    if (replace) {
      window.history.replaceState(null, "", hash);
    } else {
      window.history.pushState(null, "", hash);
    }
  }

  // Without the question mark it is a plain link to the section.
  function isHere() {
    const { section, words } = parts();
    return section === QUERIES && words !== null;
  }

  rp.state = { read, write, isHere, section: () => parts().section };
})((window.rankproof = window.rankproof || {}));
