"use strict";

// Print has what is open, and all of the open query; the button prints everything.
(function () {
  function openForPrint(place) {
    const parts = [...document.querySelectorAll(place + " details:not([open])")];
    parts.forEach((part) => (part.open = true));
    window.addEventListener("afterprint", () => parts.forEach((part) => (part.open = false)), { once: true });
  }

  window.addEventListener("beforeprint", () => openForPrint("#queries .panel"));
  const button = document.querySelector('[data-part="print-all"]');
  if (button) {
    button.hidden = false;
    button.addEventListener("click", function () {
      openForPrint("body");
      window.print();
    });
  }
})();

// Opens the folded section that the address names, also if its link is followed twice.
(function () {
  function open(hash) {
    const key = hash.slice(1).split("?")[0];
    const part = key ? document.getElementById(key) : null;
    const fold = part ? part.querySelector(":scope > details.fold") : null;
    if (fold) {
      fold.open = true;
    }
  }

  for (const link of document.querySelectorAll(".contents a")) {
    link.addEventListener("click", function () { open(link.hash); });
  }
  window.addEventListener("hashchange", function () { open(window.location.hash); });
  open(window.location.hash);
})();

// Marks the current section in the contents.
(function () {
  const links = new Map();
  for (const link of document.querySelectorAll(".contents a")) {
    links.set(link.hash.slice(1), link);
  }
  const parts = Array.from(document.querySelectorAll("main > section")).filter((part) => links.has(part.id));

  function shown() {
    const line = window.innerHeight / 3;
    const passed = parts.filter((part) => part.getBoundingClientRect().top <= line);
    const end = window.innerHeight + window.scrollY >= document.documentElement.scrollHeight - 2;
    return end ? parts[parts.length - 1] : passed[passed.length - 1] || parts[0];
  }

  function centred(link) {
    const strip = link.closest("ol");
    if (strip.scrollWidth > strip.clientWidth) {
      strip.scrollLeft = link.offsetLeft - strip.offsetLeft - (strip.clientWidth - link.offsetWidth) / 2;
    }
  }

  function marked() {
    const link = links.get(shown().id);
    if (link.hasAttribute("aria-current")) {
      return;
    }
    for (const other of links.values()) {
      other.removeAttribute("aria-current");
    }
    link.setAttribute("aria-current", "location");
    centred(link);
  }

  let scheduled = false;
  window.addEventListener("scroll", function () {
    if (!scheduled) {
      scheduled = true;
      window.requestAnimationFrame(function () { scheduled = false; marked(); });
    }
  }, { passive: true });
  marked();
})();
