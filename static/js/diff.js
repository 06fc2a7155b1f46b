// Links and forms of a graph's panel fetch the panel alone. Without this script they load the page.
(() => {
  "use strict";
  const panelOf = (element) => element.closest?.("[data-diff]");

  // What is to have the focus once the panel is there, and whether the picture is to move to it.
  let wanted = null;

  const load = (panel, query, { push = true, focus = "", show = false } = {}) => {
    panel.setAttribute("aria-busy", "true");
    wanted = { panel: panel.id, focus, show };
    if (push) {
      if (!history.state?.panel) history.replaceState({ panel: panel.id }, "");
      history.pushState({ panel: panel.id }, "", location.pathname + query);
    }
    htmx.ajax("GET", panel.dataset.diff + query, { target: panel, swap: "outerHTML" });
  };
  document.addEventListener("htmx:load", (event) => {
    if (!wanted || event.detail.elt.id !== wanted.panel) return;
    const { focus, show } = wanted, fresh = event.detail.elt;
    wanted = null;
    const back = focus && document.getElementById(focus);
    if (show) back?.dispatchEvent(new CustomEvent("graph:show", { bubbles: true }));
    (back || fresh.querySelector('[aria-current="step"], [data-panzoom]'))?.focus({ preventScroll: true });
  });

  // What has the focus after the swap: the same node or link; in an opened fold, its first node.
  const successor = (link, panel) => {
    if (link.dataset.fold) return `${panel.id}-n-${link.dataset.fold}`;
    return link.id;
  };

  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href]");
    const panel = link && panelOf(link);
    if (!panel || event.defaultPrevented || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const href = link.getAttribute("href");
    if (!href.startsWith("?")) return;
    event.preventDefault();
    load(panel, href.split("#")[0], { focus: successor(link, panel), show: "fold" in link.dataset });
  });
  document.addEventListener("submit", (event) => {
    const panel = panelOf(event.target);
    if (!panel || event.target.method !== "get") return;
    event.preventDefault();
    load(panel, `?${new URLSearchParams(new FormData(event.target))}`, { focus: event.target.elements.find.id });
  });
  addEventListener("popstate", (event) => {
    const panel = event.state?.panel && document.getElementById(event.state.panel);
    if (panel?.dataset.diff) load(panel, location.search || "?", { push: false });
  });

  document.addEventListener("keydown", (event) => {
    if (document.documentElement.dataset.keys === "off") return;
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.key !== "[" && event.key !== "]") return;
    if (event.target.closest("input, textarea, select")) return;
    document.querySelector(`[data-diff] [data-key="${event.key}"]`)?.click();
  });
})();
