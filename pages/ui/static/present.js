// Keys of a presentation. What a control needs itself, it keeps: arrows in fields and on sliders.

const KEYS = { ArrowRight: "on", PageDown: "on", ArrowLeft: "back", PageUp: "back" };
const OWN = "input, textarea, select, [contenteditable], [role=combobox], [role=listbox], [role=grid], canvas";
const listeners = new WeakMap();

export default function (component) {
  const { parentElement, setTriggerValue } = component;
  listeners.get(parentElement)?.();
  const onKey = (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Escape") {
      setTriggerValue("leave", true);
      return;
    }
    const way = KEYS[event.key];
    // What a presenter's remote sends turns the page wherever the focus is.
    const anywhere = event.key.startsWith("Page") && !event.target.matches?.("textarea");
    if (!way || (!anywhere && event.target.closest?.(OWN))) return;
    event.preventDefault();
    document.querySelector(`.st-key-slm_turn_${way} a`)?.click();
  };
  addEventListener("keydown", onKey, { capture: true });
  const stop = () => removeEventListener("keydown", onKey, { capture: true });
  listeners.set(parentElement, stop);
  return stop;
}
