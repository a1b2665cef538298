// The arithmetic of nmu.functional and nmu.theory, in the browser. Names and formulas are theirs; the
// package's tests compare the two. A noise is null (the NMU) or [low, high], the ends of its interval.

/** Mean and second moment of U[low, high]. */
export function uniformMoments(low, high) {
  return [(low + high) / 2, (low * low + low * high + high * high) / 3];
}

/** Interval of the batch noise for inputs from U[low, high]. */
export function batchNoise(low, high) {
  return [1, 1 + Math.sqrt(12) / (high - low)];
}

/** One factor of the unit: 1 for weight 0, x for weight 1. */
export function factor(x, weight) {
  return weight * x + (1 - weight);
}

/** The NMU of one row of inputs. */
export function nmu(x, weight) {
  return x.reduce((product, x_i, i) => product * factor(x_i, weight[i]), 1);
}

/** Weight that the sNMU uses in place of `weight`: its odds are multiplied by the noise. */
export function effectiveWeight(weight, noise) {
  return (noise * weight) / (noise * weight + (1 - weight));
}

/** The sNMU of one row of inputs, with one noise an input. */
export function snmu(x, weight, noise) {
  return nmu(x, weight.map((w, i) => effectiveWeight(w, noise[i])));
}

/** log(1 + r) / r and (log(1 + r) - r / (1 + r)) / r^2, by their series where r is small. */
function logarithms(r) {
  if (Math.abs(r) > 0.02) {
    return [Math.log1p(r) / r, (Math.log1p(r) - r / (1 + r)) / (r * r)];
  }
  let [first, second] = [0, 0];
  for (let k = 9; k >= 0; k--) {
    first = 1 / (k + 1) - r * first;
    second = (k + 1) / (k + 2) - r * second;
  }
  return [first, second];
}

/** Means of V and V^2 over the noise, and their derivatives in the weight. */
export function effectiveMoments(weight, noise) {
  if (noise === null) {
    return { first: weight, second: weight * weight, firstSlope: 1, secondSlope: 2 * weight };
  }
  const [low, high] = noise;
  const rest = 1 - weight;
  const [atLow, atHigh] = [low * weight + rest, high * weight + rest];
  const ratio = ((high - low) * weight) / atLow;
  const [l, g] = logarithms(ratio);
  const complement = (rest / atLow) * l;
  const complementSquared = (rest * rest) / (atLow * atHigh);
  const firstSlope = ((high - low) * g + low / (1 + ratio)) / (atLow * atLow);
  const squaredSlope =
    (-2 * rest) / (atLow * atHigh) - complementSquared * ((low - 1) / atLow + (high - 1) / atHigh);
  return {
    first: 1 - complement,
    second: 1 - 2 * complement + complementSquared,
    firstSlope,
    secondSlope: 2 * firstSlope + squaredSlope,
  };
}

/** An input's share of the mean squared output and of the mean of output times target. */
function meanTerms(v, mean, second) {
  return [1 + 2 * (mean - 1) * v.first + (second - 2 * mean + 1) * v.second, mean + (second - mean) * v.first];
}

/** Expected squared error where every input is to be multiplied in. */
export function expectedLoss(weight, mean, second, noise) {
  let [a, b, c] = [1, 1, 1];
  for (const w of weight) {
    const [aTerm, bTerm] = meanTerms(effectiveMoments(w, noise), mean, second);
    a *= aTerm;
    b *= bTerm;
    c *= second;
  }
  return a - 2 * b + c;
}

/** Gradient of expectedLoss in the weights. */
export function expectedGradient(weight, mean, second, noise) {
  const moments = weight.map((w) => effectiveMoments(w, noise));
  const terms = moments.map((v) => meanTerms(v, mean, second));
  const [a, b] = [0, 1].map((k) => terms.map((term) => term[k]));
  const others = (values, i) => values.reduce((product, value, j) => (j === i ? product : product * value), 1);
  return moments.map((v, i) => {
    const aSlope = 2 * (mean - 1) * v.firstSlope + (second - 2 * mean + 1) * v.secondSlope;
    return aSlope * others(a, i) - 2 * (second - mean) * v.firstSlope * others(b, i);
  });
}

/**
 * Gradient of the mean squared error over rows of inputs, for two inputs.
 * `x` and `noise` are flat: two numbers a row; `noise` may be null.
 */
export function minibatchGradient(weight, x, noise) {
  let [first, second] = [0, 0];
  for (let i = 0; i < x.length; i += 2) {
    let [v0, v1, slope0, slope1] = [weight[0], weight[1], 1, 1];
    if (noise !== null) {
      const [d0, d1] = [noise[i] * v0 + (1 - v0), noise[i + 1] * v1 + (1 - v1)];
      [slope0, slope1] = [noise[i] / (d0 * d0), noise[i + 1] / (d1 * d1)];
      [v0, v1] = [(noise[i] * v0) / d0, (noise[i + 1] * v1) / d1];
    }
    const [f0, f1] = [v0 * x[i] + (1 - v0), v1 * x[i + 1] + (1 - v1)];
    const error = 2 * (f0 * f1 - x[i] * x[i + 1]);
    first += error * f1 * (x[i] - 1) * slope0;
    second += error * f0 * (x[i + 1] - 1) * slope1;
  }
  const rows = x.length / 2;
  return [first / rows, second / rows];
}

