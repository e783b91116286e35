// One figure of the dashboard. Streamlit calls the default export for every new figure and every theme change, with
// the same element as long as the figure's key lives; the View behind it keeps Plotly's chart and the reader's zoom.

const views = new WeakMap();
const here = new URL("./", import.meta.url);
const SLOT = /#0000(0[1-9]|1[0-3])([0-9A-Fa-f]{2})?(?![0-9A-Fa-f])/g;
const STILL = { displayModeBar: false, doubleClick: false, responsive: false, showTips: false };
// An open square, circle and a filled diamond, each with its slot.
const MARKS = {
  ceiling: [0, '<rect x="1" y="1" width="9" height="9" fill="none" stroke-width="1.6"/>'],
  estimate: [1, '<circle cx="5.5" cy="5.5" r="4.6" fill="none" stroke-width="1.6"/>'],
  measured: [2, '<path d="M5.5 0 11 5.5 5.5 11 0 5.5Z" stroke="none"/>'],
};

// How long figures out of sight wait after one on the screen was drawn: another change may follow.
const OUT_OF_SIGHT_MS = 120;

const failed = new Set();
const shown = new Map();
// Those out of sight whose drawing is behind.
const behind = new Set();
let catchUp;
// When a figure on the screen was last drawn; those out of sight leave that time to it.
let seenAt = 0;
let library = null;
let styles = null;

function loadLibrary(file) {
  if (window.Plotly?.react) return Promise.resolve(window.Plotly);
  library ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = new URL(file, here);
    script.onload = () => (window.Plotly ? resolve(window.Plotly) : reject(new Error("no Plotly in the script")));
    script.onerror = () => reject(new Error(`nothing to load at ${script.src}`));
    document.head.append(script);
  }).catch((error) => {
    library = null;
    throw error;
  });
  return library;
}

function loadStyles(version) {
  styles ??= new Promise((resolve) => {
    const link = document.createElement("link");
    link.rel = "stylesheet";
    link.href = new URL(`chart.css?v=${version}`, here);
    link.onload = link.onerror = resolve;
    document.head.append(link);
  });
  return styles;
}

function make(tag, className, parent) {
  const element = document.createElement(tag);
  element.className = className;
  parent?.append(element);
  return element;
}

// Only **bold** is read in titles; everything else stays text.
function write(element, text) {
  element.replaceChildren(
    ...text.split("**").map((part, index) => {
      if (index % 2 === 0) return document.createTextNode(part);
      const strong = document.createElement("strong");
      strong.textContent = part;
      return strong;
    }),
  );
}

const plain = (text) => text.replaceAll("**", "");

// "margin.r", "annotations[ridge].text", "data[0].visible": list items are found by name or by index;
// "annotations[wide *].visible" is of all whose names begin so.
function setPath(figure, path, value) {
  const many = path.match(/^(\w+)\[([^\]]+)\*\]\.(\w+)$/);
  if (many) {
    const [, list, start, property] = many;
    for (const item of figure.layout[list] ?? []) if (item.name?.startsWith(start)) item[property] = value;
    return;
  }
  const steps = path.match(/[^.[\]]+/g);
  let target = steps[0] === "data" ? figure : figure.layout;
  steps.forEach((step, index) => {
    let name = step;
    if (Array.isArray(target) && !/^\d+$/.test(step)) name = target.findIndex((item) => item.name === step);
    if (target[name] === undefined && index < steps.length - 1) {
      if (Array.isArray(target)) return;
      target[name] = {};
    }
    if (index === steps.length - 1) target[name] = value;
    else target = target[name];
  });
}

// At most four ticks: every second, third … of those asked for, both ends where that comes out even.
function thin(axis) {
  if (axis.tickvals) {
    const last = axis.tickvals.length - 1;
    if (last < 4) return;
    const even = [2, 3, 4, 5, 6].find((step) => last % step === 0 && last / step < 4);
    const kept = (_, index) => index % (even ?? Math.ceil((last + 1) / 4)) === 0;
    axis.ticktext = axis.ticktext?.filter(kept);
    axis.tickvals = axis.tickvals.filter(kept);
  } else if (axis.type === "log" && axis.dtick === 1 && axis.range) {
    const ends = [Math.min(...axis.range), Math.max(...axis.range)];
    axis.dtick = Math.max(1, Math.ceil((Math.floor(ends[1]) - Math.ceil(ends[0]) + 1) / 4));
  } else {
    delete axis.dtick;
    axis.nticks = 5;
  }
}

