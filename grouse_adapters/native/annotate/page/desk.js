// The answers one after another.

const STATES = { new: "not begun", open: "begun", skipped: "skipped", done: "done" };
const HEARTBEAT = 3000;

const desk = {
  annotator: null, grades: [], tests: [], index: -1, task: null, draft: null,
  undo: [], visited: [], typed: false, turns: 0, loading: false,
};

// A new state of the answer: shown as far as it is not on the page yet, kept, and sent.
desk.change = (draft, { typing = false, undoing = false } = {}) => {
  if (!undoing && !(typing && desk.typed)) desk.undo.push(desk.draft);
  desk.typed = typing;
  draft.state = desk.draft.state === "done" && !lacks(draft) ? "done" : "open";
  keepDraft(draft, { typing });
};

function keepDraft(draft, options) {
  desk.draft = draft;
  outbox.put(desk.task.key, draft, options);
  desk.tests[desk.index].state = draft.state;
  showPlace();
}

function undo() {
  if (!desk.undo.length) {
    say("There is nothing to undo.");
    return;
  }
  editing = -1;
  desk.change(structuredClone(desk.undo.pop()), { undoing: true });
  renderStatements({ focus: true });
  renderGrades();
  say("Undone");
}

// As the server sees it: what is missing before the answer is done.
function lacks(draft) {
  if (!draft.nothing_to_rate) {
    if (!draft.statements.length) return { text: "add a statement, or mark that there is nothing to rate" };
    for (const [index, statement] of draft.statements.entries()) {
      if (!statement.text.trim()) return { text: `statement ${index + 1} has no text`, index };
      const label = LABELS.find(({ name }) => statement[name] === null);
      if (label) return { text: `statement ${index + 1}: ${label.title.toLowerCase()}?`, index, label };
    }
  }
  const metric = desk.grades.find(({ name }) => !(name in draft.grades));
  return metric ? { text: `grade ${metric.title.toLowerCase()}`, metric } : null;
}

function showPlace() {
  const done = desk.tests.filter(({ state }) => state === "done").length;
  byId("place").textContent = `Answer ${number(desk.index + 1)} of ${number(desk.tests.length)}`;
  byId("progress").max = desk.tests.length;
  byId("progress").value = done;
  byId("progress-text").textContent = `${number(done)} done`;
  const missing = lacks(desk.draft);
  byId("missing").textContent = desk.draft.state === "done" ? "This answer is done." : missing ? `Still open: ${missing.text}` : "Complete.";
  byId("done").classList.toggle("ready", !missing);
  const buttons = byId("all-list").querySelectorAll("button");
  desk.tests.forEach(({ state }, index) => {
    const button = buttons[index];
    if (!button) return;
    button.dataset.state = state;
    button.setAttribute("aria-label", `Answer ${index + 1}, ${STATES[state]}`);
    if (index === desk.index) button.setAttribute("aria-current", "true");
    else button.removeAttribute("aria-current");
  });
}

function buildAll() {
  byId("all-list").replaceChildren(...desk.tests.map((_, index) => {
    const button = make("button", { type: "button" }, String(index + 1));
    button.addEventListener("click", () => {
      if (index !== desk.index) go(index);
    });
    return make("li", null, button);
  }));
}

function showOnly(id) {
  for (const name of ["login", "work", "finished"]) byId(name).hidden = name !== id;
}

async function go(index, { visit = true } = {}) {
  const key = desk.tests[index].key;
  const turn = ++desk.turns; // the last one asked for is shown, whichever comes last
  let task;
  desk.loading = true; // a key that is pressed now is meant for the next answer
  try {
    task = await ask("show", { annotator: desk.annotator, key });
  } catch (error) {
    if (!(error instanceof Trouble)) throw error;
    outbox.heard(error);
    return;
  } finally {
    if (turn === desk.turns) desk.loading = false;
  }
  if (turn !== desk.turns) return;
  if (visit && desk.index >= 0 && desk.index !== index) desk.visited.push(desk.index);
  outbox.knows(key, task.revision);
  const draft = outbox.draft(key) || task.draft;
  Object.assign(desk, { index, task, draft, undo: [], typed: false });
  if (draft.state === "done" && lacks(draft)) desk.draft = { ...draft, state: "open" }; // grades are asked for since
  sessionStorage.setItem("grouse-annotate-key", key);
  active = 0;
  editing = -1;
  byId("question").textContent = task.question;
  byId("references-list").replaceChildren(referencesElement(task.references));
  showLeftOut(task.left_out);
  showOnly("work");
  renderStatements();
  renderGrades();
  showPlace();
  byId("references").scrollTop = 0;
  scrollTo(0, 0);
  byId("place").focus({ preventScroll: true });
}

function showLeftOut(texts) {
  const host = byId("left-out");
  host.hidden = !texts.length;
  host.replaceChildren(make("h3", { class: "small-title" }, "Left out as refusal, heading or lead-in"), ...texts.map((text) => {
    const button = make("button", { type: "button", class: "quiet" }, "Add");
    button.setAttribute("aria-label", `Add as a statement: ${text.slice(0, 80)}`);
    button.addEventListener("click", () => addStatement(text));
    return make("div", { class: "left-out-row" }, quoted("p", "minor", text), button);
  }));
}

// Unrated answers first, from here on; then from the start; skipped ones last.
function nextIndex() {
  const order = desk.tests.map((_, at) => (desk.index + 1 + at) % desk.tests.length);
  const inState = (...states) => order.find((at) => at !== desk.index && states.includes(desk.tests[at].state));
  return inState("new", "open") ?? inState("skipped");
}

