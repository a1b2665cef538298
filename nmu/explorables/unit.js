import { factor, nmu } from "./arithmetic.js";
import { element, explorable, follow, line, scale, slider, summary, svg, text, watched } from "./page.js";

const SUBSCRIPT = ["₁", "₂"];
const LIMIT = 9;

/** A number as a factor in a formula: a negative one in brackets. */
function bracketed(value) {
  return value < 0 ? `(${text(value)})` : text(value);
}

/** A number line with marks: { at, name, kind } with the kinds "point", "tick" and "star". */
function numberLine(label, marks) {
  const x = scale([-LIMIT, LIMIT], [12, 328]);
  const root = svg("svg", { viewBox: "0 0 340 52", role: "img", "aria-label": label, class: "nmu-plot" });
  root.append(line([[x(-LIMIT), 26], [x(LIMIT), 26]], { class: "nmu-grid" }));
  for (const value of [-8, -4, 0, 4, 8]) {
    root.append(svg("text", { x: x(value), y: 49, "text-anchor": "middle" }, text(value, 0)));
    root.append(line([[x(value), 22], [x(value), 30]], { class: "nmu-grid" }));
  }
  for (const { at, name, kind } of marks) {
    const shape =
      kind === "point"
        ? svg("circle", { cx: x(at), cy: 26, r: 6, class: "nmu-fill-1" })
        : svg("path", { d: `M${x(at)} 18l5 8l-5 8l-5 -8z`, class: "nmu-fill-2" });
    root.append(shape, svg("text", { x: x(at), y: 12, "text-anchor": "middle" }, name));
  }
  return root;
}

function render({ model: shared, el }) {
  const model = watched(shared);
  const controls = element("div", { class: "nmu-row" });
  for (const i of [0, 1]) {
    controls.append(
      element(
        "div",
        {},
        slider(model, "x", { label: `x${SUBSCRIPT[i]}`, index: i, min: -3, max: 3, step: 0.05 }),
        slider(model, "weight", { label: `W${SUBSCRIPT[i]}`, index: i, min: 0, max: 1, step: 0.01 }),
      ),
    );
  }
  const picture = element("div");
  const words = summary();
  explorable(el, "The unit: two inputs, two weights, and the factors that are multiplied", controls, picture, words);

  follow(model, ["x", "weight"], () => {
    const [x, weight] = [model.get("x"), model.get("weight")];
    const factors = x.map((x_i, i) => factor(x_i, weight[i]));
    const [output, target] = [nmu(x, weight), x[0] * x[1]];
    picture.replaceChildren(
      ...factors.map((f, i) => {
        const [s, w] = [SUBSCRIPT[i], weight[i]];
        const sum = `factor ${i + 1} = W${s}·x${s} + 1 − W${s} = ${text(w)}·${bracketed(x[i])} + ${text(1 - w)} = ${text(f)}`;
        return element(
          "div",
          {},
          element("div", { class: "nmu-formula", "data-value": `factor-${i + 1}`, "data-number": f }, sum),
          numberLine(`${sum}, between 1 and x${s} = ${text(x[i])}`, [
            { at: 1, name: "1", kind: "end" },
            { at: x[i], name: `x${s}`, kind: "end" },
            { at: f, name: "", kind: "point" },
          ]),
        );
      }),
      element("div", { class: "nmu-formula", "data-value": "output", "data-number": output }, `output z = ${bracketed(factors[0])}·${bracketed(factors[1])} = ${text(output)}`),
      numberLine(`output z = ${text(output)}, target ${text(target)}`, [
        { at: target, name: "x₁x₂", kind: "end" },
        { at: output, name: "z", kind: "point" },
      ]),
    );
    words.textContent = `Output z = ${text(output)}, target x₁x₂ = ${text(target)}: squared error ${text((output - target) ** 2)}.`;
  });
  return model.end;
}

export default { render };
