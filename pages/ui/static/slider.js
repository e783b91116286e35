// A range input over the stops of one field. While it has the focus or the pointer it asks the server for the page's
// figures at its other stops, nearest first; they are drawn as the thumb passes. Letting go tells the server.

const sliders = new WeakMap();
const here = new URL("./", import.meta.url);
// How many stops are asked for at once: few, so that the nearest are there soon.
const AT_ONCE = 3;
const PAUSE_AFTER_FAILURE_MS = 10_000;
// How long after the server's answer to the latest move its figures are certainly here.
const ANSWERED_MS = 250;

let charts = null;
let styles = null;

function loadStyles(version) {
  styles ??= new Promise((resolve) => {
    const link = document.createElement("link");
    link.rel = "stylesheet";
    link.href = new URL(`slider.css?v=${version}`, here);
    link.onload = link.onerror = resolve;
    document.head.append(link);
  });
  return styles;
}

class Slider {
  constructor(parent, options) {
    this.options = options;
    this.root = document.createElement("div");
    this.root.className = "slm-slider";
    this.head = document.createElement("label");
    this.head.className = "slm-slider-head";
    this.name = document.createElement("span");
    this.output = document.createElement("output");
    this.input = document.createElement("input");
    this.input.type = "range";
    this.input.min = 0;
    this.input.step = 1;
    this.head.append(this.name, this.output);
    this.root.append(this.head, this.input);
    parent.append(this.root);
    this.foreseen = new Map();
    this.input.addEventListener("input", () => this.moved());
    this.input.addEventListener("change", () => this.letGo());
    for (const begins of ["focus", "pointerenter"]) this.input.addEventListener(begins, () => this.ask());
  }

  update(text, tell) {
    this.tell = tell;
    if (text === this.text) return;
    this.text = text;
    const data = JSON.parse(text);
    this.keepOnly(data.ahead);
    this.values = data.values;
    // An answer to an earlier move must not pull back the thumb that has moved on.
    const overtaken = this.stamp !== undefined && data.answered !== this.stamp;
    if (!overtaken) this.stand(data);
    if (this.stamp !== undefined && !overtaken) {
      this.stamp = undefined;
      this.released = setTimeout(() => charts.release(), ANSWERED_MS);
    }
    this.ask();
  }

  stand(data) {
    this.texts = data.texts;
    this.input.max = data.texts.length - 1;
    this.input.value = data.at;
    this.head.hidden = !data.labelled;
    this.name.textContent = data.label;
    this.input.setAttribute("aria-label", data.label);
    this.show();
  }

  show() {
    const at = Number(this.input.value);
    this.output.textContent = this.texts[at];
    this.input.setAttribute("aria-valuetext", this.texts[at]);
    this.input.style.setProperty("--slm-part", `${(100 * at) / Math.max(1, this.texts.length - 1)}%`);
  }

  // Figures are those of one page and one scenario but for this field.
  keepOnly(ahead) {
    const base = JSON.stringify(ahead);
    this.ahead = ahead;
    if (base === this.base) return;
    this.base = base;
    this.foreseen.clear();
    this.asking?.abort();
    this.asking = undefined;
  }

  moved() {
    this.show();
    clearTimeout(this.released);
    this.live = this.foreseen.get(this.texts[this.input.value]);
    if (this.live) charts.preview(this.live);
    this.ask();
  }

  letGo() {
    if (!this.live) charts.giveWay();
    this.stamp = `${Date.now()} ${Math.random()}`;
    this.tell({ stop: Number(this.input.value), stamp: this.stamp });
  }

  inUse() {
    return document.activeElement === this.input || this.input.matches(":hover");
  }

  async ask() {
    if (!this.ahead || this.asking || !this.inUse() || Date.now() < (this.pausedUntil ?? 0)) return;
    const at = Number(this.input.value);
    const missing = this.texts
      .map((text, index) => ({ text, value: this.values[index], far: Math.abs(index - at) }))
      .filter(({ text, value }) => value !== null && !this.foreseen.has(text))
      .sort((one, other) => one.far - other.far)
      .slice(0, AT_ONCE);
    if (missing.length === 0) return;
    const { base } = this;
    this.asking = new AbortController();
    try {
      const response = await fetch(`${this.options.root}/ahead`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ ...this.ahead, values: missing.map(({ value }) => value) }),
        signal: this.asking.signal,
      });
      if (!response.ok) throw new Error(`figures ahead: ${response.status}`);
      const figures = await response.json();
      if (base !== this.base) return;
      missing.forEach(({ text }, index) => this.foreseen.set(text, figures[index]));
      this.root.dataset.foreseen = this.foreseen.size;
      this.asking = undefined;
    } catch (error) {
      if (error.name === "AbortError") return;
      // Without them the slider still works; the figures then wait for the server.
      console.warn(error);
      this.asking = undefined;
      this.pausedUntil = Date.now() + PAUSE_AFTER_FAILURE_MS;
    }
    this.ask();
  }
}

export default async function (component, options) {
  const { data, parentElement, setStateValue } = component;
  const text = typeof data === "string" ? data : new TextDecoder().decode(data);
  charts ??= await import(new URL(`chart.js?v=${options.version}`, here));
  let slider = sliders.get(parentElement);
  if (!slider) {
    slider = new Slider(parentElement, options);
    sliders.set(parentElement, slider);
    await loadStyles(options.version);
  }
  slider.update(text, (told) => setStateValue("moved", told));
}