function toPhone(figure) {
  const { layout } = figure;
  for (const name of Object.keys(layout)) if (/^xaxis\d*$/.test(name)) thin(layout[name]);
  // Wider margins hold names of bars or of lines, which only their figure can shorten.
  if (layout.margin.l <= 60) layout.margin.l = Math.min(layout.margin.l, 44);
  for (const [path, value] of Object.entries(layout.meta?.phone ?? {})) setPath(figure, path, value);
}

// Type, marks and the room around them, larger; what is in data units stays.
const GROW = new Set(["size", "xshift", "yshift", "standoff", "ticklen"]);

function enlarge(value, scale, parent = "") {
  for (const [name, part] of Object.entries(value)) {
    const grows = GROW.has(name) || parent === "margin" || (name === "width" && parent === "line");
    if (typeof part === "number") {
      if (grows) value[name] = part * scale;
    } else if (grows && Array.isArray(part)) {
      value[name] = part.map((size) => (typeof size === "number" ? size * scale : size));
    } else if (part && typeof part === "object" && !Array.isArray(part)) {
      enlarge(part, scale, name);
    } else if (Array.isArray(part) && part[0] && typeof part[0] === "object") {
      part.forEach((item) => enlarge(item, scale, name));
    }
  }
}

function parse(text, values) {
  const content = JSON.parse(text.replace(SLOT, (_, number, alpha) => values[Number(number) - 1] + (alpha ?? "")));
  const { data, layout } = content.figure;
  for (const note of layout.annotations ?? []) note.showarrow = false;
  // An array that several traces share was sent once.
  for (const trace of data) {
    for (const name of ["x", "y", "customdata"]) if (trace[name]?.as >= 0) trace[name] = data[trace[name].as][name];
  }
  return content;
}

class View {
  constructor(parent, options) {
    this.options = options;
    this.parent = parent;
    this.root = make("div", "slm-chart", parent);
    this.head = make("div", "slm-head", this.root);
    this.title = make("h4", "slm-title", this.head);
    // h2 is the answer; the level between keeps the outline whole for those who hear it.
    this.title.setAttribute("aria-level", "3");
    this.about = make("span", "slm-help slm-about", this.head);
    this.about.tabIndex = 0;
    this.about.setAttribute("role", "note");
    this.about.textContent = "?";
    this.key = make("div", "slm-key", this.head);
    this.figure = make("figure", "slm-figure", this.root);
    this.picture = make("div", "slm-picture", this.figure);
    this.picture.setAttribute("role", "img");
    this.plot = make("div", "slm-plot", this.picture);
    this.tools = make("div", "slm-tools", this.figure);
    this.tool("Reset zoom", () => this.reset(), "slm-reset");
    this.tool("SVG", () => this.download("svg"));
    this.tool("PNG", () => this.download("png"));
    this.resets = 0;
    this.observer = new ResizeObserver(() => this.schedule());
    this.observer.observe(this.root);
    // Until it is known, a figure counts as seen.
    this.seen = true;
    this.sight = new IntersectionObserver(([entry]) => {
      this.seen = entry.isIntersecting;
      if (this.seen && behind.delete(this)) this.draw();
    });
    this.sight.observe(this.root);
  }

  tool(label, action, className = "") {
    const button = make("button", `slm-button ${className}`, this.tools);
    button.type = "button";
    button.textContent = label;
    if (label.length < 4) button.setAttribute("aria-label", `Download the figure as ${label}`);
    button.onclick = action;
  }

  // The present theme's values, in the order of the slots.
  colours() {
    const style = getComputedStyle(this.parent);
    const read = (name) => style.getPropertyValue(name).trim();
    return [
      ...read("--st-chart-categorical-colors").split(","),
      read("--st-background-color"),
      read("--st-border-color"),
      read("--st-secondary-background-color"),
    ];
  }

  // What the server sent. While a thumb moves, its answers to stops that were passed are not drawn any more.
  update(text) {
    this.sent = text;
    if (this.ahead && text !== this.text) return;
    this.ahead = false;
    this.take(text);
  }

