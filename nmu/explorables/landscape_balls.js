import { adamState, adamStep, batchNoise, clamp, descentStep, drawBatch, expectedGradient, largestCurvature, minibatchGradient, originGradient, ramp, regularizerGradient, uniformMoments } from "./arithmetic.js";

// Balls on the landscape. All that they are is in the model's traits, so that its views can take turns.

/** Steps after which training ends. */
export const STEPS = 50_000;
const [REST, STILL, NEAR, FAR] = [1_000, 1e-9, 0.01, 10];
/** The regulariser's largest weight, and the steps at which its ramp begins and ends. */
export const RAMP = [10, 20_000, 35_000];

/** What the traits say about training, worked out. */
export function training(model) {
  const range = model.get("interpolation_range");
  const [mean, second] = uniformMoments(...range);
  const clamped = model.get("clamp");
  const kind = clamped ? model.get("noise") : "none";
  const noise = { none: null, fixed: [1, 5], batch: batchNoise(...range) }[kind];
  const adam = model.get("optimizer") === "adam";
  const domain = clamped ? [0, 1] : [-0.5, 1.5];
  return {
    range, mean, second, noise, clamped, adam, domain,
    rate: adam ? 1e-3 : 0.5 / largestCurvature(domain, mean, second, noise),
    batchNoise: kind === "batch" ? kind : noise,
    drawn: model.get("gradient") === "minibatch",
    regularized: clamped && model.get("regularizer"),
    seed: model.get("seed"),
    trap: clamped && originGradient(mean, second) > 0,
  };
}

/** Whether a ball will stay: long unmoved, and no regulariser to come that could move it. */
export function resting(weight, ball, t) {
  if (ball.step >= STEPS) return true;
  const discrete = weight.every((w) => Math.min(Math.abs(w), Math.abs(1 - w)) < REST * STILL);
  const settled = !t.regularized || ball.step >= RAMP[2] || discrete;
  return ball.still >= REST && settled;
}

function fate(weight, ball, t) {
  if (weight.every((w) => Math.abs(w - 1) < NEAR)) return "solution";
  const stays = resting(weight, ball, t);
  if ((stays || ball.still > 0) && weight.every((w) => Math.abs(w) < NEAR)) return "origin";
  return stays ? "elsewhere" : "moving";
}

/** Take all balls one step, in place; the youngest has taken `step` steps. */
export function advance({ weights, memory }, t, step) {
  const batch = t.drawn ? drawBatch(t.range, t.batchNoise, t.seed, step) : null;
  weights.forEach((weight, i) => {
    const ball = memory[i];
    if (resting(weight, ball, t)) {
      ball.step += 1;
      return;
    }
    const [first, second] = weight;
    const gradient = batch
      ? minibatchGradient(weight, batch.x, batch.noise)
      : expectedGradient(weight, t.mean, t.second, t.noise);
    const toward = t.regularized && ball.step > RAMP[1] ? ramp(ball.step, ...RAMP) : 0;
    if (toward) regularizerGradient(weight).forEach((g, k) => (gradient[k] += toward * g));
    if (t.adam) adamStep(weight, gradient, ball, t.rate);
    else {
      ball.step += 1;
      descentStep(weight, gradient, t.rate);
    }
    if (t.clamped) clamp(weight);
    else weight.forEach((w, k) => (weight[k] = Math.min(Math.max(w, -FAR), FAR)));
    const moved = Math.max(Math.abs(weight[0] - first), Math.abs(weight[1] - second));
    ball.still = moved < STILL ? ball.still + 1 : 0;
  });
}

const dropped = (start) => ({ ...adamState(start), start, still: 0 });

/** Steps since the last ball was dropped. */
export const youngest = (memory) => memory.at(-1)?.step ?? 0;

/** The balls as the model has them, as a copy. */
export function balls(model) {
  return {
    weights: model.get("weights").map((weight) => [...weight]),
    memory: model.get("memory").map((b) => ({ ...b, mean: [...b.mean], square: [...b.square] })),
  };
}

/** Give the balls to the model. */
export function publish(model, { weights, memory }, t) {
  model.set("memory", memory);
  model.set("weights", weights);
  model.set("fates", weights.map((weight, i) => fate(weight, memory[i], t)));
  model.set("step", youngest(memory));
}

/** Make the balls fit the starts: new ones join, other starts replace all; or put all back. */
export function place(model, t, back = false) {
  const starts = model.get("starts");
  const { weights, memory } = balls(model);
  const same = ({ start }, i) => start.every((w, k) => w === starts[i]?.[k]);
  const kept = !back && weights.length === memory.length && memory.every(same) ? memory.length : 0;
  const fresh = starts.slice(kept);
  publish(model, {
    weights: [...weights.slice(0, kept), ...fresh.map((start) => [...start])],
    memory: [...memory.slice(0, kept), ...fresh.map(dropped)],
  }, t);
}

/** Take the balls to a step: forward, or from their starts. */
export function goTo(model, t, step) {
  if (!model.get("starts").length) model.set("step", 0);
  if (step === youngest(model.get("memory")) || !model.get("starts").length) return;
  if (step < youngest(model.get("memory"))) place(model, t, true);
  const now = balls(model);
  while (youngest(now.memory) < step) advance(now, t, youngest(now.memory));
  publish(model, now, t);
}
