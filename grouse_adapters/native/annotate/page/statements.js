// The statements of an answer: labels, and cutting them otherwise.

const LABELS = [
  { name: "relevant", title: "Relevant", asks: "Does it answer the question?" },
  { name: "faithful", title: "Faithful", asks: "Does any of the references hold it, cited or not?" },
  { name: "citation_right", title: "Citation right", asks: "Does it cite, and does a cited reference hold it? Without a citation: no." },
];

const list = byId("statements");
let editing = -1;
let active = 0;

function emptyStatement(text = "", citations = []) {
  return { text, citations, relevant: null, faithful: null, citation_right: null };
}

function statementName(index) {
  return `Statement ${index + 1}`;
}

function renderStatements({ focus = false } = {}) {
  const { statements, nothing_to_rate: nothing } = desk.draft;
  active = Math.max(0, Math.min(active, statements.length - 1));
  list.replaceChildren(...statements.map((statement, index) => card(statement, index)));
  list.hidden = nothing || !statements.length;
  byId("none").hidden = !nothing && statements.length > 0;
  byId("none").textContent = nothing
    ? "Marked: nothing to rate."
    : "No statement was found. Add one, or mark that there is nothing to rate.";
  byId("nothing").setAttribute("aria-pressed", String(nothing));
  byId("add").hidden = nothing;
  showActive({ focus });
}

function card(statement, index) {
  const item = make("li", { class: "statement", id: `statement-${index}`, tabindex: -1, "data-index": index, "aria-label": statementName(index) });
  if (index === editing) {
    item.append(editor(statement, index));
    return item;
  }
  item.append(
    make("div", { class: "statement-line" },
      make("span", { class: "statement-number", "aria-hidden": true }, String(index + 1)),
      make("p", { class: "statement-text", dir: "auto" },
        statement.text.trim() ? statement.text : make("span", { class: "minor" }, "No text yet."),
        " ", ...citationButtons(statement.citations))),
    make("div", { class: "labels" }, ...LABELS.map((label) => labelField(statement, index, label))),
    tools(index));
  return item;
}

function citationButtons(citations) {
  return citations.map((cited) => {
    const there = cited >= 1 && cited <= desk.task.references.length;
    const label = there ? `Show reference ${cited}` : `There is no reference ${cited}`;
    const button = make("button", { type: "button", class: there ? "cite" : "cite missing", "aria-label": label, title: label }, `[${cited}]`);
    button.addEventListener("click", () => showReference(cited));
    return button;
  });
}

function labelField(statement, index, label) {
  const name = `statement-${index}-${label.name}`;
  const field = make("fieldset", { class: "label-field" }, make("legend", null, label.title));
  const pair = make("div", { class: "pair" });
  for (const [word, value] of [["Yes", true], ["No", false]]) {
    const id = `${name}-${word.toLowerCase()}`;
    const input = make("input", { type: "radio", name, id, value: word });
    input.checked = statement[label.name] === value;
    input.addEventListener("change", () => setLabel(index, label.name, value));
    pair.append(input, make("label", { for: id, class: word.toLowerCase() }, word));
  }
  field.append(pair);
  return field;
}

function tools(index) {
  const bar = make("div", { class: "tools" });
  const add = (text, work) => {
    const button = make("button", { type: "button", "aria-label": `${text}: ${statementName(index)}` }, text);
    button.addEventListener("click", work);
    bar.append(button);
  };
  add("Edit", () => edit(index));
  add("Split", () => edit(index, { split: true }));
  if (index + 1 < desk.draft.statements.length) add("Merge with next", () => merge(index));
  add("Delete", () => remove(index));
  return bar;
}

