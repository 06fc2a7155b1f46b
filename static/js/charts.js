// Draws the figures that templates/_figure.html wrote, in the theme's colours, and keeps their zoom
// when the fragment that holds them is fetched anew.
(() => {
  "use strict";
  const drawn = new Map(); // key -> the element that Plotly drew into
  const opened = new Set(); // keys of the figures whose table somebody opened
  const CONFIG = { displayModeBar: false, responsive: true, showTips: false };

  // Names of the stylesheet's colours, var(--accent), as the colours they have now.
  const probe = document.createElement("span");
  probe.hidden = true;
  const colours = new Map();
  const colour = (name) => {
    if (!colours.has(name)) {
      probe.style.color = name;
      colours.set(name, getComputedStyle(probe).color);
    }
    return colours.get(name);
  };
  const inTheme = (part) => {
    if (typeof part === "string") return part.startsWith("var(--") ? colour(part) : part;
    if (Array.isArray(part)) return part.map(inTheme);
    if (part && typeof part === "object") {
      return Object.fromEntries(Object.entries(part).map(([name, value]) => [name, inTheme(value)]));
    }
    return part;
  };
  const axis = (own) => ({
    gridcolor: colour("var(--line)"), zerolinecolor: colour("var(--line-strong)"), linecolor: colour("var(--line)"),
    ...own,
  });
  const layout = (own) => ({
    ...own,
    xaxis: axis(own.xaxis),
    yaxis: axis(own.yaxis),
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: getComputedStyle(document.body).fontFamily, size: 12, color: colour("var(--muted)") },
    hoverlabel: { bgcolor: colour("var(--surface)"), bordercolor: colour("var(--line-strong)"), font: { color: colour("var(--text)") } },
  });

  const draw = (figure) => {
    const key = figure.dataset.figure;
    const { data, layout: own } = inTheme(JSON.parse(document.getElementById(key).textContent));
    let plot = figure.querySelector(".plot");
    const before = drawn.get(key);
    if (before && before !== plot) {
      plot.replaceWith(before);
      plot = before;
    }
    drawn.set(key, plot);
    if (!figure.classList.contains("drawn")) {
      const table = figure.querySelector("details");
      table.open = opened.has(key);
      table.addEventListener("toggle", () => opened[table.open ? "add" : "delete"](key));
      figure.classList.add("drawn");
    }
    Plotly.react(plot, data, layout(own), CONFIG);
  };
  const drawAll = (root) => {
    if (!window.Plotly) return;
    if (root.matches?.("[data-figure]")) draw(root);
    root.querySelectorAll("[data-figure]").forEach(draw);
  };
  const again = () => {
    colours.clear();
    drawAll(document);
  };

  document.body.append(probe);
  drawAll(document);
  document.addEventListener("htmx:load", (event) => drawAll(event.detail.elt));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
  new MutationObserver(again).observe(document.documentElement, { attributeFilter: ["data-theme"] });
})();
