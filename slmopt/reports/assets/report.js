// Draws the report's figures: their data lies in the page beside them, and nothing is asked of any other place.
"use strict";
const data = JSON.parse(document.getElementById("figures").textContent);
const dark = matchMedia("(prefers-color-scheme: dark)");
const COLOUR = /#[0-9A-F]{6}(?=[0-9A-F]{2}"|")/gi;
// Drawn as wide as on a screen; the style sheet shrinks that to A4.
const PRINT_WIDTH = 900;
const NARROW = 440;

// Room beside the plots is cut for a narrow face; where the system's is wider, so is the room.
const SAMPLE = "Sequences at once, with cache reads";
const SAMPLE_EM = 15.6;
const WIDEST = 1.3;

function stretch() {
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = `100px ${getComputedStyle(document.body).fontFamily}`;
  return Math.min(WIDEST, Math.max(1, pen.measureText(SAMPLE).width / (100 * SAMPLE_EM)));
}

// The figures hold the light theme's values; the dark theme's stand in for them one by one.
function coloured(text, isDark) {
  return JSON.parse(isDark ? text.replace(COLOUR, (found) => data.dark[found.toUpperCase()] ?? found) : text);
}

function draw(place, printing) {
  const figure = coloured(data.figures[place.dataset.figure], dark.matches && !printing);
  const { layout } = figure;
  const width = printing ? PRINT_WIDTH : Math.floor(place.clientWidth);
  if (width === 0) return;
  if (width < NARROW && layout.margin.l <= 60) layout.margin.l = Math.min(layout.margin.l, 44);
  for (const side of ["l", "r"]) if (layout.margin[side] > 30) layout.margin[side] *= wide;
  const title = layout.annotations?.find((note) => note.name === "y title");
  if (title) title.xshift = -layout.margin.l - 2;
  layout.width = width;
  layout.height = Number(place.dataset.height);
  layout.dragmode = matchMedia("(pointer: coarse)").matches ? false : (layout.dragmode ?? "zoom");
  Plotly.react(place, figure.data, layout, {
    displaylogo: false,
    modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
    toImageButtonOptions: { format: "svg", filename: place.dataset.figure },
  });
  place.dataset.drawn = printing ? "print" : "screen";
}

const wide = stretch();
const places = [...document.querySelectorAll(".plot")];
let printing = false;
const all = () => places.forEach((place) => draw(place, printing));
all();
// A theme or a width that changes on the way to paper must not bring the screen's figures back.
dark.addEventListener("change", all);
for (const [event, begins] of [["beforeprint", true], ["afterprint", false]]) {
  addEventListener(event, () => {
    printing = begins;
    all();
  });
}
let pending;
addEventListener("resize", () => {
  clearTimeout(pending);
  pending = setTimeout(all, 150);
});
