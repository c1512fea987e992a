
async function choose(at) {
  const chosen = await change(data.choose, { assessor: data.assessors[at] });
  if (chosen !== null) location.assign(data.next);
}

[...parts.names.querySelectorAll("button")].forEach((button, at) => button.addEventListener("click", () => choose(at)));
