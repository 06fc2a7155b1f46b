// Zoom and pan of pictures: a picture is as large as its scale says, and its window scrolls. So what
// works without this script (scrolling, Tab to a node) is what it builds on.
(() => {
  "use strict";
  const READABLE = 0.72, MAPPED = 1.6, SVG = "http://www.w3.org/2000/svg";
  const MARKED = ".g-node.added, .g-node.removed, .g-node.changed, .g-node.diverges";
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const views = new Map(); // where each picture of the page was left, for when it is swapped

  const start = (frame) => {
    const pane = frame.querySelector(".window"), svg = pane?.querySelector("svg.graph");
    if (!svg || frame.classList.contains("moves")) return;
    const whole = svg.viewBox.baseVal;
    const wide = whole.width, tall = whole.height, drawn = svg.getAttribute("viewBox") + svg.childElementCount;
    const name = svg.getAttribute("aria-labelledby");
    let scale = 1;
    const room = Math.min(parseFloat(getComputedStyle(pane).maxHeight) || innerHeight * 0.75, tall + 4);
    frame.classList.add("moves");
    pane.style.height = `${Math.max(160, room)}px`;

    // ---- scale and place
    const margin = (at) => [Math.max(0, (pane.clientWidth - wide * at) / 2), 0];
    const resize = (next) => {
      scale = next;
      svg.setAttribute("width", wide * scale);
      svg.setAttribute("height", tall * scale);
    };
    const zoom = (factor, fx = 0.5, fy = 0.5) => {
      const next = Math.min(4, Math.max(Math.min(0.02, fitting()), scale * factor));
      const left = fx * pane.clientWidth, top = fy * pane.clientHeight;
      const x = (pane.scrollLeft + left - margin(scale)[0]) / scale, y = (pane.scrollTop + top) / scale;
      resize(next);
      pane.scrollTo(x * scale + margin(scale)[0] - left, y * scale - top);
      remember();
    };
    const fitting = () => Math.min(1, (pane.clientWidth - 2) / wide, (pane.clientHeight - 2) / tall);
    const fit = () => { resize(fitting()); remember(); };
    const centre = (x, y, smooth = false) => pane.scrollTo({
      left: (x - whole.x) * scale + margin(scale)[0] - pane.clientWidth / 2,
      top: (y - whole.y) * scale - pane.clientHeight / 2,
      behavior: smooth && !calm.matches ? "smooth" : "auto",
    });
    const spot = (node) => {
      const moved = node.transform.baseVal.consolidate()?.matrix;
      if (moved) return [moved.e, moved.f];
      const box = node.getBBox(); // an edge
      return [box.x + box.width / 2, box.y + box.height / 2];
    };
    const inSight = (node) => {
      const area = pane.getBoundingClientRect(), box = node.getBoundingClientRect();
      return box.left > area.left && box.right < area.right && box.top > area.top && box.bottom < area.bottom;
    };
    const begin = () => {
      // Never larger than life: a graph of three boxes stays three boxes.
      resize(fitting());
      if (scale < READABLE) {
        resize(1);
        const spots = [...svg.querySelectorAll(MARKED)].map(spot);
        const mean = (values) => (Math.min(...values) + Math.max(...values)) / 2;
        if (spots.length) centre(mean(spots.map((one) => one[0])), mean(spots.map((one) => one[1])));
        else centre(whole.x + wide / 2, whole.y);
      }
      const chosen = svg.querySelector(".chosen");
      if (chosen) centre(...spot(chosen));
      remember();
    };

    // ---- map
    let glass = null;
    const drawMap = () => {
      if (tall * scale < pane.clientHeight * MAPPED && wide * scale < pane.clientWidth * MAPPED) return;
      const map = document.createElementNS(SVG, "svg");
      const cells = (selector) => [...svg.querySelectorAll(selector)].map((one) => {
        const [x, y] = spot(one);
        return `M${x - 60} ${y - 20}h120v40h-120z`;
      }).join("");
      const part = (tag, attributes) => {
        const made = document.createElementNS(SVG, tag);
        for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
        return map.appendChild(made);
      };
      map.setAttribute("class", "map");
      map.setAttribute("aria-hidden", "true");
      map.setAttribute("viewBox", svg.getAttribute("viewBox"));
      map.setAttribute("preserveAspectRatio", "none");
      part("path", { d: cells(".g-node") });
      part("path", { d: cells(`${MARKED}, .g-node.chosen, .g-node.hit-by-search`), class: "marked" });
      glass = part("rect", {});
      const jump = (event) => {
        const area = map.getBoundingClientRect();
        centre(
          whole.x + ((event.clientX - area.left) / area.width) * wide,
          whole.y + ((event.clientY - area.top) / area.height) * tall,
        );
      };
      map.addEventListener("pointerdown", (event) => { map.setPointerCapture(event.pointerId); jump(event); });
      map.addEventListener("pointermove", (event) => { if (map.hasPointerCapture(event.pointerId)) jump(event); });
      frame.append(map);
    };
    const remember = () => {
      views.set(name, { drawn, scale, left: pane.scrollLeft, top: pane.scrollTop });
      if (!glass) return;
      const sides = {
        x: whole.x + Math.max(0, pane.scrollLeft - margin(scale)[0]) / scale, y: whole.y + pane.scrollTop / scale,
        width: Math.min(wide, pane.clientWidth / scale), height: Math.min(tall, pane.clientHeight / scale),
      };
      for (const [key, value] of Object.entries(sides)) glass.setAttribute(key, value);
    };
    pane.addEventListener("scroll", remember, { passive: true });

    // ---- mouse
    frame.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const area = pane.getBoundingClientRect();
      zoom(event.deltaY > 0 ? 1 / 1.15 : 1.15, (event.clientX - area.left) / area.width, (event.clientY - area.top) / area.height);
    }, { passive: false });
    let drag = null;
    svg.addEventListener("pointerdown", (event) => {
      if (event.pointerType !== "touch" && event.button === 0) drag = { x: event.clientX, y: event.clientY, moved: false };
    });
    svg.addEventListener("pointermove", (event) => {
      if (!drag) return;
      const dx = drag.x - event.clientX, dy = drag.y - event.clientY;
      if (!drag.moved && Math.hypot(dx, dy) < 4) return;
      if (!drag.moved) svg.setPointerCapture(event.pointerId);
      drag = { x: event.clientX, y: event.clientY, moved: true };
      pane.scrollBy(dx, dy);
    });
    for (const kind of ["pointerup", "pointercancel"]) {
      svg.addEventListener(kind, () => { setTimeout(() => { drag = null; }); });
    }
    svg.addEventListener("dragstart", (event) => event.preventDefault());
    svg.addEventListener("click", (event) => {
      if (!drag?.moved) return;
      event.preventDefault();
      event.stopPropagation();
    }, true);

    // ---- keys: one node is in the order of Tab, arrows go from it to the next in their direction
    const nodes = [...svg.querySelectorAll("a.g-node")];
    const stop = svg.querySelector("a.g-node.chosen") ?? svg.querySelector(MARKED) ?? nodes[0];
    for (const one of nodes) one.setAttribute("tabindex", one === stop ? "0" : "-1");
    for (const one of svg.querySelectorAll("a.g-far")) one.setAttribute("tabindex", "-1");
    // On the frame: an SVG that listens to the focus becomes a stop of its own.
    frame.addEventListener("focusin", (event) => {
      const node = event.target.closest("a.g-node");
      if (!node) return;
      for (const one of svg.querySelectorAll('a.g-node[tabindex="0"]')) one.setAttribute("tabindex", "-1");
      node.setAttribute("tabindex", "0");
    });
    const walk = (from, dx, dy) => {
      const [x, y] = spot(from);
      let best = null, least = Infinity;
      for (const one of nodes) {
        const [a, b] = spot(one);
        const along = (a - x) * dx + (b - y) * dy, aside = Math.abs((a - x) * dy) + Math.abs((b - y) * dx);
        const far = along + 2 * aside;
        if (along > 1 && far < least) { best = one; least = far; }
      }
      if (!best) return;
      best.focus({ preventScroll: true });
      if (!inSight(best)) centre(...spot(best), true);
    };
    const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    frame.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const node = event.target.closest("a.g-node"), arrow = ARROWS[event.key];
      const others = { "+": () => zoom(1.25), "=": () => zoom(1.25), "-": () => zoom(1 / 1.25), 0: fit, r: begin };
      if (arrow && node) walk(node, ...arrow);
      else if (arrow) pane.scrollBy(arrow[0] * pane.clientWidth / 8, arrow[1] * pane.clientHeight / 8);
      else if (others[event.key]) others[event.key]();
      else return;
      event.preventDefault();
    });
    frame.addEventListener("graph:show", (event) => centre(...spot(event.target)));
    const actions = { in: () => zoom(1.25), out: () => zoom(1 / 1.25), fit, reset: begin };
    for (const button of frame.querySelectorAll("[data-zoom]")) {
      button.addEventListener("click", actions[button.dataset.zoom]);
    }

    const last = views.get(name);
    if (last?.drawn === drawn) {
      resize(last.scale);
      pane.scrollTo(last.left, last.top);
      const chosen = svg.querySelector(".chosen");
      if (chosen && !inSight(chosen)) centre(...spot(chosen), true);
    } else {
      begin();
    }
    drawMap();
    remember();
  };

  const startAll = (root) => {
    if (root.matches?.("[data-panzoom]")) start(root);
    for (const frame of root.querySelectorAll("[data-panzoom]")) start(frame);
  };
  document.addEventListener("htmx:load", (event) => startAll(event.detail.elt));
  startAll(document);
})();
