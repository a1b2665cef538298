import { originGradient, signChange, uniformMoments } from "./arithmetic.js";
import { choice, element, explorable, follow, line, plot, scale, set, slider, summary, svg, text, watched } from "./page.js";

const VIEWS = {
  all: {
    to: (mean) => Math.asinh(mean / 0.3),
    from: (at) => 0.3 * Math.sinh(at),
    ends: [-20, 20],
    ticks: [-10, -3, -1, 0, 1, 3, 10],
    label: "mean μ (scale widened about 0)",
  },
  near: { to: Number, from: Number, ends: [-3.5, 0.5], ticks: [-3, -2, -1, 0], label: "mean μ" },
};
const HALF_WIDTHS = [0.02, 10];
const DECADES = HALF_WIDTHS.map(Math.log10);
// The widest range that lostShare is used for: wider ones lose clearly less.
const NARROW = 0.5;
const KEYS = { ArrowLeft: [-4, 0], ArrowRight: [4, 0], ArrowUp: [0, -4], ArrowDown: [0, 4] };
const HATCH = { style: "stroke: var(--nmu-2); stroke-width: 1" };
const REGION = { class: "nmu-fill-2", opacity: 0.18 };

/** Half-width above which the origin is a trap, for a mean from -1 to 0. */
function trapHalfWidth(mean) {
  return Math.sqrt((3 * (mean - 1) ** 2 * (mean + 1)) / -mean);
}

/** Share of the start box [1/4, 3/4]² below W₁ + W₂ = 2 / (1 - mean), the edge of a narrow range's trap. */
function lostShare(mean) {
  return mean > -3 && mean < -1 ? 2 * (2 * signChange(mean) - 0.5) ** 2 : 0;
}

const gradientAt = (mean, half) => originGradient(...uniformMoments(mean - half, mean + half));

/** Mean and half-width of a range. */
const placeOf = ({ low, high }) => [(low + high) / 2, (high - low) / 2];

const within = (value, [low, high]) => Math.min(Math.max(value, low), high);

function wordsOf(point) {
  const [mean, halfWidth] = placeOf(point);
  const trap = gradientAt(mean, halfWidth) > 0 ? "a trap" : "no trap";
  const outcome = point.runs ? `; runs: ${point.failed} of ${point.runs} failed` : "";
  const name = point.name.replaceAll("-", "−");
  return `${name}: μ = ${text(mean)}, half-width ${text(halfWidth)}, the origin is ${trap}${outcome}`;
}

/** Diagonal lines in a rectangle. */
function hatch(left, right, top, bottom) {
  const lines = svg("g");
  for (let sum = left + top + 6; sum < right + bottom; sum += 7) {
    const [from, to] = [Math.max(left, sum - bottom), Math.min(right, sum - top)];
    lines.append(line([[from, sum - from], [to, sum - to]], HATCH));
  }
  return lines;
}

function pointShape(failed, x, y) {
  if (!failed) return svg("circle", { cx: x, cy: y, r: 5.5, class: "nmu-fill-1" });
  const d = `M${x - 6} ${y - 6}l12 12m0 -12l-12 12`;
  const strokes = ["stroke: var(--nmu-ground); stroke-width: 7", "stroke: var(--nmu-2); stroke-width: 4"];
  return svg("g", {}, ...strokes.map((style) => svg("path", { d, style })));
}

function ring(x, y) {
  const style = "fill: none; stroke: var(--nmu-ink); stroke-width: 2.5";
  return svg("g", {}, ...[9, 1.5].map((r) => svg("circle", { cx: x, cy: y, r, style })));
}

