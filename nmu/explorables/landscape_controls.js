import { randomNumbers } from "./arithmetic.js";
import { STEPS } from "./landscape_balls.js";
import { FATES } from "./landscape_map.js";
import { button, choice, element, follow, scale, set, slider, svg, toggle } from "./page.js";

// The landscape's controls, each bound to a trait.

const MANY = 200;
const BOXES = { initial: [0.25, 0.75], square: [0, 1] };

/** A range in the book's notation. */
export const rangeName = ([low, high]) => `U[${low}, ${high}]`.replaceAll("-", "−");

/** A field for a number; `wrong` tells what is wrong with a trait's value, or is empty. */
function field(model, name, { label, index = null, wrong, ...attributes }) {
  const read = () => (index === null ? model.get(name) : model.get(name)[index]);
  const change = () => {
    const value = input.valueAsNumber;
    const next = index === null ? value : model.get(name).map((old, i) => (i === index ? value : old));
    input.setCustomValidity(Number.isFinite(value) ? wrong(next) : "Enter a number.");
    input.setAttribute("aria-invalid", !input.checkValidity());
    if (input.reportValidity()) set(model, name, next);
  };
  const input = element("input", { type: "number", change, ...attributes });
  follow(model, [name], () => {
    input.setCustomValidity("");
    input.setAttribute("aria-invalid", false);
    if (input.valueAsNumber !== read()) input.value = read();
  });
  return element("label", { class: "nmu-control" }, label, input);
}

/** The menu of the ranges at hand; one of the reader's own stands last. */
function rangeMenu(model) {
  const presets = model.get("presets");
  const change = () => set(model, "interpolation_range", presets[input.selectedIndex]);
  const options = presets.map((range) => element("option", {}, rangeName(range)));
  const input = element("select", { change }, ...options, element("option", { disabled: true }, "your own"));
  follow(model, ["interpolation_range"], () => {
    const range = model.get("interpolation_range");
    const found = presets.findIndex((preset) => preset.every((end, i) => end === range[i]));
    input.selectedIndex = found < 0 ? presets.length : found;
  });
  return element("label", { class: "nmu-control" }, "Range", input);
}

export function rangeControls(model) {
  const wrong = ([low, high]) => (low < high ? "" : "The low end must be below the high end.");
  const ends = ["from", "to"].map((label, index) =>
    field(model, "interpolation_range", { label, index, wrong, step: "any" }),
  );
  return element("div", { class: "nmu-controls" }, rangeMenu(model), ...ends);
}

export function trainingControls(model) {
  const optimizers = [["adam", "Adam"], ["descent", "plain descent"]];
  const gradients = [["expected", "expected"], ["minibatch", "of 128 rows"]];
  const noises = [["none", "none (NMU)"], ["fixed", "U[1, 5] (sNMU)"], ["batch", "batch rule (sNMU)"]];
  const noise = choice(model, "noise", { label: "Noise", options: noises });
  const regularizer = toggle(model, "regularizer", { label: "Regulariser" });
  follow(model, ["clamp"], () => {
    const inputs = [noise, regularizer].map((control) => control.querySelector("select, input"));
    for (const input of inputs) input.disabled = !model.get("clamp");
  });
  const whole = (seed) => Number.isInteger(seed) && seed >= 0 && seed < 2 ** 31;
  const wrong = (seed) => (whole(seed) ? "" : "Enter a whole number.");
  return element(
    "div",
    { class: "nmu-controls nmu-settings" },
    choice(model, "optimizer", { label: "Optimiser", options: optimizers }),
    choice(model, "gradient", { label: "Gradient", options: gradients }),
    noise,
    toggle(model, "clamp", { label: "Clamp" }),
    regularizer,
    toggle(model, "edge", { label: "Edge W₁ + W₂ = 2 / (1 − μ)" }),
    field(model, "seed", { label: "Seed", wrong, min: 0, step: 1 }),
  );
}

/** Buttons and sliders that drop balls, start and stop them. */
export function ballControls(model, run, loss, back) {
  const halt = (change) => () => {
    set(model, "running", false);
    change();
    model.save_changes();
  };
  const many = () => {
    const uniform = randomNumbers(model.get("seed"));
    const at = scale([0, 1], BOXES[model.get("box")]);
    drop(model, Array.from({ length: MANY }, () => [at(uniform()), at(uniform())]));
  };
  const boxes = Object.entries(BOXES).map(([name, [low, high]]) => [name, `[${low}, ${high}]²`]);
  return element(
    "div",
    {},
    slider(model, "cursor", { label: "W₁", index: 0, min: 0, max: 1, step: 0.01 }),
    slider(model, "cursor", { label: "W₂", index: 1, min: 0, max: 1, step: 0.01 }),
    element(
      "div",
      { class: "nmu-controls" },
      button("Drop a ball", () => drop(model, [...model.get("starts"), model.get("cursor")])),
      element("span", {}, "Loss here: ", loss),
    ),
    element(
      "div",
      { class: "nmu-controls" },
      button(`Drop ${MANY}`, many),
      choice(model, "box", { label: "in", options: boxes }),
    ),
    element(
      "div",
      { class: "nmu-controls" },
      run,
      button("Step", () => set(model, "step", Math.min(model.get("step") + 1, STEPS))),
      button("Reset", halt(back)),
      button("Clear", halt(() => model.set("starts", []))),
    ),
  );
}

/** Let balls roll from these starts. */
export function drop(model, starts) {
  set(model, "starts", starts);
  set(model, "running", true);
}

/** The marks in words, with the number of balls of each kind. */
export function legend() {
  const counts = {};
  const items = Object.entries(FATES).map(([name, { words, d, color }]) => {
    counts[name] = element("b", { "data-value": name });
    const icon = svg("svg", { viewBox: "-7 -7 14 14", "aria-hidden": true }, svg("path", { d, fill: color }));
    return element("li", {}, icon, counts[name], ` ${words}`);
  });
  return { counts, list: element("ul", { class: "nmu-legend" }, ...items) };
}
