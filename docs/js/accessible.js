// What the theme leaves out: a name of the search dialog, names of the copy buttons' landmarks, and scrolling of wide tables by keyboard.
function complete() {
  document.querySelector(".md-search[role=dialog]")?.setAttribute("aria-label", "Search");
  document.querySelectorAll(".md-code__nav:not([aria-label])").forEach((nav, place) => nav.setAttribute("aria-label", `Code ${place + 1}`));
  for (const region of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) region.tabIndex = 0;
}
complete();
new MutationObserver(complete).observe(document.body, { childList: true, subtree: true });
