// The part of the address after #: the open sample and the filters, so that a link can be shared.

function readRoute(names) {
  const found = new URLSearchParams(location.hash.slice(1));
  const state = {};
  for (const name of names) state[name] = found.get(name) || "";
  return state;
}

// Opening something makes a step that Back undoes; filtering does not.
function writeRoute(names, state, { step = false } = {}) {
  const words = new URLSearchParams();
  for (const name of names) if (state[name]) words.set(name, state[name]);
  const hash = words.toString();
  if (hash === location.hash.slice(1)) return;
  const address = hash ? `#${hash}` : location.pathname + location.search;
  if (step) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
}

// Radio buttons as chips; returns {set, count}.
function makeChips(host, name, choices, onChange) {
  const parts = new Map();
  for (const [value, label] of choices) {
    const input = make("input", { type: "radio", name, value, id: `${name}-${value || "all"}` });
    const amount = make("span", { class: "chip-count" });
    host.append(input, make("label", { for: input.id }, label, " ", amount));
    input.addEventListener("change", () => onChange(value));
    parts.set(value, { input, amount });
  }
  return {
    set(value) { (parts.get(value) || parts.get("")).input.checked = true; },
    count(value, count) { parts.get(value).amount.textContent = number(count); },
  };
}

function fillSelect(select, choices) {
  for (const [value, label] of choices) select.append(make("option", { value }, label));
}

// "/" goes to the search, Escape empties it first; skip links work although # holds the state.
function setUpKeys(search, onSearch, onPrepare) {
  let waiting = 0;
  search.addEventListener("focus", onPrepare);
  search.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(onSearch, 120);
  });
  search.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && search.value) {
      search.value = "";
      onSearch();
      event.stopPropagation();
      event.preventDefault();
    }
  });
  search.form.addEventListener("submit", (event) => event.preventDefault());
  document.addEventListener("keydown", (event) => {
    const typing = event.target.matches("input:not([type=radio]), select, textarea");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      search.focus();
      search.select();
    }
  });
  document.querySelectorAll("[data-skip]").forEach((link) => {
    link.addEventListener("click", (event) => {
      event.preventDefault();
      const target = byId(link.dataset.skip).querySelector("[tabindex='0']");
      if (target) target.focus();
    });
  });
}
