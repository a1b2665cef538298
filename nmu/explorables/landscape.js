import { expectedLoss, lossGrid, ramp } from "./arithmetic.js";
import { RAMP, advance, balls, goTo, place, publish, resting, training, youngest } from "./landscape_balls.js";
import { ballControls, drop, legend, rangeControls, rangeName, trainingControls } from "./landscape_controls.js";
import { FATES, HEIGHT, drawMap, heatMap } from "./landscape_map.js";
import { button, element, explorable, follow, plot, scale, set, stillness, summary, text, watched } from "./page.js";

const [TRAILED, BUDGET_MS, PIXELS] = [20, 8, 572];
const SETTINGS = ["interpolation_range", "noise", "optimizer", "gradient", "clamp", "regularizer", "seed"];
const thousands = (count) => count.toLocaleString("en-GB");

function render({ model: shared, el }) {
  const model = watched(shared);
  let [t, area, ground, trails, frame, seen, toldAt] = [null, null, null, [], null, null, 0];
  const later = () => (frame ??= requestAnimationFrame(work));
  const at = ([first, second]) => [area.sx(first), area.sy(second)];
  const map = element("div", { class: "nmu-map" });
  const canvas = element("canvas", { "aria-hidden": true });
  const { counts, list } = legend();
  const [words, readings] = [summary(), element("p", { class: "nmu-hint" })];
  const [loss, stepShown] = ["loss", "step"].map((name) => element("b", { "data-value": name }));
  const weightOfRegularizer = element("span");
  const run = button("Run", () => set(model, "running", !model.get("running")));

  function landscape() {
    t = training(model);
    const label =
      `Expected loss over W₁, to the right, and W₂, upwards, for inputs from ${rangeName(t.range)}: ` +
      `lowest at the star, the solution (1, 1)${t.trap ? "; the cross at the origin marks a trap" : ""}.`;
    const ticks = (t.clamped ? [0, 0.5, 1] : [-0.5, 0, 0.5, 1, 1.5]).map((w) => [w, text(w, w % 1 ? 1 : 0)]);
    const axis = (symbol) => ({ domain: t.domain, ticks, label: symbol });
    area = plot({ height: HEIGHT, x: axis("W₁"), y: axis("W₂"), label });
    map.replaceChildren(area.root, canvas);
    const weight = scale([-0.5, PIXELS - 0.5], t.domain);
    const weights = Array.from({ length: PIXELS }, (_, i) => weight(i));
    ground = heatMap(lossGrid(weights, [...weights].reverse(), t.mean, t.second, t.noise), PIXELS);
    readings.replaceChildren(
      `The origin is ${t.trap ? "" : "not "}a trap here. `,
      t.noise ? `Noise from U[1, ${Number(t.noise[1].toFixed(2))}]. ` : "",
      t.clamped ? "" : "Noise and regulariser need the clamp and are off. ",
      "Learning rate ",
      element("span", { "data-value": "rate", "data-number": t.rate }, Number(t.rate.toPrecision(2))),
      t.adam ? "." : ": half the inverse of the largest curvature on the map.",
    );
  }

  /** Some steps: the more, the longer the balls have rolled, so that the slow ones arrive as well. */
  function roll(deadline) {
    const now = balls(model);
    const first = youngest(now.memory);
    const last = first + (stillness() ? STEPS : Math.max(4, first / 60));
    const ended = () => now.weights.every((weight, i) => resting(weight, now.memory[i], t));
    for (let step = first; step < last && performance.now() < deadline && !ended(); step++) {
      advance(now, t, step);
    }
    publish(model, now, t);
    if (ended()) set(model, "running", false);
  }

  function show() {
    const names = ["starts", "weights", "fates", "memory", "cursor"];
    const [starts, weights, fates, memory, cursor] = names.map((name) => model.get(name));
    const zoom = (map.clientWidth * devicePixelRatio) / 340;
    const width = Math.round(340 * zoom);
    if (canvas.width !== width) [canvas.width, canvas.height] = [width, Math.round(HEIGHT * zoom)];
    trails = memory.length > TRAILED ? [] : memory.map(({ step, start }, i) => {
      const trail = step && trails[i]?.[0] === start ? trails[i] : [start];
      const [weight, last] = [weights[i] ?? start, trail.at(-1)];
      return Math.hypot(weight[0] - last[0], weight[1] - last[1]) > 0.01 ? [...trail, weight] : trail;
    });
    const context = canvas.getContext("2d");
    context.setTransform(zoom, 0, 0, zoom, 0, 0);
    context.clearRect(0, 0, 340, HEIGHT);
    const edge = model.get("edge") && t.mean < -1 ? 2 / (1 - t.mean) : null;
    const { domain, trap } = t;
    drawMap(context, { at, ground, domain, starts, weights, fates, trails, cursor, trap, edge });
    for (const [name, count] of Object.entries(counts)) {
      count.textContent = fates.filter((other) => other === name).length;
    }
    loss.dataset.number = expectedLoss(cursor, t.mean, t.second, t.noise);
    loss.textContent = text(Number(loss.dataset.number), 3);
    const step = model.get("step");
    stepShown.textContent = thousands(step);
    weightOfRegularizer.textContent = t.regularized ? `, λ = ${text(ramp(step, ...RAMP))}` : "";
  }

  function tell() {
    toldAt = performance.now();
    const fates = model.get("fates");
    const named = Object.entries(FATES).filter(([name]) => fates.includes(name));
    const parts = named.map(([name, fate]) => `${counts[name].textContent} ${fate.words}`);
    const many = fates.length === 1 ? "one ball" : `${fates.length} balls`;
    const news = fates.length
      ? `After ${thousands(model.get("step"))} steps, of ${many}: ${parts.join(", ")}.`
      : "No ball yet: click or tap the map, or use a button.";
    if (words.textContent !== news) words.textContent = news;
    if (model.get("running")) return;
    map.dataset.weights = JSON.stringify(model.get("weights"));
    map.dataset.fates = JSON.stringify(fates);
  }

  /** A frame. Of several views of one model one rolls the balls: it finds the step as it left it. */
  function work() {
    frame = null;
    const begin = performance.now();
    const running = model.get("running");
    if (running && seen === model.get("step")) roll(begin + BUDGET_MS);
    seen = model.get("step");
    const due = begin - toldAt > 1000;
    if (!running || due || !stillness()) show();
    if (!running || due) tell();
    if (running) later();
    map.dataset.frame = performance.now() - begin;
  }

  map.addEventListener("click", ({ clientX, clientY }) => {
    const box = map.getBoundingClientRect();
    const place = [clientX - box.left, clientY - box.top].map((length) => (length * 340) / box.width);
    const weight = [area.sx, area.sy].map((s, i) => scale(t.domain.map(s), t.domain)(place[i]));
    if (weight.some((w) => w < -0.05 || w > 1.05)) return;
    set(model, "cursor", weight.map((w) => Math.round(1000 * Math.min(Math.max(w, 0), 1)) / 1000));
    drop(model, [...model.get("starts"), model.get("cursor")]);
  });

  landscape();
  const step = model.get("step");
  if (model.get("memory").length !== model.get("starts").length) place(model, t);
  goTo(model, t, step);
  const saved = (change) => () => {
    change();
    model.save_changes();
  };
  const back = () => place(model, t, true);
  follow(model, ["weights", "cursor", "edge"], later);
  follow(model, ["running"], () => {
    run.textContent = model.get("running") ? "Pause" : "Run";
    seen = model.get("step");
    model.save_changes();
    later();
  });
  for (const [names, change] of [
    [SETTINGS, () => (landscape(), back(), later())],
    [["starts"], () => place(model, t)],
    [["step"], () => goTo(model, t, model.get("step"))],
  ]) {
    const listener = saved(change);
    for (const name of names) model.on(`change:${name}`, listener);
  }
  const observer = new ResizeObserver(later);
  observer.observe(map);

  const left = element("div", {}, map, list);
  const right = element(
    "div",
    {},
    element("p", { class: "nmu-hint" }, "Click or tap the map to drop a ball there, or set the cross hair:"),
    ballControls(model, run, loss, back),
    element("p", { class: "nmu-hint" }, "Step of the last ball dropped: ", stepShown, weightOfRegularizer),
    trainingControls(model),
    readings,
  );
  explorable(
    el,
    "The landscape: the expected loss over two weights, and balls that roll on it",
    rangeControls(model),
    element("div", { class: "nmu-row" }, left, right),
    words,
  );
  return () => {
    observer.disconnect();
    cancelAnimationFrame(frame);
    model.end();
  };
}

export default { render };