function editor(statement, index) {
  const text = make("textarea", { id: "edit-text", dir: "auto" });
  text.value = statement.text;
  text.rows = Math.max(2, Math.ceil(statement.text.length / 60));
  text.maxLength = 20000;
  const cites = make("input", { type: "text", id: "edit-cites" });
  cites.value = statement.citations.join(", ");
  cites.inputMode = "numeric";
  const changed = () => {
    const copy = structuredClone(desk.draft);
    copy.statements[index].text = text.value;
    copy.statements[index].citations = numbersIn(cites.value);
    desk.change(copy, { typing: true });
  };
  text.addEventListener("input", changed);
  cites.addEventListener("input", changed);
  text.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    if (event.shiftKey) splitAt(index, text.selectionStart);
    else endEditing();
  });
  const end = make("button", { type: "button", class: "main-button" }, "Ready");
  end.addEventListener("click", endEditing);
  const cut = make("button", { type: "button", class: "quiet" }, "Split at the cursor");
  cut.addEventListener("click", () => splitAt(index, text.selectionStart));
  const form = make("div", { class: "editor" },
    make("label", { for: "edit-text" }, statementName(index)), text,
    make("label", { for: "edit-cites" }, "Cites references"), cites,
    make("div", { class: "editor-tools" }, end, cut,
      make("span", { class: "minor" }, "Enter: ready · Shift+Enter: split at the cursor")));
  form.addEventListener("keydown", (event) => {
    if (event.key === "Escape" || (event.key === "Enter" && event.target === cites)) {
      event.preventDefault();
      endEditing();
    }
  });
  return form;
}

function numbersIn(text) {
  const found = (text.match(/\d{1,3}/g) || []).map(Number);
  return [...new Set(found)].slice(0, 100);
}

function endEditing() {
  if (editing < 0) return;
  editing = -1;
  renderStatements({ focus: true });
}

function edit(index, { split = false } = {}) {
  if (!desk.draft.statements[index] || desk.draft.nothing_to_rate) return;
  editing = index;
  active = index;
  desk.typed = false;
  renderStatements();
  const text = byId("edit-text");
  text.focus();
  const middle = split ? text.value.indexOf(" ", text.value.length / 2) : text.value.length;
  text.setSelectionRange(...(middle < 0 ? [text.value.length, text.value.length] : [middle, middle]));
  if (split) say("Put the cursor where the second statement begins, then press Shift and Enter.");
}

function splitAt(index, at) {
  const statement = desk.draft.statements[index];
  const [first, second] = [statement.text.slice(0, at).trim(), statement.text.slice(at).trim()];
  if (!first || !second) {
    say("Put the cursor between two words first.");
    return;
  }
  editing = -1;
  active = index;
  restructure((statements) => statements.splice(index, 1, emptyStatement(first, statement.citations), emptyStatement(second, [...statement.citations])));
}

// What both said alike stays said; the rest is asked again.
function merge(index) {
  if (desk.draft.nothing_to_rate) return;
  const [first, second] = desk.draft.statements.slice(index, index + 2);
  if (!second) return;
  const both = emptyStatement(`${first.text} ${second.text}`.trim(), [...new Set([...first.citations, ...second.citations])]);
  for (const { name } of LABELS) both[name] = first[name] === second[name] ? first[name] : null;
  active = index;
  restructure((statements) => statements.splice(index, 2, both));
}

function remove(index) {
  if (!desk.draft.statements[index] || desk.draft.nothing_to_rate) return;
  restructure((statements) => statements.splice(index, 1));
  say(`${statementName(index)} deleted. U brings it back.`);
}

function addStatement(text = "") {
  const at = text ? desk.draft.statements.length : Math.min(active + 1, desk.draft.statements.length);
  active = at;
  restructure((statements) => statements.splice(at, 0, emptyStatement(text)));
  if (!text) edit(at);
}

function restructure(work) {
  const copy = structuredClone(desk.draft);
  copy.nothing_to_rate = false;
  work(copy.statements);
  editing = -1;
  desk.change(copy);
  renderStatements({ focus: true });
}

