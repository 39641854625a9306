// Elements, built without a parser: text of samples only ever becomes text.

const SHOWN = { attributes: new Set(["class", "id", "role", "type", "name", "value", "for", "tabindex", "title", "dir", "scope", "hidden"]) };

// make("p", {class: "x", "aria-label": "y"}, "text", node, null): null children are left out.
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (!SHOWN.attributes.has(name) && !/^(aria|data)-[a-z-]+$/.test(name)) {
      throw new Error(`attribute ${name} is not one this page sets`);
    }
    if (value !== null && value !== undefined && value !== false) {
      element.setAttribute(name, value === true ? "" : String(value));
    }
  }
  for (const child of children) {
    if (child !== null && child !== undefined) element.append(child);
  }
  return element;
}

// Text of samples and judges: its own direction, whatever surrounds it.
function quoted(tag, className, text) {
  return make(tag, { class: className, dir: "auto" }, text);
}

function byId(id) {
  return document.getElementById(id);
}

function number(value) {
  return value.toLocaleString("en-US");
}

function counted(count, thing) {
  return `${number(count)} ${thing}${count === 1 ? "" : "s"}`;
}

// Tells a screen reader, after typing has paused: a count for every letter would be noise.
const say = (() => {
  let waiting = 0;
  return (text) => {
    clearTimeout(waiting);
    waiting = setTimeout(() => { byId("said").textContent = text; }, 300);
  };
})();

// Runs at most once per frame, however often it is asked to.
function perFrame(work) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => { asked = false; work(); });
  };
}

// What the reader looks at stays where it is while the layout around it changes.
function keepInView(anchor, work) {
  const before = anchor.getBoundingClientRect().top;
  work();
  scrollBy(0, anchor.getBoundingClientRect().top - before);
}

const printing = { now: false };
const onPrint = [];
addEventListener("beforeprint", () => { printing.now = true; onPrint.forEach((work) => work()); });
addEventListener("afterprint", () => { printing.now = false; onPrint.forEach((work) => work()); });

function setUpTheme() {
  const button = byId("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  try {
    chosen = localStorage.getItem("grouse-theme");
  } catch { /* storage is closed to files in some browsers: the choice then lasts as long as the page */ }
  const show = () => {
    const dark = chosen ? chosen === "dark" : system.matches;
    if (chosen) document.documentElement.dataset.theme = chosen;
    button.setAttribute("aria-pressed", String(dark));
  };
  button.addEventListener("click", () => {
    chosen = button.getAttribute("aria-pressed") === "true" ? "light" : "dark";
    try {
      localStorage.setItem("grouse-theme", chosen);
    } catch { /* as above */ }
    show();
  });
  system.addEventListener("change", show);
  show();
}
