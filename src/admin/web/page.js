// Copy buttons, relative times, filters without a reload, and updates. Every page works without this file.
//
// An update fetches the address of the page again and patches the elements marked with `data-live`, so the server alone
// decides what a page contains. Open details, the focus, the selection and the scroll position stay.
(() => {
"use strict";

const body = document.body;
const byId = (id) => document.getElementById(id);
const INTERVAL = Number(body.dataset.interval) * 1000;
// After a failure, the next attempt follows within this time, so that a page that was open all day recovers soon after
// the server.
const SLOWEST = 10_000;
const TIMEOUT = 10_000;

document.documentElement.classList.add("js");

// Announces a message to screen readers.
function announce(text) {
  byId("announcer").textContent = text;
}

// Updates

let timer = 0;
let failures = 0;
let isPaused = false;
// The number of milliseconds that the server's clock is ahead of this one.
let ahead = 0;
// Counts the fetches, so that a response that was overtaken by a newer request is dropped.
let newest = 0;

function setConnection(text, state) {
  const shown = byId("connection");
  if (shown.textContent === text) return;
  shown.textContent = text;
  shown.dataset.state = state;
  if (state !== "live" || failures) announce(text);
}

// A filter fetches the page although updates are paused.
function showConnection() {
  setConnection(isPaused ? "Paused" : "Live", isPaused ? "paused" : "live");
}

function schedule() {
  clearTimeout(timer);
  if (isPaused || document.hidden || !INTERVAL) return;
  // Up to half of the time is left out at random, so that many pages do not send requests at the same time.
  const backoff = Math.min(1000 * 2 ** failures, SLOWEST) * (1 - Math.random() / 2);
  timer = setTimeout(update, failures ? backoff : INTERVAL);
}

async function fetched(address, headers = {}) {
  const response = await fetch(address, {
    headers, cache: "no-store", credentials: "same-origin", signal: AbortSignal.timeout(TIMEOUT),
  });
  const date = Date.parse(response.headers.get("date") ?? "");
  if (date) ahead = date - Date.now();
  if (response.status === 304) return null;
  if (!response.ok) throw new Error(`${response.status} ${response.statusText}`.trim());
  return new DOMParser().parseFromString(await response.text(), "text/html");
}

// Fetches the page and patches it. Never fails: the next attempt follows by itself.
async function update() {
  const request = ++newest;
  try {
    const page = await fetched(location.href, { "If-None-Match": `"${body.dataset.version}"` });
    if (request !== newest) return;
    if (page) patch(page);
    showConnection();
    failures = 0;
  } catch (error) {
    if (request !== newest) return;
    failures += 1;
    // A proxy answers for a server that restarts, and a token may have been replaced.
    const reason = error.name === "Error" ? `Update failed (${error.message})` : "Connection lost";
    setConnection(isPaused ? reason : `${reason}, trying again`, "lost");
  }
  schedule();
}

function patch(page) {
  const script = (from) => from.querySelector("head script")?.getAttribute("src");
  if (script(page) !== script(document)) {
    // The program was replaced by another version.
    location.reload();
    return;
  }
  const verdict = byId("verdict")?.textContent;
  document.title = page.title;
  byId("icon").setAttribute("href", page.getElementById("icon").getAttribute("href"));
  for (const region of document.querySelectorAll("[data-live]")) {
    const other = page.getElementById(region.id);
    if (other) morph(region, other);
  }
  body.dataset.version = page.body.dataset.version;
  if (byId("verdict") && byId("verdict").textContent !== verdict) announce(byId("verdict").textContent);
  for (const part of document.querySelectorAll("details[open] [data-part]")) load(part);
  tick();
}

// Makes `from` equal to `to` and keeps what the reader did to it.
function morph(from, to) {
  // A part that was loaded on demand is loaded again by `patch`.
  if (from.dataset?.address) return;
  morphAttributes(from, to);
  // Its text is relative to now, which `tick` knows better.
  if (from.nodeName === "TIME") return;
  const known = new Map();
  for (const child of from.children) if (child.id) known.set(child.id, child);
  let next = from.firstChild;
  for (const wanted of [...to.childNodes]) {
    const same = wanted.id ? known.get(wanted.id) : isAlike(next, wanted) ? next : null;
    if (!same) {
      from.insertBefore(document.importNode(wanted, true), next);
      continue;
    }
    if (same === next) next = next.nextSibling;
    else from.insertBefore(same, next);
    if (same.nodeType === Node.ELEMENT_NODE) morph(same, wanted);
    else if (same.data !== wanted.data) same.data = wanted.data;
  }
  while (next) {
    const after = next.nextSibling;
    next.remove();
    next = after;
  }
}

function isAlike(node, wanted) {
  return node && node.nodeType === wanted.nodeType && node.nodeName === wanted.nodeName && !node.id && !wanted.id;
}

function morphAttributes(from, to) {
  const isKept = (name) => (name === "open" && from.nodeName === "DETAILS") || name === "data-copied";
  for (const { name } of [...from.attributes]) {
    if (!to.hasAttribute(name) && !isKept(name)) from.removeAttribute(name);
  }
  for (const { name, value } of to.attributes) {
    if (from.getAttribute(name) !== value && !isKept(name)) from.setAttribute(name, value);
  }
  // What the reader types is newer than what the server has.
  if (from !== document.activeElement && "value" in from && from.value !== to.value) from.value = to.value;
}

byId("pause")?.addEventListener("click", ({ currentTarget: button }) => {
  isPaused = !isPaused;
  button.setAttribute("aria-pressed", String(isPaused));
  showConnection();
  if (!isPaused) return void update();
  clearTimeout(timer);
  // The response to an open request would still change the page.
  newest += 1;
});
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && !isPaused) update();
});
addEventListener("online", () => isPaused || update());

