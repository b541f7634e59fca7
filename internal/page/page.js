// Brings the page up to date: the server renders it anew, and what differs is taken over. So
// nothing is lost without this script but the movement and the buttons.
"use strict";
(() => {
  const connection = document.getElementById("connection"), said = document.getElementById("said");
  const shortly = 1000, seldom = 10000, patience = 5000; // ms
  document.documentElement.classList.add("js");

  const say = (where, text) => { if (where.textContent !== text) where.textContent = text; };
  const key = (node) => node.nodeType === Node.ELEMENT_NODE ? node.dataset.key ?? node.id : "";

  // morph makes old what fresh is, and keeps every element that stays: focus, scroll position and
  // selection stay where they are, and no button ever becomes one for something else.
  function morph(old, fresh) {
    if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName || key(old) !== key(fresh)) {
      old.replaceWith(fresh);
      return;
    }
    if (old.nodeType !== Node.ELEMENT_NODE) {
      if (old.data !== fresh.data) old.data = fresh.data;
      return;
    }
    for (const { name } of [...old.attributes]) if (!fresh.hasAttribute(name)) old.removeAttribute(name);
    for (const { name, value } of fresh.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    const wanted = [...fresh.childNodes], keys = new Set(wanted.map(key).filter(Boolean)), kept = new Map();
    for (const child of [...old.childNodes]) {
      const k = key(child);
      if (!k) continue;
      if (keys.has(k)) kept.set(k, child);
      else child.remove();
    }
    let at = old.firstChild;
    for (const child of wanted) {
      const k = key(child), match = k ? kept.get(k) : at && !key(at) ? at : undefined;
      if (!match) {
        old.insertBefore(child, at);
        continue;
      }
      while (k && at !== match && at && !key(at)) { // what stays must not be moved: it would lose the focus
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

  let timer, running = false, again = false, last = new Date();
  function later(ms) {
    clearTimeout(timer);
    timer = setTimeout(refresh, ms);
  }

  // soon is called when something has happened, and refreshes at most once a second.
  function soon() {
    if (running) again = true;
    else if (Date.now() - last >= shortly) refresh();
    else later(shortly - (Date.now() - last));
  }

  async function refresh() {
    if (running || document.hidden) return;
    running = true;
    again = false;
    try {
      const resp = await fetch(location.pathname + location.search, { cache: "no-store", signal: AbortSignal.timeout(patience) });
      if (!resp.ok) throw new Error("HTTP " + resp.status);
      const fresh = new DOMParser().parseFromString(await resp.text(), "text/html");
      document.title = fresh.title;
      for (const part of document.querySelectorAll("[data-live]")) morph(part, fresh.getElementById(part.id));
      last = new Date();
      say(connection, source && source.readyState === EventSource.OPEN ? "live" : "every 10 s");
    } catch (err) {
      say(connection, "no answer since " + new Date(last).toLocaleTimeString() + ": what is below is old");
    }
    running = false;
    later(again ? shortly : seldom);
  }

  // A hidden page has no stream: a browser opens few connections to one server.
  let source;
  function listen() {
    if (source && source.readyState !== EventSource.CLOSED || document.hidden) return;
    source = new EventSource("/v1/events");
    source.addEventListener("change", soon);
    source.onopen = () => say(connection, "live");
    source.onerror = () => { if (source && source.readyState === EventSource.CLOSED) setTimeout(listen, seldom); };
  }
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      if (source) source.close();
      source = undefined;
      return;
    }
    listen();
    refresh();
  });

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button[data-post]");
    if (!button || !confirm(button.dataset.ask)) return;
    const { post, episode } = button.dataset, what = button.getAttribute("aria-label");
    button.disabled = true;
    let text;
    try {
      const resp = await fetch(post, {
        method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(episode ? { episode } : {}),
        signal: AbortSignal.timeout(patience),
      });
      const answer = await resp.json();
      text = what + ": " + (resp.ok ? answer.message : answer.error.message);
    } catch (err) {
      text = what + ": no answer (" + err.message + ")";
    }
    button.disabled = false;
    say(said, text);
    setTimeout(() => say(said, ""), seldom);
    await refresh();
  });

  listen();
  later(seldom);
})();
