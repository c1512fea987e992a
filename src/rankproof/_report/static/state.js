"use strict";

// What is looked at stands in the address, so that a view can be linked: #queries?measure=…&query=…
(function (rp) {
  const PLACE = "#queries?";

  // Without the question mark it is a link to the part of the page, which changes nothing in it.
  function isOurs(hash) {
    return hash.startsWith(PLACE);
  }

  // The parameters of the address; none where it points at another part of the page.
  function read() {
    const hash = window.location.hash;
    return new URLSearchParams(isOurs(hash) ? hash.slice(PLACE.length) : "");
  }

  function write(parameters, replace) {
    const hash = PLACE + parameters.toString();
    if (hash === window.location.hash) {
      return;
    }
    if (replace) {
      window.history.replaceState(null, "", hash);
    } else {
      window.history.pushState(null, "", hash);
    }
  }

  rp.state = { read, write, isHere: () => isOurs(window.location.hash) };
})((window.rankproof = window.rankproof || {}));
