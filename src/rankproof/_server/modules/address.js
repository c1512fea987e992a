// The state of a page lives in its address, so that a view can be sent to a colleague.

/** The parameters of the address as an object of texts. */
export function readAddress(search = window.location.search) {
  return Object.fromEntries(new URLSearchParams(search));
}

/** The address of these parameters; empty values are left out. */
export function addressOf(state, path = window.location.pathname) {
  const parameters = new URLSearchParams(Object.entries(state).filter(([, value]) => value !== "" && value !== null && value !== undefined));
  const query = parameters.toString();
  return query ? `${path}?${query}` : path;
}

/** Puts the state into the address; a new entry of the history unless `replace`. */
export function writeAddress(state, { replace = false } = {}) {
  const address = addressOf(state);
  if (address === window.location.pathname + window.location.search) return;
  window.history[replace ? "replaceState" : "pushState"](null, "", address);
}

/** Calls the listener with the state when the person goes back or forward. */
export function onAddressChange(listener) {
  window.addEventListener("popstate", () => listener(readAddress()));
}
