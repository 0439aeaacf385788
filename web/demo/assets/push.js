// Web Push: the fan is told when no page is open. There is no button where the server has no key for it.

const $ = (id) => document.getElementById(id);

/** offerPush shows the button where both the browser and the server can. */
export async function offerPush(client) {
  if (!("serviceWorker" in navigator) || !("PushManager" in window)) return;
  const key = await client.webPushKey().catch(() => null);
  if (!key) return;
  const worker = await navigator.serviceWorker.register("/demo/sw.js", { scope: "/demo" });
  const show = async () => {
    const on = await worker.pushManager.getSubscription();
    $("push-text").textContent = on ? "This browser tells you of your turns." : "This browser can tell you of your turns. Without it, you find them in the inbox when you come back.";
    $("push-button").textContent = on ? "Stop telling me" : "Tell me on this browser";
    $("push").hidden = false;
  };
  $("push-button").addEventListener("click", async () => {
    $("push-button").disabled = true;
    try {
      await turn(client, worker, key);
      await show();
    } catch (err) {
      $("push-text").textContent = Notification.permission === "denied" ? "This browser does not allow it: allow notifications for this page in its settings." : err.message;
    }
    $("push-button").disabled = false;
  });
  await show();
}

async function turn(client, worker, key) {
  const on = await worker.pushManager.getSubscription();
  if (on) {
    await client.removeDevice(deviceID());
    await on.unsubscribe();
    return;
  }
  const sub = await worker.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey: bytes(key) });
  const { endpoint, keys } = sub.toJSON();
  await client.putDevice(deviceID(), { platform: "webpush", token: endpoint, keys });
}

/** deviceID names this browser, the same again the next time. */
function deviceID() {
  const name = "fanline.device";
  const id = localStorage.getItem(name) ?? `web-${crypto.randomUUID()}`;
  localStorage.setItem(name, id);
  return id;
}

function bytes(base64url) {
  return Uint8Array.from(atob(base64url.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
}
