import { choice, element, explorable, follow, line, plot, set, summary, svg, text, watched } from "./page.js";

const ZERO = -18;
const METRICS = {
  success: { name: "success rate", unit: "", cell: (v) => text(v), detail: (v) => text(v) },
  solved_at: { name: "solved at", unit: ", in 1,000 steps", cell: (v) => text(v / 1000, 1), detail: whole },
  sparsity_error: { name: "sparsity error", unit: ", to a power of ten", cell: magnitude, detail: figures },
};
const ERRORS = { interpolation_error: "Interpolation error", extrapolation_error: "Extrapolation error" };
const SIGNS = "†‡§¶";
const MOVES = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };

function whole(value) {
  return value.toLocaleString("en-GB", { maximumFractionDigits: 0 });
}

/** Ten to a whole power, as text. */
function tenTo(power) {
  return `10${[...String(power)].map((c) => (c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[c])).join("")}`;
}

function magnitude(value) {
  return value === 0 ? "0" : tenTo(Math.round(Math.log10(value)));
}

/** A number that is not negative with two significant digits. */
function figures(value) {
  if (value === 0) return "0";
  if (value >= 0.01 && value < 1e4) return value.toLocaleString("en-GB", { maximumSignificantDigits: 2 });
  const [digits, power] = value.toExponential(1).split("e");
  return (digits === "1.0" ? "" : `${digits}·`) + tenTo(Number(power));
}

/** An error as text, given its logarithm. */
function errorText(logarithm) {
  if (logarithm === null) return "not finite";
  return logarithm <= ZERO ? "0" : figures(10 ** logarithm);
}

function minus(range) {
  return range.replaceAll("-", "−");
}

/** How much colour the cells get: from 0, no run solved, to 1, the best. */
function shades(metric, values) {
  if (metric === "success") return values;
  const size = (value) => Math.log10(Math.max(value, 1e-9));
  const sizes = values.filter((value) => value !== null).map(size);
  const [best, worst] = [Math.min(...sizes), Math.max(...sizes)];
  return values.map((value) => (value === null ? 0 : 1 - (0.9 * (size(value) - best)) / (worst - best || 1)));
}

/** The table: `select` and `preview` are called with the place of a cell, `preview` also with null. */
function grid(model, select, preview) {
  const [modules, ranges] = [model.get("modules"), model.get("ranges")];
  const cells = ranges.map((_, row) =>
    modules.map((_, column) =>
      element("td", {
        click: () => cells[row][column].focus(),
        focus: () => select(row, column),
        pointerenter: (event) => event.pointerType !== "touch" && preview([row, column]),
      }),
    ),
  );
  const at = () => [ranges.indexOf(model.get("selected")[1]), modules.indexOf(model.get("selected")[0])];
  const keydown = (event) => {
    let [row, column] = at();
    if (event.key in MOVES) [row, column] = [row + MOVES[event.key][0], column + MOVES[event.key][1]];
    else if (event.key === "Home") [row, column] = [event.ctrlKey ? 0 : row, 0];
    else if (event.key === "End") [row, column] = [event.ctrlKey ? cells.length - 1 : row, modules.length - 1];
    else return;
    event.preventDefault();
    event.stopPropagation();
    cells[row]?.[column]?.focus();
  };
  const head = (name) => element("th", { scope: "col" }, element("span", {}, name));
  const rows = ranges.map((range, row) =>
    element("tr", {}, element("th", { scope: "row" }, minus(range)), ...cells[row]),
  );
  const crowded = modules.length > 5 ? " nmu-many" : "";
  const table = element(
    "table",
    { role: "grid", class: `nmu-bench${crowded}`, keydown, pointerleave: () => preview(null) },
    element("thead", {}, element("tr", {}, head("training range"), ...modules.map(head))),
    element("tbody", {}, ...rows),
  );

  const fillCells = () => {
    const metric = model.get("metric");
    const { name, unit, cell } = METRICS[metric];
    const values = ranges.flatMap((range) => modules.map((m) => model.get("estimates")[m][range][metric][0]));
    const shade = shades(metric, values);
    table.setAttribute("aria-label", `${name}${unit}: training ranges down, modules across`);
    cells.flat().forEach((node, i) => {
      node.textContent = values[i] === null ? "–" : cell(values[i]);
      node.style.setProperty("--nmu-shade", shade[i].toFixed(3));
      node.setAttribute("data-number", values[i] ?? "");
    });
  };
  const markSelected = () => {
    const chosen = cells[at()[0]][at()[1]];
    for (const node of cells.flat()) {
      node.setAttribute("aria-selected", node === chosen);
      node.tabIndex = node === chosen ? 0 : -1;
    }
  };
  follow(model, ["metric"], fillCells);
  follow(model, ["selected"], markSelected);
  return element("div", { class: "nmu-frame" }, table);
}

/** The metrics with their intervals, one column a module. */
function metricsTable(estimates, shown) {
  const notes = [];
  const entry = (metric, [value, low, high, note], i) => {
    const { detail } = METRICS[metric];
    const data = { "data-value": `${metric}-${i}`, "data-number": value, "data-low": low, "data-high": high };
    if (value === null) return element("td", data, "–");
    if (note && !notes.includes(note)) notes.push(note);
    const sign = note ? `\u00a0${SIGNS[notes.indexOf(note)]}` : "";
    const interval = element("span", { class: "nmu-together" }, `[${detail(low)}, ${detail(high)}]${sign}`);
    return element("td", data, `${detail(value)} `, interval);
  };
  const swatch = (i) => {
    const stroke = line([[0, 4], [26, 4]], { class: `nmu-line-${i + 1}` });
    return svg("svg", { viewBox: "0 0 26 8", width: 26, "aria-hidden": "true" }, stroke);
  };
  const heads = shown.map((module, i) => element("th", { scope: "col" }, `${module} `, swatch(i)));
  const rows = Object.entries(METRICS).map(([metric, { name }]) => {
    const head = element("th", { scope: "row" }, metric === "solved_at" ? `${name} (step)` : name);
    return element("tr", {}, head, ...estimates.map((estimate, i) => entry(metric, estimate[metric], i)));
  });
  const table = element("table", { class: "nmu-metrics" }, element("tr", {}, element("td"), ...heads), ...rows);
  const remarks = ["In brackets: 95 % interval.", ...notes.map((note, i) => `${SIGNS[i]} ${note}.`)];
  return element("div", { class: "nmu-frame" }, table, element("p", { class: "nmu-hint" }, remarks.join(" ")));
}

