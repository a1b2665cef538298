// Runs the explorables on a page without a kernel: reads the state that the notebook left on the page, and
// gives each anywidget the model that its front-end module asks for. Asks no other host for anything.
(() => {
  const MIME = "application/vnd.jupyter.widget-";

  class Model {
    #state;
    #listeners = new Map();
    constructor(state) {
      this.#state = { ...state };
    }
    get(name) {
      return this.#state[name];
    }
    set(name, value) {
      if (JSON.stringify(this.#state[name]) === JSON.stringify(value)) return;
      this.#state[name] = value;
      [...(this.#listeners.get(`change:${name}`) ?? [])].forEach((listener) => listener());
    }
    on(event, listener) {
      this.#listeners.set(event, [...(this.#listeners.get(event) ?? []), listener]);
    }
    off(event, listener) {
      this.#listeners.set(event, (this.#listeners.get(event) ?? []).filter((other) => other !== listener));
    }
    save_changes() {}
  }

  /** The static figure right after a cell; the explorable takes the place of its image. */
  function figureAfter(cell) {
    const next = cell?.nextElementSibling;
    return next?.matches("figure.explorable") ? next : null;
  }

  async function show(script, states, models) {
    const id = JSON.parse(script.textContent).model_id;
    const state = states[id]?.state;
    if (!state?._esm) return;
    models[id] ??= new Model(state);
    const url = URL.createObjectURL(new Blob([state._esm], { type: "text/javascript" }));
    const { render } = (await import(url)).default;
    URL.revokeObjectURL(url);
    const style = document.createElement("style");
    style.textContent = state._css;
    document.head.append(style);
    const el = document.createElement("div");
    const figure = figureAfter(script.closest(".cell"));
    if (figure) figure.prepend(el);
    else script.after(el);
    await render({ model: models[id], el });
    figure?.classList.add("live");
  }

  document.addEventListener("DOMContentLoaded", () => {
    const saved = document.querySelector(`script[type="${MIME}state+json"]`);
    if (!saved) return;
    const [states, models] = [JSON.parse(saved.textContent).state, {}];
    for (const script of document.querySelectorAll(`script[type="${MIME}view+json"]`)) show(script, states, models);
  });
})();
