import { effectiveMoments, effectiveWeight, factor } from "./arithmetic.js";
import { button, choice, element, explorable, follow, line, plot, set, slider, stillness, summary, svg, text, watched } from "./page.js";

const PRESETS = [
  ["U[1,5]", [1, 5]],
  ["U[0.2,1]", [0.2, 1]],
  ["U[⅓,3]", [1 / 3, 3]],
  ["n = 1", [1, 1]],
];
const OTHERS = [0.1, 0.5, 0.9];
const QUIET = { style: "stroke: var(--nmu-edge); stroke-width: 1" };
const SECONDS = 8;
const HEADROOM = 1.4;
const AXES = {
  linear: {
    domain: [0, 1],
    ticks: [0, 0.25, 0.5, 0.75, 1].map((v) => [v, String(v)]),
    label: "effective weight V",
  },
  "log-odds": {
    domain: [-7, 7],
    ticks: [-6, -4, -2, 0, 2, 4, 6].map((v) => [v, text(v, 0)]),
    label: "log-odds of V, log(V / (1 − V))",
  },
};

/** Log-odds of a weight, infinite at 0 and 1. */
function logOdds(weight) {
  return Math.log(weight) - Math.log1p(-weight);
}

/** Mean of log n. */
function logOddsShift([low, high]) {
  if (low === high) return Math.log(low);
  return (high * Math.log(high) - low * Math.log(low)) / (high - low) - 1;
}

/**
 * The exact density of V or its log-odds for n from U[low, high], as points [value, density / its maximum].
 * A change of variables: it goes with dn/dV, hence with (nW + 1 - W)²; that of the log-odds with n.
 */
function density(weight, [low, high], logarithmic) {
  const divisor = (n) => n * weight + 1 - weight;
  const height = (n) => (logarithmic ? n / high : (divisor(n) / divisor(high)) ** 2);
  return Array.from({ length: 161 }, (_, i) => {
    const n = i === 160 ? high : low * (high / low) ** (i / 160);
    return [logarithmic ? logOdds(weight) + Math.log(n) : effectiveWeight(weight, n), height(n)];
  });
}

/** Draw a density, or an arrow where it has collapsed: upwards to a value, sideways to infinity. */
function drawDensity({ sx, sy, area }, points, [low, high], attributes) {
  const [first, last] = [points[0][0], points.at(-1)[0]];
  const [left, right] = [Math.min(first, last), Math.max(first, last)];
  if (right < low || left > high) {
    const [end, way] = right < low ? [sx(low), -1] : [sx(high), 1];
    const y = sy(0.5);
    area.append(
      line([[end - way * 50, y], [end - way * 3, y]], attributes),
      line([[end - way * 11, y - 6], [end - way * 3, y], [end - way * 11, y + 6]], attributes),
    );
    if (!Number.isFinite(left)) {
      const infinity = { x: end - way * 28, y: y - 10, "text-anchor": "middle" };
      area.append(svg("text", infinity, way < 0 ? "−∞" : "+∞"));
    }
  } else if (left === right) {
    const [x, top] = [sx(left), sy(1)];
    area.append(
      line([[x, sy(0)], [x, top]], attributes),
      line([[x - 6, top + 9], [x, top], [x + 6, top + 9]], attributes),
    );
  } else {
    const inside = points.filter(([at]) => at >= low && at <= high);
    const outline = [[inside[0][0], 0], ...inside, [inside.at(-1)[0], 0]].map(([at, h]) => [sx(at), sy(h)]);
    if (attributes.class) area.append(line(outline, { class: "nmu-fill-1", opacity: 0.25 }));
    area.append(line(outline, attributes));
  }
}

/** A vertical mark with its name above it, in the first or the second row. */
function mark({ sx, sy, area }, at, name, row, style, [low, high]) {
  if (!(at >= low && at <= high)) return;
  const [x, y] = [sx(at), 20 + 15 * row];
  const anchor = x < 30 ? "start" : x > 310 ? "end" : "middle";
  area.append(
    line([[x, sy(0)], [x, y + 4]], { class: `nmu-line-${style}` }),
    svg("text", { x, y, "text-anchor": anchor, class: "nmu-halo" }, name),
  );
}

function draw(axes, label) {
  return plot({ height: 200, x: axes, y: { domain: [0, HEADROOM], ticks: [], label: "" }, label });
}

function weightPicture(weight, noise, scale, label) {
  const logarithmic = scale === "log-odds";
  const axes = AXES[scale];
  const picture = draw(axes, label);
  for (const w of OTHERS) drawDensity(picture, density(w, noise, logarithmic), axes.domain, QUIET);
  const shown = { class: "nmu-line-1", "data-value": "density-v" };
  drawDensity(picture, density(weight, noise, logarithmic), axes.domain, shown);
  const [at, mean] = logarithmic
    ? [logOdds(weight), logOdds(weight) + logOddsShift(noise)]
    : [weight, effectiveMoments(weight, noise).first];
  mark(picture, at, "W", 0, 3, axes.domain);
  mark(picture, mean, logarithmic ? "mean" : "E[V]", 1, 2, axes.domain);
  return picture.root;
}

function factorPicture(weight, noise, x, mean, label) {
  const domain = [-3.2, 3.2];
  const ticks = [-3, -2, -1, 0, 1, 2, 3].map((f) => [f, text(f, 0)]);
  const picture = draw({ domain, ticks, label: "factor 1 + V(x − 1)" }, label);
  const points = density(weight, noise, false).map(([v, h]) => [factor(x, v), h]);
  drawDensity(picture, points, domain, { class: "nmu-line-1" });
  mark(picture, factor(x, weight), "no noise", 0, 3, domain);
  mark(picture, mean, "mean", 1, 2, domain);
  return picture.root;
}