/** Gradient of the sparsity regulariser, the mean of min(W, 1 - W), for weights in [0, 1]. */
export function regularizerGradient(weight) {
  return weight.map((w) => (w < 0.5 ? 1 : -1) / weight.length);
}

/** Weight of the regulariser at a step. */
export function ramp(step, scale, start, end) {
  return scale * Math.min(Math.max((step - start) / (end - start), 0), 1);
}

/** What Adam remembers of weights before their first step. */
export function adamState(weight) {
  return { step: 0, mean: weight.map(() => 0), square: weight.map(() => 0) };
}

/** One step of Adam, torch's defaults: changes `weight` and `state` in place. */
export function adamStep(weight, gradient, state, learningRate = 1e-3) {
  state.step += 1;
  const [beta1, beta2, epsilon] = [0.9, 0.999, 1e-8];
  const [bias1, bias2] = [1 - beta1 ** state.step, 1 - beta2 ** state.step];
  for (let i = 0; i < weight.length; i++) {
    state.mean[i] += (1 - beta1) * (gradient[i] - state.mean[i]);
    state.square[i] = beta2 * state.square[i] + (1 - beta2) * gradient[i] * gradient[i];
    const denominator = Math.sqrt(state.square[i]) / Math.sqrt(bias2) + epsilon;
    weight[i] -= ((learningRate / bias1) * state.mean[i]) / denominator;
  }
}

/** One step of plain gradient descent, in place. */
export function descentStep(weight, gradient, learningRate) {
  for (let i = 0; i < weight.length; i++) weight[i] -= learningRate * gradient[i];
}

/** Clamp to [0, 1], in place. */
export function clamp(weight) {
  for (let i = 0; i < weight.length; i++) weight[i] = Math.min(Math.max(weight[i], 0), 1);
}

/** Gradient of the two-input unit at the origin; positive where the origin is a trap. */
export function originGradient(mean, second, noiseMean = 1) {
  return 2 * noiseMean * (mean - 1 + mean * mean - second * mean);
}

/** Weight at which a factor is 0 for a negative input. */
export function signChange(x, noise = 1) {
  return 1 / (1 - noise * x);
}

/** Repeatable random numbers from U[0, 1): the generator called mulberry32. */
export function randomNumbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/** Expected loss at all pairs of the two lists of weights: flat, the first weight fastest. */
export function lossGrid(first, second, mean, secondMoment, noise) {
  const terms = (w) => meanTerms(effectiveMoments(w, noise), mean, secondMoment);
  const [columns, rows] = [first.map(terms), second.map(terms)];
  const losses = new Float64Array(columns.length * rows.length);
  const target = secondMoment * secondMoment;
  let at = 0;
  for (const [a2, b2] of rows) for (const [a1, b1] of columns) losses[at++] = a1 * a2 - 2 * b1 * b2 + target;
  return losses;
}

/** A bound of the expected loss's curvature where both weights lie in [low, high], found on a grid. */
export function largestCurvature([low, high], mean, second, noise) {
  const [cells, h] = [20, 1e-4];
  const at = (i) => low + h + ((high - low - 2 * h) * i) / cells;
  let largest = 0;
  for (let i = 0; i <= cells; i++) {
    for (let j = 0; j <= cells; j++) {
      const above = expectedGradient([at(i) + h, at(j)], mean, second, noise);
      const below = expectedGradient([at(i) - h, at(j)], mean, second, noise);
      const sum = Math.abs(above[0] - below[0]) + Math.abs(above[1] - below[1]);
      largest = Math.max(largest, sum / (2 * h));
    }
  }
  return largest;
}

/**
 * The rows of one step: two inputs each from U[low, high], and noise of the same size or null. `noise` is
 * null, an interval, or "batch" for the rule 1 + 1 / s. The same seed and step give the same rows.
 */
export function drawBatch([low, high], noise, seed, step, rows = 128) {
  const uniform = randomNumbers(Math.imul(seed, 0x9e3779b1) + Math.imul(step, 0x85ebca6b));
  const x = new Float64Array(2 * rows).map(() => low + (high - low) * uniform());
  if (noise === null) return { x, noise };
  let [from, to] = noise;
  if (noise === "batch") {
    const mean = x.reduce((sum, value) => sum + value, 0) / x.length;
    const squares = x.reduce((sum, value) => sum + (value - mean) ** 2, 0);
    [from, to] = [1, 1 + 1 / Math.sqrt(squares / (x.length - 1))];
  }
  return { x, noise: x.map(() => from + (to - from) * uniform()) };
}
