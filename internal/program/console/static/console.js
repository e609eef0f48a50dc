// @ts-check
// What a page may ask of this script, by attributes on HTML that works without it:
//   data-key="g e"     a shortcut of a link, a field or a button
//   data-copy="#id"    copies the text of an element
//   data-more          a link that a list goes on with: followed until there are 50 rows
//   data-onward        a link that a count goes on with: followed in the region around it
//   data-dialog        a link to a page that asks: its form in a dialog
//   data-live          a region that is read again every five seconds
//   data-zone          a button that fills in the time zone of this browser

const policy = globalThis.trustedTypes?.createPolicy("hooklatch", { createHTML: (text) => text });

/** parse reads a page of ours. @param {string} html */
function parse(html) {
  return new DOMParser().parseFromString(/** @type {string} */ (policy ? policy.createHTML(html) : html), "text/html");
}

/** fetched is another page of ours. @param {string} url @param {AbortSignal} [signal] */
async function fetched(url, signal) {
  const answer = await fetch(url, { signal, headers: { Accept: "text/html" } });
  if (answer.redirected && new URL(answer.url).pathname.endsWith("/login")) location.assign(answer.url);
  return parse(await answer.text());
}

/** say has a screen reader speak. @param {string} text */
function say(text) {
  const spoken = document.getElementById("spoken");
  if (spoken) spoken.textContent = text;
}

// Keys: sequences of up to two, off in fields, which Escape leaves.
let begun = "";
function rows() {
  return /** @type {HTMLElement[]} */ ([...document.querySelectorAll("tbody a.open")]);
}
document.addEventListener("keydown", (event) => {
  const at = /** @type {HTMLElement} */ (event.target);
  if (event.key === "Escape" && at.matches("input, select, textarea")) return at.blur();
  if (event.ctrlKey || event.metaKey || event.altKey || at.matches("input, select, textarea") || document.querySelector("dialog[open]")) return;
  if (event.key === "p") {
    paused = !paused;
    return say(paused ? "updates are stopped" : "updates go on");
  }
  if (event.key === "j" || event.key === "k") {
    const all = rows();
    const now = all.indexOf(/** @type {HTMLElement} */ (document.activeElement));
    all[Math.max(0, Math.min(all.length - 1, event.key === "j" ? now + 1 : now - 1))]?.focus();
    return;
  }
  for (const key of [`${begun} ${event.key}`, event.key]) {
    const target = /** @type {HTMLElement | null} */ (document.querySelector(`[data-key="${CSS.escape(key)}"]`));
    if (!target) continue;
    event.preventDefault();
    begun = "";
    if (target.matches("input, select")) target.focus();
    else target.click();
    return;
  }
  begun = event.key;
});

document.addEventListener("click", async (event) => {
  const on = /** @type {Element} */ (event.target).closest("[data-copy], [data-zone], [data-dialog], [data-stop], dialog [data-close]");
  if (!(on instanceof HTMLElement)) return;
  if (on.dataset.copy) {
    await navigator.clipboard.writeText(document.querySelector(on.dataset.copy)?.textContent ?? "");
    on.textContent = "Copied";
    say("copied");
  } else if (on.dataset.zone !== undefined) {
    const field = /** @type {HTMLInputElement | null} */ (document.getElementById("zone"));
    if (field) field.value = Intl.DateTimeFormat().resolvedOptions().timeZone;
  } else if (on.dataset.close !== undefined) {
    event.preventDefault();
    on.closest("dialog")?.close();
  } else if (on.dataset.stop !== undefined) {
    stop.abort();
  } else if (!event.ctrlKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    await ask(/** @type {HTMLAnchorElement} */ (on));
  }
});

let asking = false;
/** ask shows the page of a link in a dialog, or goes there if it asks nothing. @param {HTMLAnchorElement} link */
async function ask(link) {
  if (asking) return;
  asking = true;
  const page = await fetched(link.href).then((answer) => answer.querySelector("main"), () => null);
  asking = false;
  if (!page?.querySelector("form")) return location.assign(link.href);
  const dialog = document.createElement("dialog");
  dialog.append(...page.childNodes);
  const title = dialog.querySelector("h1");
  if (title) {
    title.id = "asked";
    dialog.setAttribute("aria-labelledby", "asked");
  }
  dialog.addEventListener("close", () => { dialog.remove(); link.focus(); });
  document.body.append(dialog);
  dialog.showModal();
  /** @type {HTMLElement | null} */ (dialog.querySelector("[data-close]"))?.focus();
}

// An order that runs is not given again.
document.addEventListener("submit", (event) => {
  const form = /** @type {HTMLFormElement} */ (event.target);
  if (form.method === "post") for (const button of form.querySelectorAll("button")) button.disabled = true;
});

addEventListener("pageshow", (event) => {
  if (event.persisted) for (const button of document.querySelectorAll("form[method=post] button")) /** @type {HTMLButtonElement} */ (button).disabled = false;
});

// A search that goes on by itself, until there are 50 rows or somebody stops it.
const stop = new AbortController();
async function more() {
  const wanted = 50;
  for (;;) {
    const rest = document.getElementById("rest");
    const link = /** @type {HTMLAnchorElement | null} */ (rest?.querySelector("a[data-more]"));
    const list = document.querySelector("#list tbody");
    if (!rest || !link || !list || list.children.length >= wanted || stop.signal.aborted) return;
    rest.classList.add("running");
    let page;
    try {
      page = await fetched(link.href, stop.signal);
    } catch {
      return rest.classList.remove("running");
    }
    list.append(...(page.querySelector("#list tbody")?.children ?? []));
    rest.replaceWith(page.getElementById("rest") ?? "");
    document.getElementById("nothing")?.toggleAttribute("hidden", list.children.length > 0);
    document.getElementById("list")?.toggleAttribute("hidden", list.children.length === 0);
    say(`${list.children.length} found`);
  }
}
void more();

// A count that goes on by itself until it is whole.
async function count() {
  for (;;) {
    const counted = document.getElementById("counted");
    const link = /** @type {HTMLAnchorElement | null} */ (counted?.querySelector("a[data-onward]"));
    if (!counted || !link) return;
    try {
      const fresh = (await fetched(link.href)).getElementById("counted");
      if (!fresh) return;
      counted.replaceWith(fresh);
    } catch {
      return; // the link stays
    }
  }
}
void count();

// A region that is read again: only while it is seen, never twice at once, less often
// after an error. Nothing changes under what has the focus, is pointed at or selected.
const often = 5_000, seldom = 60_000;
let paused = false;
/** @param {HTMLElement} region @param {number} delay */
async function follow(region, delay) {
  await new Promise((done) => { setTimeout(done, delay); });
  const busy = document.hidden || paused || document.querySelector("dialog[open]") || !getSelection()?.isCollapsed ||
    region.querySelector(":focus, a:hover, button:hover, summary:hover");
  let next = often;
  if (!busy) {
    try {
      const fresh = (await fetched(location.href)).getElementById(region.id);
      if (!fresh) throw new Error("this page could not be read again");
      if (!region.querySelector(":focus")) region.replaceChildren(...fresh.childNodes);
    } catch {
      next = Math.min(delay * 2, seldom);
      if (!region.querySelector(".stale")) {
        const stale = document.createElement("p");
        stale.className = "stale notice bad";
        stale.textContent = "This is not up to date: the page could not be read again.";
        region.prepend(stale);
      }
    }
  }
  void follow(region, next);
}
for (const region of document.querySelectorAll("[data-live]")) void follow(/** @type {HTMLElement} */ (region), often);
