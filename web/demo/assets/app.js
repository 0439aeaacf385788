// The demo's ticketing app: what a real fan app asks its own backend for.

async function call(path, body) {
  const res = await fetch(`/demo/${path}`, {
    method: body ? "POST" : "GET",
    headers: body ? { "Content-Type": "application/json" } : {},
    body: body && JSON.stringify(body),
    signal: AbortSignal.timeout(15_000),
  });
  const out = await res.json().catch(() => null);
  if (!res.ok) throw Object.assign(new Error(out?.detail ?? `it answered ${res.status}`), { refused: res.status === 409 });
  return out;
}

export const scene = () => call("scene");
export const token = async (fan) => (await call("token", { fan })).token;
export const pay = (claim) => call("pay", { claim });
export const join = (show, fan) => call("join", { show, fan });
export const free = (show) => call("free", { show });