function setLabel(index, name, value) {
  const statement = desk.draft.statements[index];
  if (!statement || desk.draft.nothing_to_rate || statement[name] === value) return;
  const copy = structuredClone(desk.draft);
  copy.statements[index][name] = value;
  desk.change(copy);
  const input = byId(`statement-${index}-${name}-${value ? "yes" : "no"}`);
  if (input) input.checked = true;
}

function toggleLabel(name) {
  const statement = desk.draft.statements[active];
  if (!statement || editing >= 0 || desk.draft.nothing_to_rate) return;
  setLabel(active, name, statement[name] !== true);
  const title = LABELS.find((label) => label.name === name).title;
  say(`${statementName(active)}, ${title}: ${desk.draft.statements[active][name] ? "yes" : "no"}`);
}

function allYes() {
  if (!desk.draft.statements[active] || desk.draft.nothing_to_rate || editing >= 0) return;
  const copy = structuredClone(desk.draft);
  for (const { name } of LABELS) {
    copy.statements[active][name] = true;
    byId(`statement-${active}-${name}-yes`).checked = true;
  }
  desk.change(copy);
  say(`${statementName(active)}: yes to all`);
}

function toggleNothing() {
  const copy = structuredClone(desk.draft);
  copy.nothing_to_rate = !copy.nothing_to_rate;
  editing = -1;
  desk.change(copy);
  renderStatements();
  say(copy.nothing_to_rate ? "Nothing to rate" : "There are statements to rate");
}

function activate(index, { focus = false } = {}) {
  if (index < 0 || index >= desk.draft.statements.length) return;
  active = index;
  showActive({ focus });
}

function showActive({ focus = false } = {}) {
  for (const item of list.children) {
    const on = Number(item.dataset.index) === active;
    item.classList.toggle("active", on);
    if (on) item.setAttribute("aria-current", "true");
    else item.removeAttribute("aria-current");
    if (on && focus) item.focus();
  }
  const statement = desk.draft.nothing_to_rate ? null : desk.draft.statements[active];
  markReferences(statement ? statement.citations : []);
  markAnswer(statement ? statement.text : "");
}

function markReferences(cited) {
  const wanted = new Set(cited.map(String));
  let first = null;
  for (const reference of byId("references-list").querySelectorAll(".reference")) {
    const on = wanted.has(reference.dataset.number);
    reference.classList.toggle("cited", on);
    if (on && !first) first = reference;
  }
  if (first) scrollToReference(first);
}

function scrollToReference(reference) {
  const pane = byId("references");
  pane.scrollTop += reference.getBoundingClientRect().top - pane.getBoundingClientRect().top - 40;
}

function showReference(cited) {
  const reference = byId("references-list").querySelector(`[data-number="${Number(cited)}"]`);
  if (!reference) return;
  scrollToReference(reference);
  reference.tabIndex = -1;
  reference.focus({ preventScroll: true });
}

function markAnswer(text) {
  const host = byId("answer");
  const answer = desk.task.answer;
  host.replaceChildren();
  if (!answer.trim()) {
    host.append(make("span", { class: "minor" }, "The answer is empty."));
    return;
  }
  const at = text ? answer.indexOf(text) : -1;
  if (at < 0) {
    host.append(answer);
    return;
  }
  host.append(answer.slice(0, at), make("mark", { class: "here" }, text), answer.slice(at + text.length));
}

list.addEventListener("focusin", (event) => {
  const item = event.target.closest(".statement");
  if (item && Number(item.dataset.index) !== active) activate(Number(item.dataset.index));
});
list.addEventListener("click", (event) => {
  const item = event.target.closest(".statement");
  if (item && Number(item.dataset.index) !== active) activate(Number(item.dataset.index));
});
addEventListener("resize", perFrame(() => {
  const first = byId("references-list").querySelector(".cited");
  if (first) scrollToReference(first);
}));
byId("add").addEventListener("click", () => addStatement());
byId("nothing").addEventListener("click", toggleNothing);