/** One error over the steps: the median of the runs, and a band from the 10 % to the 90 % quantile. */
function errorPlot(model, error, range, shown) {
  const steps = model.get("steps");
  const curves = model.get("curves");
  const every = Object.values(curves).flatMap((module) => Object.values(module[range]).flat(2));
  const infinite = every.includes(null);
  const top = Math.ceil(Math.max(0, ...every)) + (infinite ? 3 : 1);
  const gap = top - ZERO > 30 ? 10 : 5;
  const highest = infinite ? top - 2 : top;
  const powers = Array.from({ length: 20 }, (_, i) => (i - 3) * gap).filter((p) => p > ZERO + 1 && p < highest);
  const last = steps.at(-1);
  const drawn = shown.map((module) =>
    curves[module][range][error].map((row) => steps.map((_, i) => row[Math.min(i, row.length - 1)])),
  );
  const words = drawn.map(([low, middle, high], i) => {
    const [first, from, median, to] = [middle[0], low.at(-1), middle.at(-1), high.at(-1)].map(errorText);
    return `${shown[i]}: median ${first} before training, at the end ${median} [10 to 90 %: ${from} to ${to}]`;
  });
  const { root, sx, sy, area } = plot({
    height: 190,
    x: {
      domain: [0, last],
      ticks: [0, 1, 2, 3, 4, 5].map((i) => [(i * last) / 5, String((i * last) / 5000)]),
      label: "step, in thousands",
    },
    y: {
      domain: [ZERO, top],
      ticks: [[ZERO, "0"], ...powers.map((p) => [p, tenTo(p)]), ...(infinite ? [[top, "∞"]] : [])],
      label: "",
    },
    label: `${ERRORS[error]} over ${whole(last)} steps, logarithmic scale. ${words.join(". ")}.`,
  });
  const points = (row) => row.map((value, i) => [sx(steps[i]), sy(value ?? top)]);
  drawn.forEach(([low, , high], i) => {
    area.append(line([...points(low), ...points(high).reverse()], { class: `nmu-band nmu-band-${i + 1}` }));
  });
  drawn.forEach(([, middle], i) => {
    area.append(line(points(middle), { class: `nmu-line-${i + 1}`, "data-curve": `${error}-${i}` }));
  });
  if (error === "extrapolation_error") {
    const threshold = model.get("threshold");
    const y = sy(Math.log10(threshold));
    const place = { x: sx(last) - 2, y: y - 4, "text-anchor": "end", class: "nmu-halo" };
    area.append(
      line([[sx(0), y], [sx(last), y]], { class: "nmu-threshold" }),
      svg("text", place, `solved below ${figures(threshold)}`),
    );
  }
  return element("div", {}, element("p", { class: "nmu-hint" }, ERRORS[error]), root);
}

function render({ model: shared, el }) {
  const model = watched(shared);
  const [modules, ranges] = [model.get("modules"), model.get("ranges")];
  let hovered = null;
  const detail = element("div");
  const words = summary();

  const draw = () => {
    const [module, range] = hovered ? [modules[hovered[1]], ranges[hovered[0]]] : model.get("selected");
    const pinned = model.get("pinned");
    const shown = pinned === null || pinned === module ? [module] : [module, pinned];
    const estimates = shown.map((name) => model.get("estimates")[name][range]);
    const outside = model.get("extrapolation_ranges")[ranges.indexOf(range)];
    const outcomes = shown.map((name, i) => `${name} ${estimates[i].solved} of ${estimates[i].runs}`);
    words.setAttribute("aria-live", hovered ? "off" : "polite");
    const place = `Trained on ${minus(range)}, tested on ${minus(outside)}.`;
    words.textContent = `${place} Runs solved: ${outcomes.join(", ")}.`;
    const plots = Object.keys(ERRORS).map((error) => errorPlot(model, error, range, shown));
    detail.replaceChildren(
      metricsTable(estimates, shown),
      element("p", { class: "nmu-hint" }, "Errors while training: median of the runs, and a band from 10 to 90 %."),
      element("div", { class: "nmu-row" }, ...plots),
    );
  };
  const select = (row, column) => set(model, "selected", [modules[column], ranges[row]]);
  const preview = (place) => {
    hovered = place;
    draw();
  };
  const table = grid(model, select, preview);
  const metrics = Object.entries(METRICS).map(([metric, { name, unit }]) => [metric, name + unit]);
  const others = [[null, "nothing"], ...modules.map((module) => [module, module])];
  const controls = element(
    "div",
    { class: "nmu-controls" },
    choice(model, "metric", { label: "Show", options: metrics }),
    choice(model, "pinned", { label: "Compare with", options: others }),
  );
  const hint = element("p", { class: "nmu-hint" }, "More colour is better; – stands where no run is solved.");
  explorable(el, "The benchmark: modules on training ranges", controls, table, hint, words, detail);

  follow(model, ["selected", "pinned"], () => preview(null));
  return model.end;
}

export default { render };
