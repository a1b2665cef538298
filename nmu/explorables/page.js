// What the explorables put on the page: elements, controls bound to traits, and plots.

/** An HTML element; attributes that are functions are event listeners. */
export function element(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An SVG element. */
export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value !== null && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children);
  return node;
}

/** A number as text, with a true minus sign. */
export function text(value, digits = 2) {
  const rounded = Number(value.toFixed(digits));
  return (rounded === 0 ? 0 : rounded).toFixed(digits).replace("-", "−");
}

let labels = 0;
function newId() {
  labels += 1;
  return `nmu-${labels}-${Math.random().toString(36).slice(2, 8)}`;
}

/** Change a trait here and in Python. */
export function set(model, name, value) {
  model.set(name, value);
  model.save_changes();
}

/** The model as one view has it: with `end`, which lets go of everything that the view listened to. */
export function watched(model) {
  const ends = [];
  return {
    get: (name) => model.get(name),
    set: (name, value) => model.set(name, value),
    save_changes: () => model.save_changes(),
    on(event, listener) {
      model.on(event, listener);
      ends.push(() => model.off(event, listener));
    },
    end: () => ends.forEach((end) => end()),
  };
}

/** Call `draw` now and whenever one of the traits changes. */
export function follow(model, names, draw) {
  for (const name of names) model.on(`change:${name}`, draw);
  draw();
}

/** A slider for a number, or with `index` for one number of a tuple. `symbol` may stand before its value. */
export function slider(model, name, { label, index = null, min, max, step, digits = 2 }) {
  const id = newId();
  const read = () => (index === null ? model.get(name) : model.get(name)[index]);
  const shown = element("span", { class: "nmu-value" });
  const input = element("input", {
    id,
    type: "range",
    min,
    max,
    step,
    input: () => {
      const value = Number(input.value);
      set(model, name, index === null ? value : model.get(name).map((old, i) => (i === index ? value : old)));
    },
  });
  follow(model, [name], () => {
    if (Number(input.value) !== read()) input.value = read();
    shown.textContent = text(read(), digits);
    input.setAttribute("aria-valuetext", shown.textContent);
  });
  return element("div", { class: "nmu-control" }, element("label", { for: id }, label), input, shown);
}

/** A menu; `options` are pairs of a trait's value and its text. */
export function choice(model, name, { label, options }) {
  const id = newId();
  const input = element(
    "select",
    { id, change: () => set(model, name, options[input.selectedIndex][0]) },
    ...options.map(([, shown]) => element("option", {}, shown)),
  );
  follow(model, [name], () => {
    input.selectedIndex = options.findIndex(([value]) => value === model.get(name));
  });
  return element("div", { class: "nmu-control" }, element("label", { for: id }, label), input);
}

/** A check box for a boolean trait. */
export function toggle(model, name, { label }) {
  const input = element("input", { type: "checkbox", change: () => set(model, name, input.checked) });
  follow(model, [name], () => {
    input.checked = model.get(name);
  });
  return element("label", { class: "nmu-control nmu-toggle" }, input, label);
}

/** A button. */
export function button(label, click) {
  return element("button", { type: "button", click }, label);
}

/** A line that says in words what the picture shows; screen readers announce its changes. */
export function summary() {
  return element("p", { class: "nmu-summary", role: "status" });
}

/**
 * Fill an explorable's root element; `label` is its name for screen readers. Whatever gets the focus in it keeps
 * its keys: JupyterLab would take the arrow keys for shortcuts.
 */
export function explorable(el, label, ...children) {
  const focusin = (event) => event.target.setAttribute("data-lm-suppress-shortcuts", "");
  el.append(element("div", { class: "nmu-explorable", role: "group", "aria-label": label, focusin }, ...children));
}

/** Map an interval to pixels. */
export function scale([low, high], [from, to]) {
  return (value) => from + ((value - low) / (high - low)) * (to - from);
}

/**
 * An empty plot with axes, 340 units wide: as wide as a small phone, so that its text is legible there.
 * `x` and `y`: { domain, ticks: [[value, text], ...], label }. Returns the svg element, the two scales and the
 * group to draw in.
 */
export function plot({ height = 220, x, y, label }) {
  const [left, right, top, bottom] = [y.ticks.length ? 46 : 12, 332, 10, height - 42];
  const sx = scale(x.domain, [left, right]);
  const sy = scale(y.domain, [bottom, top]);
  const area = svg("g");
  const root = svg("svg", { viewBox: `0 0 340 ${height}`, role: "img", "aria-label": label, class: "nmu-plot" });
  for (const [value, shown] of x.ticks) {
    root.append(
      svg("line", { x1: sx(value), x2: sx(value), y1: top, y2: bottom, class: "nmu-grid" }),
      svg("text", { x: sx(value), y: bottom + 15, "text-anchor": "middle" }, shown),
    );
  }
  for (const [value, shown] of y.ticks) {
    root.append(
      svg("line", { x1: left, x2: right, y1: sy(value), y2: sy(value), class: "nmu-grid" }),
      svg("text", { x: left - 6, y: sy(value) + 4, "text-anchor": "end" }, shown),
    );
  }
  const middle = (top + bottom) / 2;
  root.append(
    area,
    svg("text", { x: (left + right) / 2, y: height - 8, "text-anchor": "middle" }, x.label),
    svg("text", { x: 12, y: middle, transform: `rotate(-90 12 ${middle})`, "text-anchor": "middle" }, y.label),
  );
  return { root, sx, sy, area };
}

/** A path through points [x, y]. */
export function line(points, attributes) {
  const d = points.map(([px, py], i) => `${i ? "L" : "M"}${px.toFixed(2)} ${py.toFixed(2)}`).join("");
  return svg("path", { d, fill: "none", ...attributes });
}

/** Whether the reader asked for less motion. */
export function stillness() {
  return matchMedia("(prefers-reduced-motion: reduce)").matches;
}