/** The axes and the trap's region. */
function ground({ to, ends, ticks, label }) {
  const [narrowest, widest] = HALF_WIDTHS;
  const stage = plot({
    height: 270,
    x: { domain: ends.map(to), ticks: ticks.map((mean) => [to(mean), text(mean, 0)]), label },
    y: { domain: DECADES, ticks: [0.1, 1, 10].map((h) => [Math.log10(h), String(h)]), label: "half-width" },
    label: "The trap over mean and half-width: region, ranges and probe",
  });
  const at = (mean, halfWidth) => [stage.sx(to(mean)), stage.sy(Math.log10(halfWidth))];
  const edge = [at(-1, narrowest)];
  for (let t = 0.2; edge.at(-1)[1] > stage.sy(DECADES[1]); t += 0.005) {
    edge.push(at(t ** 3 - 1, within(trapHalfWidth(t ** 3 - 1), HALF_WIDTHS)));
  }
  const [[left, top], [right, bottom]] = [at(-3, NARROW), at(-1, narrowest)];
  stage.area.append(
    line([at(ends[0], widest), at(ends[0], narrowest), ...edge], REGION),
    hatch(left, right, top, bottom),
    line([[left, bottom], [left, top], [right, top]], HATCH),
    line(edge, { style: "stroke: var(--nmu-2); stroke-width: 2" }),
  );
  // It holds what can be operated, so it is a group and no image.
  stage.root.setAttribute("role", "group");
  stage.root.style.userSelect = "none";
  for (const words of stage.root.querySelectorAll("text")) words.setAttribute("aria-hidden", "true");
  return { ...stage, at, inside: (mean) => mean >= ends[0] && mean <= ends[1] };
}

function legend() {
  const box = (style) => svg("rect", { x: 1, y: 2, width: 22, height: 16, ...style });
  const entries = [
    ["trap at the origin", box(REGION), box({ style: "fill: none; stroke: var(--nmu-2)" })],
    [`trap reached from the box [¼, ¾]², half-widths to ${NARROW}`, box(REGION), hatch(1, 23, 2, 18)],
    ["range, no run failed", pointShape(false, 12, 10)],
    ["range with failed runs", pointShape(true, 12, 10)],
    ["probe", ring(12, 10)],
  ];
  const swatch = { viewBox: "0 0 24 20", "aria-hidden": "true" };
  const key = ([words, ...shapes]) => element("li", {}, svg("svg", swatch, ...shapes), words);
  return element("ul", { class: "nmu-legend" }, ...entries.map(key));
}

function readOut(name, value, shown) {
  return element("div", { class: "nmu-formula", "data-value": name, "data-number": value }, shown);
}

