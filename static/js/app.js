// What scripts add to pages that work without them: fresh fragments, copy buttons, keys, picked counts.
(() => {
  "use strict";
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  // ---- adaptive polling: every 3 s after somebody did something, slower the longer nobody did.
  const FAST = 3000, SLOW = 30000, ATTENTION = 60000;
  let lastActive = Date.now(), timer = null;
  const poll = () => {
    const live = document.querySelector("[data-poll]");
    if (!live) return;
    if (!document.hidden && !live.contains(document.querySelector("details[open] pre, details[open][data-hold], :popover-open"))) {
      htmx.trigger(live, "refresh");
    }
    schedule();
  };
  const schedule = () => {
    clearTimeout(timer);
    if (document.querySelector("[data-poll]")) {
      timer = setTimeout(poll, Date.now() - lastActive < ATTENTION ? FAST : SLOW);
    }
  };
  const attend = () => {
    const slept = Date.now() - lastActive > ATTENTION;
    lastActive = Date.now();
    if (slept) poll();
  };
  for (const kind of ["pointerdown", "keydown", "scroll"]) addEventListener(kind, attend, { passive: true });
  document.addEventListener("visibilitychange", () => { if (!document.hidden) { attend(); poll(); } });

  // ---- open details and focus survive a swap
  let open = [], focused = -1, place = "";
  document.addEventListener("htmx:beforeSwap", (event) => {
    place = event.target.id;
    open = all("details", event.target).map((one, index) => (one.open ? index : -1));
    const active = document.activeElement;
    focused = active && event.target.contains(active)
      ? all("a, button, select, input, summary", event.target).indexOf(active) : -1;
  });
  document.addEventListener("htmx:load", (event) => {
    const fresh = event.detail.elt;
    if (fresh.id === "live") all("details", fresh).forEach((one, index) => { if (open.includes(index)) one.open = true; });
    // Messages that come along with what was asked for leave the focus alone.
    if (focused >= 0 && (!place || fresh.id === place)) {
      all("a, button, select, input, summary", fresh)[focused]?.focus({ preventScroll: true });
      focused = -1;
    }
    dress(fresh);
    schedule();
  });

  // ---- time-ago
  const UNITS = [["year", 31536000], ["month", 2592000], ["day", 86400], ["hour", 3600], ["minute", 60]];
  const ago = (when) => {
    const seconds = (Date.now() - when) / 1000;
    for (const [name, length] of UNITS) {
      const count = Math.floor(seconds / length);
      if (count >= 1) return `${count} ${name}${count > 1 ? "s" : ""} ago`;
    }
    return "just now";
  };
  const tick = (root = document) => all("time[data-ago]", root).forEach((one) => {
    const when = new Date(one.dateTime);
    one.textContent = ago(when);
    one.title = when.toLocaleString();
  });
  setInterval(tick, 30000);

  // ---- fields that go with one choice of a select
  const showChosen = (select) => all("[data-for]", select.form).forEach((one) => { one.hidden = one.dataset.for !== select.value; });
  document.addEventListener("change", (event) => { if (event.target.matches("[data-chooses]")) showChosen(event.target); });

  // ---- what only scripts can do is shown by scripts
  const dress = (root) => {
    all("[data-copy], [data-pick-all], [data-shown-by-script], [data-show-keys], .tools", root).forEach((one) => { one.hidden = false; });
    all("[data-hidden-by-script]", root).forEach((one) => { one.hidden = true; });
    all("[data-chooses]", root).forEach(showChosen);
    tick(root);
  };

  document.addEventListener("click", async (event) => {
    const copy = event.target.closest("[data-copy]");
    if (copy) {
      const source = document.getElementById(copy.dataset.copy);
      const text = "value" in source ? source.value : source.innerText;
      const before = copy.textContent;
      try {
        await navigator.clipboard.writeText(text);
        copy.textContent = "Copied";
      } catch {
        copy.textContent = "Copying is not allowed here";
      }
      setTimeout(() => { copy.textContent = before; }, 1500);
    }
    if (event.target.closest("[data-show-keys]")) document.getElementById("keys").showModal();
  });

  document.addEventListener("submit", (event) => {
    const question = event.target.dataset.confirm ?? bulkQuestion(event);
    if (question && !confirm(question)) event.preventDefault();
  });
  const bulkQuestion = (event) => {
    if (!("bulk" in event.target.dataset)) return "";
    const everything = event.target.querySelector("[name=everything]");
    return everything.checked ? `Change ${everything.parentElement.textContent.trim()}?` : "";
  };

  // ---- a search without its blanks makes an address that can be passed on
  document.addEventListener("formdata", (event) => {
    if (event.target.getAttribute("role") !== "search") return;
    for (const name of new Set(event.formData.keys())) {
      if (event.formData.getAll(name).every((value) => value === "")) event.formData.delete(name);
    }
  });

  // ---- picked rows; a click with Shift picks all from the last one clicked
  const countPicked = () => {
    const told = document.querySelector("[data-picked]");
    if (!told) return;
    const boxes = all("[data-pick]"), count = boxes.filter((one) => one.checked).length;
    told.textContent = count ? `${count} picked:` : "With the picked ones:";
    const every = document.querySelector("[data-pick-all]");
    if (every) {
      every.checked = count > 0 && count === boxes.length;
      every.indeterminate = count > 0 && count < boxes.length;
    }
  };
  let lastPicked = "";
  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-pick-all]")) all("[data-pick]").forEach((one) => { one.checked = event.target.checked; });
    if (event.target.matches("[data-pick], [data-pick-all]")) countPicked();
  });
  document.addEventListener("click", (event) => {
    const box = event.target.closest?.("[data-pick]");
    if (!box) return;
    const boxes = all("[data-pick]");
    const from = boxes.findIndex((one) => one.value === lastPicked), to = boxes.indexOf(box);
    if (event.shiftKey && from >= 0) {
      for (let index = Math.min(from, to); index <= Math.max(from, to); index++) boxes[index].checked = box.checked;
      countPicked();
    }
    lastPicked = box.value;
  });
  // A row that comes back changed is still picked, and still the one the keys stand on.
  let kept = null;
  document.addEventListener("htmx:beforeSwap", (event) => {
    const row = event.target.closest?.("[data-row]");
    kept = row && {
      id: row.id,
      at: row.classList.contains("at"),
      picked: row.querySelector("[data-pick]")?.checked,
      label: document.activeElement.closest("[data-row] .under") !== null,
    };
  });
  document.addEventListener("htmx:load", (event) => {
    if (!kept || event.detail.elt.id !== kept.id) return;
    event.detail.elt.classList.toggle("at", kept.at);
    const box = event.detail.elt.querySelector("[data-pick]");
    if (box) box.checked = kept.picked;
    if (kept.label) event.detail.elt.querySelector("[data-open]")?.focus({ preventScroll: true });
    kept = null;
  });

  // ---- menus: a click elsewhere and Escape close them; a long one can be searched
  const openMenus = () => all("[data-menu][open]");
  document.addEventListener("click", (event) => {
    openMenus().forEach((menu) => { if (!menu.contains(event.target)) menu.open = false; });
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    openMenus().forEach((menu) => {
      const within = menu.contains(document.activeElement);
      menu.open = false;
      if (within) menu.querySelector("summary").focus();
    });
    const row = document.activeElement.closest?.("[data-row]");
    if (row && document.activeElement.matches("select")) row.querySelector("[data-open]")?.focus();
  });
  document.addEventListener("input", (event) => {
    if (!event.target.matches("[data-narrow]")) return;
    const wanted = event.target.value.trim().toLowerCase();
    all(".options label", event.target.closest("[data-menu]")).forEach((one) => {
      one.hidden = !one.textContent.toLowerCase().includes(wanted) && !one.querySelector("input").checked;
    });
  });
  document.addEventListener("toggle", (event) => {
    const menu = event.target;
    if (menu.matches?.("[data-menu][open]")) menu.querySelector("[data-narrow], .pop input:not([type=hidden])")?.focus({ preventScroll: true });
  }, true);

  // ---- keys, as in mail programs; switched off on the account page
  const rows = () => all("[data-rows] [data-row]");
  const move = (step) => {
    const list = rows();
    if (!list.length) return;
    const now = list.findIndex((row) => row.classList.contains("at"));
    const next = Math.max(0, Math.min(list.length - 1, now < 0 ? (step > 0 ? 0 : list.length - 1) : now + step));
    list[now]?.classList.remove("at");
    list[next].classList.add("at");
    list[next].scrollIntoView({ block: "nearest" });
    list[next].querySelector("[data-open]")?.focus({ preventScroll: true });
  };
  // The fields of a form one after the other: each press copies the next, and says which.
  let copied = -1;
  const copyNext = () => {
    const buttons = all("#edit [data-copy]");
    if (!buttons.length) return;
    copied = (copied + 1) % buttons.length;
    buttons[copied].click();
    buttons[copied].focus({ preventScroll: true });
    buttons[copied].scrollIntoView({ block: "center" });
  };
  const at = () => document.querySelector("[data-row].at");
  const go = (key) => document.querySelector(`nav [data-key="${key}"]`)?.click();
  const KEYS = {
    j: () => move(1),
    k: () => move(-1),
    o: () => at()?.querySelector("[data-open]")?.click(),
    x: () => at()?.querySelector("[data-pick]")?.click(),
    e: () => (at() ?? document).querySelector("[data-edit]")?.focus(),
    n: () => document.querySelector("[data-next]")?.click(),
    p: () => document.querySelector("[data-previous]")?.click(),
    c: () => copyNext(),
    "/": () => document.querySelector("[data-search]")?.focus(),
    i: () => go("i"),
    h: () => go("h"),
    "?": () => document.getElementById("keys").showModal(),
  };
  document.addEventListener("keydown", (event) => {
    if (document.documentElement.dataset.keys === "off") return;
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.target.closest("input:not([type=checkbox]), textarea, select, [data-panzoom]")) return;
    const action = KEYS[event.key];
    if (action) { event.preventDefault(); action(); }
  });

  // ---- on narrow screens the parts scroll: the one that is open is shown
  document.querySelector(".top nav [aria-current]")?.scrollIntoView({ block: "nearest", inline: "center" });

  dress(document);
  schedule();
})();