  // A figure that the server computed for where the thumb is now.
  preview(text) {
    this.ahead = true;
    this.take(text);
  }

  release() {
    this.ahead = false;
    this.take(this.sent);
  }

  take(text) {
    const colours = this.colours();
    if (text === this.text && colours.join() === this.values?.join()) return;
    const first = this.text === undefined;
    this.text = text;
    this.values = colours;
    this.content = JSON.parse(text);
    shown.set(this.content.name, this);
    write(this.title, this.content.title);
    this.about.hidden = !this.content.about;
    this.about.setAttribute("aria-label", this.content.about);
    this.about.dataset.help = this.content.about;
    this.picture.setAttribute("aria-label", this.content.alt);
    this.drawKey();
    if (first) this.plot.style.height = `${this.height()}px`;
    this.width = undefined;
    // At once and not in the next frame: behind this figure the browser has the panel to lay out.
    if (this.seen) {
      this.draw();
      seenAt = performance.now();
    } else drawLater(this);
  }

  drawKey() {
    this.key.hidden = this.content.kinds.length === 0;
    this.key.innerHTML = this.content.kinds
      .map((kind) => {
        const [slot, shape] = MARKS[kind];
        const colour = this.values[slot];
        return `<span><svg viewBox="0 0 11 11" aria-hidden="true" fill="${colour}" stroke="${colour}">${shape}</svg>${kind}</span>`;
      })
      .join("");
  }

  narrow() {
    return this.root.clientWidth < this.content.phoneBelow;
  }

  height() {
    const { height, phoneHeight } = this.content;
    return this.narrow() ? Math.min(height, phoneHeight) : height;
  }

  // One drawing a frame, however many reasons there were.
  schedule() {
    if (this.pending || this.content === undefined) return;
    this.pending = requestAnimationFrame(() => {
      this.pending = undefined;
      this.draw();
    });
  }

  draw() {
    const width = Math.floor(this.root.clientWidth);
    if (!this.Plotly || width === 0 || width === this.width) return;
    this.width = width;
    try {
      this.show(parse(this.text, this.values).figure);
      this.recover();
    } catch (error) {
      this.fail(error);
    }
  }

  // Any figure of the payload's form, drawn over the last one. A control that holds figures of its own and moves
  // through them without the server has only to call this.
  show(figure) {
    const { layout } = figure;
    if (this.narrow()) toPhone(figure);
    const scale = Number(getComputedStyle(this.root).getPropertyValue("--slm-scale")) || 1;
    if (scale !== 1) {
      layout.font = { size: 12, ...layout.font };
      enlarge(figure, scale);
    }
    const title = layout.annotations?.find((note) => note.name === "y title");
    if (title) title.xshift = -layout.margin.l - 2;
    layout.width = this.width;
    layout.height = Math.round(this.height() * (1 + 0.8 * (scale - 1)));
    layout.font = { ...layout.font, family: getComputedStyle(this.root).fontFamily };
    layout.hoverlabel = { ...layout.hoverlabel, font: layout.font };
    layout.uirevision = `${layout.uirevision ?? "kept"} ${this.resets}`;
    // Under a finger a drag scrolls the page.
    layout.dragmode = matchMedia("(pointer: coarse)").matches ? false : (layout.dragmode ?? "zoom");
    this.plot.style.height = `${layout.height}px`;
    this.Plotly.react(this.plot, figure.data, layout, STILL);
    this.listen();
    this.root.dataset.drawn = String(Number(this.root.dataset.drawn ?? 0) + 1);
  }

  listen() {
    if (this.listening) return;
    this.listening = true;
    this.plot.on("plotly_relayout", (change) => {
      if (Object.keys(change).some((name) => /axis\d*\.range/.test(name))) this.root.classList.add("slm-zoomed");
    });
    this.plot.on("plotly_doubleclick", () => this.reset());
  }

  reset() {
    this.resets += 1;
    this.root.classList.remove("slm-zoomed");
    this.width = undefined;
    this.draw();
  }

