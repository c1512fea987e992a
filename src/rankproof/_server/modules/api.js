// Requests to the JSON routes below /api.

/** An answer that is an error: its text is what the server says. */
export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** The JSON of a GET request; `parameters` without a value are left out, lists are repeated. */
export function get(path, parameters = {}, options = {}) {
  const query = queryString(parameters);
  return request(query ? `${path}?${query}` : path, options);
}

export function queryString(parameters) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    const values = Array.isArray(value) ? value : [value];
    for (const single of values) if (single !== null && single !== undefined) query.append(name, single);
  }
  return query.toString();
}

/** The JSON of a POST request; what it changes is on disk when it returns. */
export function post(path, body, options = {}) {
  const headers = { "Content-Type": "application/json" };
  return request(path, { ...options, method: "POST", headers, body: JSON.stringify(body) });
}

async function request(path, options) {
  let reply;
  try {
    reply = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "the server does not respond; is `rankproof serve` still running?");
  }
  if (!reply.ok) throw new ApiError(reply.status, (await reply.text()).trim());
  return reply.json();
}