function render({ model: shared, el }) {
  const model = watched(shared);
  const [picture, results, pointed] = [element("div"), element("div"), element("p", { class: "nmu-hint" })];
  const words = summary();
  let [stage, probe, held, attended] = [null, null, null, null]; // held: the pointer that drags the probe
  const here = () => [model.get("mean"), model.get("half_width")];

  function move([mean, halfWidth]) {
    model.set("mean", mean);
    set(model, "half_width", halfWidth);
  }

  function moveToPixel(x, y) {
    const { to, from, ends } = VIEWS[model.get("view")];
    const domain = ends.map(to);
    const mean = from(scale(domain.map(stage.sx), domain)(x));
    const halfWidth = 10 ** scale(DECADES.map(stage.sy), DECADES)(y);
    move([Number(within(mean, ends).toFixed(2)), Number(within(halfWidth, HALF_WIDTHS).toFixed(3))]);
  }

  function moveToPointer(event) {
    const box = stage.root.getBoundingClientRect();
    moveToPixel(...[event.clientX - box.left, event.clientY - box.top].map((at) => (at * 340) / box.width));
  }

  function attend(point) {
    attended = point;
    const under = model.get("points").find((other) => String(placeOf(other)) === String(here()));
    const hint = "Point at a range, or go to it with the keyboard, to see its numbers.";
    pointed.textContent = point || under ? `${wordsOf(point ?? under)}.` : hint;
  }

  /** Of the ranges one is in the tab order; arrow keys go from one to the next. */
  function focusNext(node, step) {
    const marks = [...picture.querySelectorAll("[role=button]")];
    const next = marks[(marks.indexOf(node) + step + marks.length) % marks.length];
    node.setAttribute("tabindex", -1);
    next.setAttribute("tabindex", 0);
    next.focus();
  }

  function rangeMark(point, i) {
    const [x, y] = stage.at(...placeOf(point));
    const attributes = {
      role: "button",
      tabindex: i ? -1 : 0,
      "aria-label": wordsOf(point),
      style: "cursor: pointer",
      click: () => move(placeOf(point)),
      focus: () => attend(point),
      blur: () => attend(null),
      pointerenter: () => attend(point),
      pointerleave: () => attend(null),
      keydown: (event) => {
        const [right, down] = KEYS[event.key] ?? [0, 0];
        if (right + down) focusNext(event.currentTarget, Math.sign(right + down));
        else if (event.key === "Enter" || event.key === " ") move(placeOf(point));
        else return;
        event.preventDefault();
      },
    };
    const target = svg("circle", { cx: x, cy: y, r: 13, fill: "transparent" });
    const under = { x, y: y + 21, "text-anchor": "middle", "aria-hidden": "true", class: "nmu-halo" };
    const label = svg("text", under, point.failed ? `${point.failed} of ${point.runs} failed` : "");
    return svg("g", attributes, target, pointShape(point.failed, x, y), label);
  }

  function probeMark() {
    const attributes = {
      role: "slider",
      tabindex: 0,
      "aria-label": "Probe: mean with the left and right arrow keys, half-width with up and down",
      style: "cursor: grab; touch-action: none",
      pointerdown: (event) => {
        held = event.pointerId;
        probe.setPointerCapture(held);
      },
      pointermove: (event) => probe.hasPointerCapture(event.pointerId) && moveToPointer(event),
      lostpointercapture: show,
      keydown: (event) => {
        if (!KEYS[event.key]) return;
        event.preventDefault();
        moveToPixel(...stage.at(...here()).map((at, axis) => at + KEYS[event.key][axis]));
      },
    };
    return svg("g", attributes, svg("circle", { r: 14, fill: "transparent" }), ring(0, 0));
  }

  function drawStage() {
    stage = ground(VIEWS[model.get("view")]);
    probe = probeMark();
    const seen = model.get("points").filter((point) => stage.inside(placeOf(point)[0]));
    const area = { x: 46, y: 10, width: 286, height: 218, fill: "transparent" };
    stage.area.append(svg("rect", { ...area, click: moveToPointer }), ...seen.map(rangeMark), probe);
    picture.replaceChildren(stage.root);
    show();
  }

  function show() {
    const [mean, halfWidth] = here();
    const [gradient, crossing, share] = [gradientAt(mean, halfWidth), signChange(mean), lostShare(mean)];
    const trap = gradient > 0;
    probe.setAttribute("display", stage.inside(mean) ? "inline" : "none");
    probe.setAttribute("transform", `translate(${stage.at(mean, halfWidth).join(" ")})`);
    probe.setAttribute("aria-valuenow", mean);
    probe.setAttribute("aria-valuetext", `μ = ${text(mean)}, half-width ${text(halfWidth, 3)}`);
    results.replaceChildren(
      readOut("gradient", gradient, `gradient at the origin −2[(μ − 1)²(μ + 1) + vμ] = ${text(gradient)}`),
      readOut("trap", Number(trap), `trap: ${trap ? "yes" : "no"}`),
      readOut("crossing", crossing, `crossing c ${mean < 0 ? `= 1/(1 − μ) = ${text(crossing)}` : "– none"}`),
      readOut("share", share, `starts lost, narrow range: ${share ? "2(2c − ½)² = " : ""}${text(share, 3)}`),
    );
    attend(attended);
    if (probe.hasPointerCapture(held)) return;
    const wide = halfWidth > NARROW ? " A range as wide as this one loses less." : "";
    const lost = `${text(100 * share, 1)} % of the start box`;
    const loss = share ? ` A narrow range about this mean loses ${lost}.${wide}` : "";
    const far = trap && mean <= -3 ? " Its basin ends before the start box begins." : "";
    const range = `U[${text(mean - halfWidth)},${text(mean + halfWidth)}]`;
    const hidden = stage.inside(mean) ? "" : " The probe is outside this view.";
    words.textContent = `On ${range} the origin is ${trap ? "a trap" : "no trap"}.${loss}${far}${hidden}`;
  }

  const options = [["all", "all ranges"], ["near", "near μ = −1"]];
  const controls = [
    slider(model, "mean", { label: "mean μ", min: -20, max: 20, step: 0.05 }),
    slider(model, "half_width", { label: "half-width", min: 0.02, max: 10, step: 0.01 }),
    choice(model, "view", { label: "View", options }),
  ];
  const sides = [element("div", {}, picture, pointed), element("div", {}, ...controls, results, words)];
  const name = "The trap line: for which ranges the origin is a trap that training can reach";
  explorable(el, name, element("div", { class: "nmu-row" }, ...sides), legend());
  follow(model, ["view", "points"], drawStage);
  follow(model, ["mean", "half_width"], show);
  return model.end;
}

export default { render };