function next() {
  const index = nextIndex();
  if (index !== undefined) return go(index);
  if (desk.tests.every(({ state }) => state === "done")) return finish();
  say("This is the last open answer.");
  return undefined;
}

function done() {
  const missing = lacks(desk.draft);
  if (missing) {
    say(`Still open: ${missing.text}`);
    byId("missing").classList.add("alarm");
    setTimeout(() => byId("missing").classList.remove("alarm"), 1500);
    if (missing.index !== undefined) activate(missing.index, { focus: true });
    else if (missing.metric) byId(`grade-${missing.metric.name}-null`).focus();
    return;
  }
  if (desk.draft.state !== "done") keepDraft({ ...desk.draft, state: "done" });
  next();
}

function skipTest() {
  if (desk.draft.state !== "done") keepDraft({ ...desk.draft, state: "skipped" });
  next();
}

function back() {
  const index = desk.visited.length ? desk.visited.pop() : desk.index - 1;
  if (index >= 0) go(index, { visit: false });
}

async function finish() {
  showOnly("finished");
  byId("finished-title").textContent = "All answers are rated";
  byId("finished-text").textContent = `Thank you, ${desk.annotator}. You rated ${counted(desk.tests.length, "answer")}.`;
  byId("finished-title").focus();
  if (!outbox.isEmpty()) await outbox.flush();
  await renderAgreement();
}

async function begin(name) {
  let told;
  try {
    told = await ask("begin", { annotator: name });
  } catch (error) {
    if (!(error instanceof Trouble)) throw error;
    showOnly("login");
    byId("login-error").textContent = error.message;
    return;
  }
  Object.assign(desk, { annotator: told.annotator, grades: told.grades, tests: told.tests, index: -1, visited: [] });
  document.title = `${told.title} · Annotate · GroUSE`;
  sessionStorage.setItem("grouse-annotate-name", told.annotator);
  byId("leave").textContent = told.annotator;
  byId("leave").setAttribute("aria-label", `You are ${told.annotator}: change the annotator`);
  byId("leave").title = "Change the annotator";
  byId("leave").hidden = false;
  outbox.begin(told.desk, told.annotator, new Set(told.tests.map(({ key }) => key)));
  for (const test of desk.tests) {
    const draft = outbox.draft(test.key);
    if (draft) test.state = draft.state;
  }
  buildAll();
  const last = desk.tests.findIndex(({ key }) => key === sessionStorage.getItem("grouse-annotate-key"));
  const open = nextIndex();
  if (last >= 0 && desk.tests[last].state !== "done") await go(last);
  else if (open !== undefined) await go(open);
  else await finish();
}

function showState({ waiting, sending, trouble, keeps }) {
  const bad = Boolean(trouble);
  const state = byId("save-state");
  const text = bad ? (waiting ? "Not saved" : "No server") : sending || waiting ? "Saving…" : "Saved";
  if (state.textContent !== text) state.textContent = text;
  state.dataset.state = bad ? "trouble" : waiting ? "saving" : "saved";
  const box = byId("trouble");
  const kept = !waiting ? "" : keeps
    ? " Your work is kept in this browser and sent when it is back."
    : " This browser keeps nothing: leave this page open.";
  const words = !bad ? "" : {
    gone: `The server does not answer: start it again with the same command.${kept}`,
    locked: "The server was started anew: open the address that the terminal shows now. What was not saved is kept in this browser.",
    conflict: "An answer was changed in another window under your name.",
  }[trouble.kind] || `Not saved. ${trouble.message}`;
  if (box.dataset.words === words) return;
  box.dataset.words = words;
  box.hidden = !bad;
  box.replaceChildren(make("p", null, words));
  if (bad && trouble.kind === "conflict") box.append(...conflictButtons());
}

function conflictButtons() {
  return [["Keep mine", true], ["Take the other", false]].map(([text, mine]) => {
    const button = make("button", { type: "button", class: "quiet" }, text);
    button.addEventListener("click", () => {
      const [key] = outbox.conflicts();
      outbox.settle(key, mine);
      if (!mine && desk.task && desk.task.key === key) go(desk.index, { visit: false });
    });
    return button;
  });
}

async function beat() {
  if (!desk.annotator || document.hidden || byId("save-state").dataset.state === "saving") return;
  try {
    await ask("alive", {});
    if (byId("save-state").dataset.state === "trouble" && !outbox.conflicts().length) outbox.heard(null);
  } catch (error) {
    if (!(error instanceof Trouble)) throw error;
    outbox.heard(error);
  }
}

outbox.onState = showState;
outbox.onSaved = (key, state) => {
  const test = desk.tests.find((one) => one.key === key);
  if (test && !outbox.draft(key)) test.state = state;
};
byId("done").addEventListener("click", done);
byId("skip-test").addEventListener("click", skipTest);
byId("back").addEventListener("click", back);
byId("look-again").addEventListener("click", () => go(0));
byId("ask-agreement").addEventListener("click", renderAgreement);
byId("leave").addEventListener("click", () => {
  sessionStorage.removeItem("grouse-annotate-name");
  sessionStorage.removeItem("grouse-annotate-key");
  location.reload();
});
byId("login-form").addEventListener("submit", (event) => {
  event.preventDefault();
  byId("login-error").textContent = "";
  begin(byId("name").value);
});
byId("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address after # is the key to the server
  byId("main").focus();
});
addEventListener("beforeunload", (event) => {
  if (!outbox.isSafe()) event.preventDefault();
});
document.addEventListener("visibilitychange", beat);
addEventListener("online", beat);
setInterval(beat, HEARTBEAT);
