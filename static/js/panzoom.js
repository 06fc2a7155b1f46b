// Pan and zoom of inline SVG by changing its viewBox: drag, Ctrl and wheel, buttons, and keys.
// Without this script the picture scrolls at its own size.
(() => {
  "use strict";
  const READABLE = 0.72;
  const start = (frame) => {
    const svg = frame.querySelector("svg");
    if (!svg) return;
    const whole = svg.viewBox.baseVal;
    const home = [whole.x, whole.y, whole.width, whole.height];
    const tallest = Math.min(512, innerHeight * 0.75);
    frame.classList.add("moves");
    svg.setAttribute("height", Math.max(160, Math.min(tallest, home[3])));
    svg.removeAttribute("width");
    let box = [...home], drag = null;
    const show = () => svg.setAttribute("viewBox", box.map((one) => one.toFixed(2)).join(" "));
    const unit = () => Math.max(box[2] / svg.clientWidth, box[3] / svg.clientHeight);
    const zoom = (factor, fx = 0.5, fy = 0.5) => {
      const width = Math.min(home[2] * 4, Math.max(home[2] / 60, box[2] * factor));
      const real = width / box[2];
      box = [box[0] + box[2] * (1 - real) * fx, box[1] + box[3] * (1 - real) * fy, width, box[3] * real];
      show();
    };
    const pan = (dx, dy) => { box[0] += dx; box[1] += dy; show(); };
    const fit = () => {
      // Never larger than life: a graph of three boxes stays three boxes.
      const width = Math.max(home[2], svg.clientWidth), height = Math.max(home[3], svg.clientHeight);
      box = [home[0] - (width - home[2]) / 2, home[1] - (height - home[3]) / 2, width, height];
      show();
    };
    const begin = () => {
      fit();
      if (1 / unit() >= READABLE) return;
      // Too large to read as a whole: begin at what changed.
      const spots = [...svg.querySelectorAll(".g-node.added, .g-node.removed, .g-node.changed, .g-node.diverges")]
        .map((one) => one.transform.baseVal.consolidate().matrix);
      if (!spots.length) return;
      const middle = (values) => (Math.min(...values) + Math.max(...values)) / 2;
      const width = svg.clientWidth, height = svg.clientHeight;
      box = [middle(spots.map((one) => one.e)) - width / 2, middle(spots.map((one) => one.f)) - height / 2, width, height];
      show();
    };
    frame.addEventListener("wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const area = svg.getBoundingClientRect();
      zoom(event.deltaY > 0 ? 1.15 : 1 / 1.15, (event.clientX - area.left) / area.width, (event.clientY - area.top) / area.height);
    }, { passive: false });
    svg.addEventListener("pointerdown", (event) => {
      if (event.pointerType === "touch") return;
      drag = [event.clientX, event.clientY];
      svg.setPointerCapture(event.pointerId);
    });
    svg.addEventListener("pointermove", (event) => {
      if (!drag) return;
      const size = unit();
      pan((drag[0] - event.clientX) * size, (drag[1] - event.clientY) * size);
      drag = [event.clientX, event.clientY];
    });
    for (const kind of ["pointerup", "pointercancel"]) svg.addEventListener(kind, () => { drag = null; });
    frame.addEventListener("keydown", (event) => {
      const step = box[2] / 12;
      const keys = {
        ArrowLeft: () => pan(-step, 0), ArrowRight: () => pan(step, 0),
        ArrowUp: () => pan(0, -step), ArrowDown: () => pan(0, step),
        "+": () => zoom(1 / 1.25), "=": () => zoom(1 / 1.25), "-": () => zoom(1.25), 0: fit,
      };
      if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
      event.preventDefault();
      keys[event.key]();
    });
    const actions = { in: () => zoom(1 / 1.25), out: () => zoom(1.25), fit };
    for (const button of frame.querySelectorAll("[data-zoom]")) {
      button.addEventListener("click", actions[button.dataset.zoom]);
    }
    begin();
  };
  for (const frame of document.querySelectorAll("[data-panzoom]")) start(frame);
})();
