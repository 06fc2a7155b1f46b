// Pan and zoom of inline SVG by changing its viewBox: drag, Ctrl and wheel, buttons, and keys.
(() => {
  "use strict";
  for (const frame of document.querySelectorAll("[data-panzoom]")) {
    const svg = frame.querySelector("svg");
    if (!svg) continue;
    const whole = svg.viewBox.baseVal;
    const home = [whole.x, whole.y, whole.width, whole.height];
    let box = [...home], drag = null;
    const show = () => svg.setAttribute("viewBox", box.map((one) => one.toFixed(2)).join(" "));
    const scale = () => Math.max(box[2] / svg.clientWidth, box[3] / svg.clientHeight);
    const zoom = (factor, fx = 0.5, fy = 0.5) => {
      const width = Math.min(home[2] * 4, Math.max(home[2] / 60, box[2] * factor));
      const real = width / box[2];
      box = [box[0] + box[2] * (1 - real) * fx, box[1] + box[3] * (1 - real) * fy, width, box[3] * real];
      show();
    };
    const pan = (dx, dy) => { box[0] += dx; box[1] += dy; show(); };
    const fit = () => { box = [...home]; show(); };
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
      const unit = scale();
      pan((drag[0] - event.clientX) * unit, (drag[1] - event.clientY) * unit);
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
  }
})();
