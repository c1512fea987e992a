"use strict";

// The page address contains the view, so that it can be linked: #queries?measure=…&query=…
(function (rp) {
  const PREFIX = "#queries?";

  // Without the question mark it is a plain link to the section.
  function isView(hash) {
    return hash.startsWith(PREFIX);
  }

  // The parameters of the address; empty if it points at another section.
  function read() {
    const hash = window.location.hash;
    return new URLSearchParams(isView(hash) ? hash.slice(PREFIX.length) : "");
  }

  function write(parameters, replace) {
    const hash = PREFIX + parameters.toString();
    if (hash === window.location.hash) {
      return;
    }
    if (replace) {
      window.history.replaceState(null, "", hash);
    } else {
      window.history.pushState(null, "", hash);
    }
  }

  rp.state = { read, write, isHere: () => isView(window.location.hash) };
})((window.rankproof = window.rankproof || {}));