/** A number in the text, with all its digits for tests. */
function number(name, value, shown) {
  return element("span", { class: "nmu-together", "data-value": name, "data-number": value }, shown);
}

function sentence(weight, scale, between, deviation, shift) {
  const linear = scale === "linear";
  if (weight === 0 || weight === 1) {
    const infinite = linear ? "" : " Its log-odds are infinite, and log n moves them nowhere.";
    return `W = ${weight}: V = ${weight} whatever the noise, which cancels exactly.${infinite}`;
  }
  const added = `Here the noise adds log n, ${text(shift)} on average, whatever W is`;
  const slides = `${added}: as W changes, the density slides and keeps its shape.`;
  const spreads = `The factor’s standard deviation is ${text(deviation)}; at W = 0 and at W = 1 it is 0.`;
  const grey = `Grey: the same noise at W = ${OTHERS[0]}, ${OTHERS[1]} and ${OTHERS[2]}.`;
  return `At W = ${text(weight)}, V ${between}. ${linear ? spreads : slides} ${grey}`;
}

function render({ model: shared, el }) {
  const model = watched(shared);
  // The noise's ends push each other, so that low <= high.
  const ordered = {
    get: (name) => model.get(name),
    on: (...event) => model.on(...event),
    save_changes: () => model.save_changes(),
    set: (name, [low, high]) => {
      const lowMoved = low !== model.get(name)[0];
      model.set(name, lowMoved ? [low, Math.max(low, high)] : [Math.min(low, high), high]);
    },
  };
  const still = stillness();
  const idle = still ? "Move W by 0.1" : "Slide W from 0 to 1";
  let frame = 0;

  function stop() {
    cancelAnimationFrame(frame);
    frame = 0;
    play.textContent = idle;
    show();
  }

  function start() {
    let [began, reached] = [null, 0];
    const advance = (now) => {
      if (model.get("weight") !== reached) return stop();
      began ??= now;
      reached = Math.min((now - began) / (1000 * SECONDS), 1);
      if (reached === 1) frame = 0;
      set(model, "weight", reached);
      if (reached === 1) return stop();
      frame = requestAnimationFrame(advance);
    };
    play.textContent = "Stop";
    frame = requestAnimationFrame(advance);
    set(model, "weight", 0);
  }

  function step() {
    const weight = model.get("weight");
    set(model, "weight", weight === 1 ? 0 : Math.min(Math.floor(10 * weight + 1.001) / 10, 1));
  }

  const play = button(idle, () => (still ? step() : frame ? stop() : start()));
  const presets = PRESETS.map(([name, noise]) => button(name, () => set(model, "noise", noise)));
  const options = Object.keys(AXES).map((name) => [name, name]);
  const weightControls = [
    slider(model, "weight", { label: "W", min: 0, max: 1, step: 0.01 }),
    slider(model, "x", { label: "x", min: -3, max: 3, step: 0.05 }),
    element("div", { class: "nmu-controls" }, play, choice(model, "scale", { label: "Scale", options })),
  ];
  const noiseControls = [
    slider(ordered, "noise", { label: "n from", index: 0, min: 0.1, max: 10, step: 0.1 }),
    slider(ordered, "noise", { label: "n to", index: 1, min: 0.1, max: 10, step: 0.1 }),
    element("div", { class: "nmu-controls", role: "group", "aria-label": "Noise" }, ...presets),
  ];
  const controls = [weightControls, noiseControls].map((side) => element("div", {}, ...side));
  const [weightSide, factorSide, words] = [element("div"), element("div"), summary()];
  const row = (sides) => element("div", { class: "nmu-row" }, ...sides);
  const name = "Reversibility: what noise does to a weight between 0 and 1, and to its factor";
  explorable(el, name, row(controls), row([weightSide, factorSide]), words);

  function show() {
    const [weight, x, noise, scale] = ["weight", "x", "noise", "scale"].map((name) => model.get(name));
    const { first, second } = effectiveMoments(weight, noise);
    const [plain, mean] = [factor(x, weight), factor(x, first)];
    const deviation = Math.abs(x - 1) * Math.sqrt(Math.max(second - first * first, 0));
    const shift = logOddsShift(noise);
    const [low, high] = noise.map((n) => text(effectiveWeight(weight, n)));
    const between = low === high ? `is ${low}` : `lies between ${low} and ${high}`;
    const formula = (...parts) => element("div", { class: "nmu-formula" }, ...parts);
    const [meanIs, deviationIs] = [`mean ${text(mean)}`, `standard deviation ${text(deviation)}`];
    weightSide.replaceChildren(
      weightPicture(weight, noise, scale, `Density of V, ${scale} scale: W is ${text(weight)}, V ${between}`),
      formula(
        "V = nW / (nW + 1 − W), ",
        number("mean-v", first, `E[V] = ${text(first)}`),
        "; log-odds of V = log-odds of W + log n, ",
        number("shift", shift, `E[log n] = ${text(shift)}`),
      ),
    );
    factorSide.replaceChildren(
      factorPicture(weight, noise, x, mean, `Density of the factor: ${meanIs}, ${deviationIs}`),
      formula(
        "Factor 1 + V(x − 1): ",
        number("factor", plain, `${text(plain)} without noise`),
        ", ",
        number("mean-factor", mean, meanIs),
        ", ",
        number("deviation", deviation, deviationIs),
      ),
    );
    if (!frame) words.textContent = sentence(weight, scale, between, deviation, shift);
  }

  follow(model, ["weight", "x", "noise", "scale"], show);
  return () => {
    cancelAnimationFrame(frame);
    model.end();
  };
}

export default { render };
