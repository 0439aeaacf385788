// Shows what comes by Web Push while no page is open, and leads to the page.

self.addEventListener("push", (event) => {
  let message = {};
  try {
    message = event.data.json();
  } catch {
    // a push without a text is still a push: the inbox has it
  }
  const title = message.title ?? "News of your line";
  event.waitUntil(self.registration.showNotification(title, { body: message.body ?? "", tag: message.tag }));
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(
    self.clients.matchAll({ type: "window" }).then((open) => {
      const page = open.find((c) => new URL(c.url).pathname === "/demo");
      return page ? page.focus() : self.clients.openWindow("/demo");
    }),
  );
});
