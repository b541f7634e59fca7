// Brings the page up to date: the server renders it again, and what differs is taken over. Without this script the
// page lacks movement and buttons only.
"use strict";
(() => {
  const connection = document.getElementById("connection"), said = document.getElementById("said");
  const between = 2000, patience = 5000, shown = 10000; // ms
  document.documentElement.classList.add("js");

  const say = (where, text) => { if (where.textContent !== text) where.textContent = text; };
  const key = (node) => node.nodeType === Node.ELEMENT_NODE ? node.dataset.key ?? node.id : "";

  // morph makes old what fresh is, and keeps every element that stays: focus, scroll position and selection stay where
  // they are, and no button becomes one for something else.
  function morph(old, fresh) {
    if (old.nodeName !== fresh.nodeName || key(old) !== key(fresh)) return old.replaceWith(fresh);
    if (old.nodeType !== Node.ELEMENT_NODE) {
      if (old.data !== fresh.data) old.data = fresh.data;
      return;
    }
    for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
    for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    const wanted = [...fresh.childNodes], keys = new Set(wanted.map(key).filter(Boolean)), kept = new Map();
    for (const child of [...old.childNodes]) {
      if (keys.has(key(child))) kept.set(key(child), child);
      else if (key(child)) child.remove();
    }
    let at = old.firstChild;
    for (const child of wanted) {
      const match = key(child) ? kept.get(key(child)) : at && !key(at) ? at : undefined;
      if (!match) {
        old.insertBefore(child, at);
        continue;
      }
      while (at !== match && at && !key(at)) { // what stays must not be moved: it would lose the focus
        const next = at.nextSibling;
        at.remove();
        at = next;
      }
      if (match === at) at = at.nextSibling;
      else old.insertBefore(match, at);
      morph(match, child);
    }
    while (at) {
      const next = at.nextSibling;
      at.remove();
      at = next;
    }
  }

  const ask = (url, options) => fetch(url, { cache: "no-store", signal: AbortSignal.timeout(patience), ...options });
  let timer, last = new Date();
  async function refresh() {
    clearTimeout(timer);
    if (document.hidden) return;
    try {
      const resp = await ask(location.pathname + location.search);
      if (!resp.ok) throw new Error("HTTP " + resp.status);
      const fresh = new DOMParser().parseFromString(await resp.text(), "text/html");
      document.title = fresh.title;
      for (const part of document.querySelectorAll("[data-live]")) morph(part, fresh.getElementById(part.id));
      last = new Date();
      say(connection, "up to date");
    } catch (err) {
      say(connection, "no answer since " + last.toLocaleTimeString() + ": what is below is old");
    }
    clearTimeout(timer);
    timer = setTimeout(refresh, between);
  }
  document.addEventListener("visibilitychange", refresh);

  document.addEventListener("click", async ({ target }) => {
    const button = target.closest("button[data-post]");
    if (!button || !confirm(button.dataset.ask)) return;
    const { post, episode } = button.dataset, what = button.getAttribute("aria-label");
    button.disabled = true;
    let text;
    try {
      const resp = await ask(post, {
        method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(episode ? { episode } : {}),
      });
      const answer = await resp.json();
      text = what + ": " + (resp.ok ? answer.message : answer.error.message);
    } catch (err) {
      text = what + ": no answer (" + err.message + ")";
    }
    button.disabled = false;
    say(said, text);
    setTimeout(() => say(said, ""), shown);
    refresh();
  });

  refresh();
})();