  // What leaves the browser is light, with its title, whatever the theme on screen.
  download(format) {
    const { figure, title, name } = parse(this.text, this.options.light);
    const { layout } = figure;
    const height = this.content.height + 36;
    layout.margin.t += 36;
    layout.margin.l += 12;
    layout.title = { text: `<b>${plain(title)}</b>`, x: 0, xref: "container", y: 1, yref: "container", yanchor: "top" };
    layout.title.pad = { t: 10, l: 12 };
    layout.title.font = { size: 16 };
    layout.paper_bgcolor = layout.plot_bgcolor = this.options.light[10];
    layout.font = { ...layout.font, family: "'Source Sans 3', 'Source Sans Pro', 'Source Sans', sans-serif" };
    const size = { width: Math.max(this.width, 760), height };
    Object.assign(layout, size);
    this.Plotly.downloadImage({ data: figure.data, layout }, { format, filename: name, scale: 2, ...size });
  }

  // Never an empty place: what happened, what the figure shows, and a way on.
  fail(error) {
    console.warn(error);
    this.recover();
    const why = this.Plotly ? "" : ": the chart library did not load from this server";
    const box = make("div", "slm-message", this.picture);
    box.setAttribute("role", "alert");
    for (const line of [`This figure could not be drawn${why}.`, this.content.alt]) make("p", "", box).textContent = line;
    const again = make("button", "slm-button", box);
    again.type = "button";
    again.textContent = "Try again";
    again.onclick = () => [...failed].forEach((view) => view.start());
    failed.add(this);
    this.plot.hidden = true;
    this.picture.removeAttribute("role");
  }

  recover() {
    if (!failed.delete(this)) return;
    this.picture.querySelector(".slm-message").remove();
    this.picture.setAttribute("role", "img");
    this.plot.hidden = false;
  }

  async start() {
    try {
      this.Plotly = await loadLibrary(this.options.library);
    } catch (error) {
      this.fail(error);
      return;
    }
    this.recover();
    this.width = undefined;
    this.draw();
  }

  close() {
    failed.delete(this);
    behind.delete(this);
    if (shown.get(this.content.name) === this) shown.delete(this.content.name);
    this.observer.disconnect();
    this.sight.disconnect();
    cancelAnimationFrame(this.pending);
    this.Plotly?.purge(this.plot);
    this.root.remove();
  }
}

// What is seen goes first; the others follow one by one, so that a key pressed meanwhile waits for one at most.
function drawLater(view) {
  behind.add(view);
  clearTimeout(catchUp);
  catchUp = setTimeout(drawNext, Math.max(0, seenAt + OUT_OF_SIGHT_MS - performance.now()));
}

function drawNext() {
  const [view] = behind;
  if (!view) return;
  behind.delete(view);
  view.draw();
  catchUp = setTimeout(drawNext);
}

let previewed = {};
let frame;

// Figures by name, drawn with the next frame: a thumb may pass several stops within one.
export function preview(figures) {
  previewed = figures;
  frame ??= requestAnimationFrame(() => {
    frame = undefined;
    for (const [name, text] of Object.entries(previewed)) shown.get(name)?.preview(text);
  });
}

// Where the thumb is now nothing was foreseen: the server's next figures are drawn.
export function giveWay() {
  for (const view of shown.values()) view.ahead = false;
}

// Whatever was previewed, show what the server sent last.
export function release() {
  cancelAnimationFrame(frame);
  frame = undefined;
  for (const view of shown.values()) view.release();
}

// A figure is as wide on paper as on screen, and the page's style makes both fit.
addEventListener("beforeprint", () => {
  for (const view of behind) view.draw();
  behind.clear();
  const page = document.querySelector(".st-key-slm_page");
  if (page) document.documentElement.style.setProperty("--slm-print-width", Math.max(page.clientWidth, 640));
});

export default async function (component, options) {
  const { data, parentElement } = component;
  const text = typeof data === "string" ? data : new TextDecoder().decode(data);
  const known = views.get(parentElement);
  const view = known ?? new View(parentElement, options);
  // Streamlit also runs what an overtaken call returned, so only the latest call may close the view.
  const turn = (view.turn = Symbol("turn"));
  views.set(parentElement, view);
  const styled = loadStyles(options.version);
  view.update(text);
  if (!known) {
    await styled;
    await view.start();
  }
  return () => {
    if (view.turn !== turn) return;
    views.delete(parentElement);
    view.close();
  };
}