// Parts that are loaded when their details open: `data-part` is the id of an element at the address of the link inside.

async function load(part) {
  const address = part.dataset.address ?? part.querySelector("a")?.getAttribute("href");
  if (!address) return;
  try {
    const page = await fetched(address);
    const other = page.getElementById(part.dataset.part);
    if (!other) return;
    // Ids stay unique, because the part is also elsewhere on the page.
    for (const element of [other, ...other.querySelectorAll("[id]")]) element.removeAttribute("id");
    const wanted = part.cloneNode(false);
    wanted.append(other);
    part.removeAttribute("data-address");
    morph(part, wanted);
    part.dataset.address = address;
    tick();
  } catch {
    // The link stays, and the next update tries again.
  }
}

document.addEventListener("toggle", ({ target }) => {
  if (!target.open || target.nodeName !== "DETAILS") return;
  for (const part of target.querySelectorAll("[data-part]")) {
    if (part.closest("details") === target) load(part);
  }
}, true);

// Filters: a form with `data-filter` is applied while the reader types.

let typing = 0;
async function filter(form) {
  const query = new URLSearchParams();
  for (const [name, value] of new FormData(form)) if (value) query.append(name, value);
  const address = new URL(form.getAttribute("action") ?? "", location.href);
  address.search = query.toString();
  address.hash = "";
  history.replaceState(null, "", address);
  body.dataset.version = "";
  await update();
  const count = form.dataset.filter && byId(form.dataset.filter);
  if (count) announce(count.textContent);
}
document.addEventListener("input", ({ target }) => {
  const form = target.closest?.("form[data-filter]");
  if (!form) return;
  clearTimeout(typing);
  typing = setTimeout(() => filter(form), target.nodeName === "SELECT" ? 0 : 200);
});
document.addEventListener("submit", (event) => {
  if (!event.target.matches("form[data-filter]")) return;
  event.preventDefault();
  clearTimeout(typing);
  filter(event.target);
});

// Copy buttons

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Over plain http, browsers offer no clipboard except on this machine.
    const area = document.createElement("textarea");
    area.value = text;
    area.className = "visually-hidden";
    body.append(area);
    area.select();
    const isCopied = document.execCommand("copy");
    area.remove();
    if (!isCopied) throw new Error("not copied");
  }
}
document.addEventListener("click", async ({ target }) => {
  const button = target.closest?.("[data-copy]");
  if (!button) return;
  try {
    await copy(button.parentElement.querySelector("code").textContent);
    button.dataset.copied = "";
    announce("Copied");
    setTimeout(() => button.removeAttribute("data-copied"), 2000);
  } catch {
    announce("Could not copy");
  }
  button.focus();
});

// Relative times, as in the server's `relative`

function relative(distance) {
  const seconds = Math.abs(distance);
  if (seconds < 2) return "now";
  const amount = seconds < 100 ? `${seconds} s`
    : seconds < 5_400 ? `${Math.floor((seconds + 30) / 60)} min`
    : seconds < 172_800 ? `${Math.floor((seconds + 1_800) / 3_600)} h`
    : `${Math.floor((seconds + 43_200) / 86_400)} days`;
  return distance > 0 ? `${amount} ago` : `in ${amount}`;
}
function tick() {
  const now = Math.floor((Date.now() + ahead) / 1000);
  for (const time of document.querySelectorAll("time[datetime]")) {
    const distance = now - Math.floor(Date.parse(time.dateTime) / 1000);
    // What was due is late by a moment at most.
    const text = relative(time.closest("[data-due]") ? Math.min(distance, 0) : distance);
    if (time.textContent !== text) time.textContent = text;
  }
}
setInterval(() => document.hidden || tick(), 1000);
tick();
schedule();
})();
