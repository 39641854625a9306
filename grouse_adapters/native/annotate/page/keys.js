// Keys without Ctrl or Alt, and the help that lists them. Starts the page.

const KEYS = [
  ["j", "next statement", () => activate(active + 1, { focus: true })],
  ["k", "previous statement", () => activate(active - 1, { focus: true })],
  ["r", "relevant: yes, no", () => toggleLabel("relevant")],
  ["f", "faithful: yes, no", () => toggleLabel("faithful")],
  ["c", "citation right: yes, no", () => toggleLabel("citation_right")],
  ["a", "yes to all three", allYes],
  ["e", "edit the statement", () => edit(active)],
  ["s", "split the statement", () => edit(active, { split: true })],
  ["m", "merge it with the next", () => merge(active)],
  ["x", "delete it", () => remove(active)],
  ["i", "add a statement after it", () => addStatement()],
  ["u", "undo", undo],
  ["0", "nothing to rate", toggleNothing],
  ["d", "done, next answer", done],
  ["n", "skip", skipTest],
  ["b", "back", back],
];

const help = byId("help");
let keysOn = true;
try {
  keysOn = localStorage.getItem("grouse-annotate-keys") !== "off";
} catch { /* then they are on */ }

function openHelp() {
  if (!help.open) help.showModal();
}

document.addEventListener("keydown", (event) => {
  if (!keysOn || event.ctrlKey || event.metaKey || event.altKey || event.isComposing || help.open) return;
  if (event.target.closest("textarea, input[type='text'], select")) return;
  if (event.key === "?") {
    event.preventDefault();
    openHelp();
    return;
  }
  if (byId("work").hidden || desk.loading || event.repeat && !"jk".includes(event.key)) return;
  const found = KEYS.find(([key]) => key === event.key.toLowerCase());
  if (!found) return;
  event.preventDefault();
  found[2]();
});

byId("help-button").addEventListener("click", openHelp);
byId("help-close").addEventListener("click", () => help.close());
byId("help-labels").append(...LABELS.map(({ title, asks }) => make("div", null, make("dt", null, title), make("dd", null, asks))));
byId("help-keys").append(...[...KEYS, ["?", "this help"]].map(([key, means]) => make("div", null, make("dt", null, make("kbd", null, key)), make("dd", null, means))));
byId("keys-on").checked = keysOn;
byId("keys-on").addEventListener("change", (event) => {
  keysOn = event.target.checked;
  try {
    localStorage.setItem("grouse-annotate-keys", keysOn ? "on" : "off");
  } catch { /* it then lasts as long as the page */ }
});

setUpTheme();
const before = sessionStorage.getItem("grouse-annotate-name");
if (before) {
  begin(before);
} else {
  showOnly("login");
  byId("name").focus();
}
