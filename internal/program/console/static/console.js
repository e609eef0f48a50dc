// @ts-check
// Pages get behaviour from this script with these attributes. The pages work without the script.
//   data-key="g e"     a shortcut of a link, a field or a button
//   data-copy="#id"    copies the text of an element
//   data-more          a link to the rest of a list: followed until there are 50 rows
//   data-onward        a link that continues a count: followed in the region around it
//   data-dialog        a link to a confirmation page: its form opens in a dialog
//   data-live          a region that is refreshed every five seconds
//   data-ago           a time in the past, shown as the time since then
//   data-all           a checkbox that selects all rows of its list
//   data-zone          a button that fills in the time zone of this browser

const policy = globalThis.trustedTypes?.createPolicy("hooklatch", { createHTML: (text) => text });

/** parse parses a page of the console. @param {string} html */
function parse(html) {
  return new DOMParser().parseFromString(/** @type {string} */ (policy ? policy.createHTML(html) : html), "text/html");
}

/** fetched fetches another page of the console. @param {string} url @param {AbortSignal} [signal] */
async function fetched(url, signal) {
  const answer = await fetch(url, { signal, headers: { Accept: "text/html" } });
  if (answer.redirected && new URL(answer.url).pathname.endsWith("/login")) location.assign(answer.url);
  return parse(await answer.text());
}

/** say announces a text to screen readers. @param {string} text */
function say(text) {
  const spoken = document.getElementById("spoken");
  if (spoken) spoken.textContent = text;
}

// A shortcut is one key or a sequence of two keys. Shortcuts are ignored while a field has the
// focus or a dialog is open. Escape leaves a field.
let begun = "";
function rows() {
  return /** @type {HTMLElement[]} */ ([...document.querySelectorAll("tbody a.open")]);
}
document.addEventListener("keydown", (event) => {
  const at = /** @type {HTMLElement} */ (event.target);
  const typing = at.matches("input:not([type=checkbox]), select, textarea");
  if (event.key === "Escape" && typing) return at.blur();
  if (event.ctrlKey || event.metaKey || event.altKey || typing || document.querySelector("dialog[open]")) return;
  if (event.key === "p") {
    paused = !paused;
    return say(paused ? "updates paused" : "updates resumed");
  }
  if (event.key === "j" || event.key === "k") {
    const all = rows();
    const now = all.findIndex((link) => link.closest("tr")?.contains(document.activeElement));
    all[Math.max(0, Math.min(all.length - 1, event.key === "j" ? now + 1 : now - 1))]?.focus();
    return;
  }
  if (event.key === "x") {
    const box = /** @type {HTMLElement | null | undefined} */ (document.activeElement?.closest("tr")?.querySelector(".tick input"));
    return box?.click();
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

document.addEventListener("change", (event) => {
  const all = /** @type {HTMLInputElement} */ (event.target);
  if (all.dataset.all === undefined) return;
  for (const box of /** @type {NodeListOf<HTMLInputElement>} */ (all.form?.querySelectorAll("[name=row]") ?? [])) box.checked = all.checked;
});

// The script keeps the ages in a list current while the page is open.
/** @param {number} seconds */
function roughly(seconds) {
  const minutes = Math.floor(seconds / 60), hours = Math.floor(minutes / 60);
  if (hours >= 48) return `${Math.floor(hours / 24)} days`;
  if (hours >= 1) return `${hours} h ${minutes % 60} min`;
  return minutes >= 1 ? `${minutes} min` : `${Math.max(0, Math.floor(seconds))} s`;
}
const drift = Date.now() - Date.parse(document.documentElement.dataset.now ?? "");
setInterval(() => {
  for (const time of /** @type {NodeListOf<HTMLTimeElement>} */ (document.querySelectorAll("time[data-ago]"))) {
    time.textContent = `${roughly((Date.now() - drift - Date.parse(time.dateTime)) / 1000)} ago`;
  }
}, 15_000);

let asking = false;
/** ask shows the page of a link in a dialog, or opens it if it has no form. @param {HTMLAnchorElement} link */
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

// A form that is being sent cannot be sent again.
document.addEventListener("submit", (event) => {
  const form = /** @type {HTMLFormElement} */ (event.target);
  if (form.method === "post") for (const button of form.querySelectorAll("button")) button.disabled = true;
});

addEventListener("pageshow", (event) => {
  if (event.persisted) for (const button of document.querySelectorAll("form[method=post] button")) /** @type {HTMLButtonElement} */ (button).disabled = false;
});

// A search continues automatically until the list has 50 rows or is complete, or a request fails.
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
    const next = page.getElementById("rest");
    if (!next) {
      // The response is an error page. The link stays, so that the user can continue.
      rest.classList.remove("running");
      rest.prepend(`The search stopped: ${page.querySelector("h1")?.textContent ?? "no answer"}. `);
      return;
    }
    list.append(...(page.querySelector("#list tbody")?.children ?? []));
    rest.replaceWith(next);
    document.getElementById("nothing")?.toggleAttribute("hidden", list.children.length > 0);
    document.getElementById("list")?.toggleAttribute("hidden", list.children.length === 0);
    say(`${list.children.length} found`);
  }
}
void more();

// A count continues automatically until it is complete or a request fails.
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

// A live region is refreshed only while the page is visible, never twice at the same time, and
// less often after an error. It does not change while updates are paused, a dialog is open, text is
// selected, or a link or control in the region has the focus or the pointer.
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
      if (!fresh) throw new Error("this page could not be refreshed");
      if (!region.querySelector(":focus")) region.replaceChildren(...fresh.childNodes);
    } catch {
      next = Math.min(delay * 2, seldom);
      if (!region.querySelector(".stale")) {
        const stale = document.createElement("p");
        stale.className = "stale notice bad";
        stale.textContent = "Not up to date: the page could not be refreshed.";
        region.prepend(stale);
      }
    }
  }
  void follow(region, next);
}
for (const region of document.querySelectorAll("[data-live]")) void follow(/** @type {HTMLElement} */ (region), often);
