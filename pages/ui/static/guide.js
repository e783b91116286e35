// The guide of a first visit: closed once, it stays closed in this browser. Nothing is told to the server.

const KEY = "slmopt.guide";
const root = document.documentElement;

function closedBefore() {
  try {
    return localStorage.getItem(KEY) === "closed";
  } catch {
    // A browser that keeps nothing shows the guide again on its next visit.
    return false;
  }
}

function turn(state) {
  root.dataset.slmGuide = state;
  try {
    localStorage.setItem(KEY, state);
  } catch {
    return;
  }
}

export default function ({ parentElement, data }) {
  if (!root.dataset.slmGuide) root.dataset.slmGuide = closedBefore() ? "closed" : "open";
  if (parentElement.querySelector("button")) return;
  const button = document.createElement("button");
  const again = data === "again";
  button.type = "button";
  button.className = again ? "slm-guide-again" : "slm-guide-close";
  button.textContent = again ? "Show the guide" : "✕";
  if (!again) button.setAttribute("aria-label", "Close the guide");
  button.addEventListener("click", () => {
    turn(again ? "open" : "closed");
    if (again) document.querySelector(".st-key-slm_guide")?.scrollIntoView({ block: "center" });
  });
  parentElement.append(button);
}
