// The landscape's picture, the same on a light and on a dark page. Its marks have a white and a black
// outline, one of which stands out from any ground.

/** Height of the picture, which is 340 wide. */
export const HEIGHT = 338;

const LEVELS = [-4, -3, -2, -1.5, -1, -0.75, -0.5, -0.25, -0.1, -0.05];
const CIVIDIS = [
  [0, 34, 78], [14, 48, 107], [47, 66, 109], [70, 83, 108], [91, 99, 110], [112, 113, 115],
  [135, 132, 120], [161, 152, 118], [187, 173, 110], [216, 197, 92], [254, 232, 56],
];

/** What can become of a ball: in words, as a shape 10 units wide, and a colour. */
export const FATES = {
  solution: { words: "at the solution (1, 1)", d: "M5 0A5 5 0 1 1-5 0A5 5 0 1 1 5 0Z", color: "#56b4e9" },
  origin: {
    words: "at the origin (0, 0)",
    d: "M-5-2.5L-2.5-5L0-2.5L2.5-5L5-2.5L2.5 0L5 2.5L2.5 5L0 2.5L-2.5 5L-5 2.5L-2.5 0Z",
    color: "#ff7f0e",
  },
  elsewhere: { words: "at rest elsewhere", d: "M0 5.5L-5.5-4L5.5-4Z", color: "#e39cc4" },
  moving: { words: "moving", d: "M0-5.5L5.5 4L-5.5 4Z", color: "#ffffff" },
};
const STAR = {
  d: "M0-9L2.2-3.1L8.6-2.8L3.6 1.2L5.3 7.3L0 3.8L-5.3 7.3L-3.6 1.2L-8.6-2.8L-2.2-3.1Z",
  color: "#ffffff",
};
const TRAP = { d: FATES.origin.d, color: "#000000" };
const AIM = {
  d: "M-9-1L-2-1L-2 1L-9 1ZM9-1L2-1L2 1L9 1ZM-1-9L-1-2L1-2L1-9ZM-1 9L-1 2L1 2L1 9Z",
  color: "#ffffff",
};

/** A square canvas, `size` pixels wide, of losses that run from left to right and from the top row down. */
export function heatMap(losses, size) {
  const top = losses.reduce((a, b) => Math.max(a, b));
  const bounds = LEVELS.map((level) => top * 10 ** level);
  const bands = losses.map((loss) => {
    let band = 0;
    while (band < bounds.length && loss > bounds[band]) band += 1;
    return band;
  });
  const image = new ImageData(size, size);
  for (let i = 0; i < bands.length; i++) {
    const right = (i + 1) % size ? bands[i + 1] : bands[i];
    const below = bands[i + size] ?? bands[i];
    const line = bands[i] !== right || bands[i] !== below;
    for (let k = 0; k < 3; k++) image.data[4 * i + k] = line ? 0 : CIVIDIS[bands[i]][k];
    image.data[4 * i + 3] = 255;
  }
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = size;
  canvas.getContext("2d").putImageData(image, 0, 0);
  return canvas;
}

/** One shape in many places. */
function stamp(context, { d, color }, places, size) {
  const [shape, all] = [new Path2D(d), new Path2D()];
  for (const [x, y] of places) all.addPath(shape, { a: size, d: size, e: x, f: y });
  outlined(context, all, 1.2 * size);
  context.fillStyle = color;
  context.fill(all);
}

/** A line that shows on any ground. */
function outlined(context, path, width) {
  context.lineJoin = "round";
  context.strokeStyle = "#fff";
  context.lineWidth = width + 2;
  context.stroke(path);
  context.strokeStyle = "#000";
  context.lineWidth = width;
  context.stroke(path);
}

function pathThrough(points) {
  const path = new Path2D();
  for (const [x, y] of points) path.lineTo(x, y);
  return path;
}

/**
 * Draw the map anew. `at` takes a pair of weights to a place; `ground` is a heat map of `domain`, in both
 * weights; `edge` is the sum of the weights on the basin's edge, or null.
 */
export function drawMap(context, { at, ground, domain, starts, weights, fates, trails, cursor, trap, edge }) {
  const [low, high] = domain;
  const [[left, bottom], [right, top]] = [at([low, low]), at([high, high])];
  context.drawImage(ground, left, top, right - left, bottom - top);
  if (edge !== null) {
    const [far, near] = [Math.min(high, edge - low), Math.max(low, edge - high)];
    context.setLineDash([7, 5]);
    outlined(context, pathThrough([at([near, edge - near]), at([far, edge - far])]), 1.5);
    context.setLineDash([]);
  }
  stamp(context, STAR, [at([1, 1])], 1.2);
  if (trap) stamp(context, TRAP, [at([0, 0])], 1.2);
  for (const trail of trails) outlined(context, pathThrough(trail.map(at)), 1);
  const many = weights.length > 50;
  for (const [size, places] of [[many ? 0.55 : 0.7, starts], [many ? 0.8 : 1.2, weights]]) {
    for (const [name, shape] of Object.entries(FATES)) {
      const chosen = places.filter((_, i) => fates[i] === name);
      if (chosen.length) stamp(context, shape, chosen.map(at), size);
    }
  }
  stamp(context, AIM, [at(cursor)], 0.8);
}
