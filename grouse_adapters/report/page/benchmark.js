// The page of a benchmark: scatters, matrices, filters, the list of tests, and the chosen test.

const NAMES = ["test", "type", "set", "metric", "show", "at", "q"];
const NATIVE = ASKED.filter((metric) => metric.native);
const SHOW = [
  ["", "All"],
  ["success", "Success", "s"],
  ["failure", "Failure", "f"],
  ["no-score", "No score", "ne"],
  ["unrated", "Nothing to rate", "x"],
  ["unannotated", "Not annotated", "-"],
];
const LETTERS = new Map(SHOW.map(([value, , letters]) => [value, letters]));

function works(show, row, metric) {
  const letters = LETTERS.get(show);
  return !letters || letters.includes(row.letters[metric.index]);
}

// A test is a success when every metric that rates it is; anything else needs one metric.
function testWorks(show, row, metrics) {
  if (show !== "success") return metrics.some((metric) => works(show, row, metric));
  const rated = metrics.filter((metric) => outcome(row, metric) !== " ");
  return rated.length > 0 && rated.every((metric) => works(show, row, metric));
}

function testCells(row) {
  return [
    make("span", { role: "gridcell", class: "list-text" },
      quoted("span", "list-name", `${row.key} · ${page.types[row.type]}`), quoted("span", "list-question", row.question)),
    ...ASKED.map((metric) => make("span", { role: "gridcell", class: "list-grade", "aria-label": `${metric.title}: ${scoreWords(row, metric)}` },
      make("span", { class: squareClass(row, metric), "aria-hidden": true }))),
  ];
}

// The framework's own words, or why there are none.
function nativeReason(said) {
  if (!said) return make("p", { class: "minor" }, "It was not run on this test.");
  const body = make("div", { class: "reason" });
  if (said.kind === "failed") body.append(make("p", { class: "cause" }, `It failed${said.cause ? `: ${said.cause}` : ""}`));
  if (said.raw) body.append(quoted("p", "why", said.raw));
  if (said.why) body.append(quoted("p", "why", said.why));
  else if (said.kind === "scored") body.append(make("p", { class: "minor" }, "The framework gives no reason."));
  else if (said.kind === "not_scored") body.append(make("p", { class: "minor" }, "It ended without a score."));
  return body;
}

function scoresPart(row, detail) {
  const [judge, native] = detail.runs;
  const list = make("ul", { class: "grades" });
  for (const metric of ASKED) {
    const said = metric.native ? native && native.grades[metric.index] : judge && judge.grades[page.sample_metrics.indexOf(metric.metric)];
    list.append(make("li", { class: "grade" },
      make("div", { class: "grade-head" }, make("h4", { dir: "auto" }, metric.title)),
      make("p", { class: "outcome" }, make("span", { class: squareClass(row, metric), "aria-hidden": true }), scoreWords(row, metric)),
      metric.native ? nativeReason(said) : reasonElement(said)));
  }
  return part("Scores", list);
}

function labelCell(value) {
  if (value === null || value === undefined) return make("td", { class: "minor" }, "not asked");
  return make("td", { class: value ? "label-yes" : "label-no" }, value ? "✓ yes" : "✗ no");
}

function shareWords(share) {
  return share === null ? "nothing to rate" : shownScore(share);
}

function annotationsPart(row) {
  const { texts, details } = readBlock(row.block);
  const found = details[row.place].annotations;
  if (!found.length) return part("Annotations", make("p", { class: "minor" }, "Nobody annotated this test."));
  const holder = make("div", { class: "annotations" });
  found.forEach(([annotator, source, [faithfulness, relevancy], statements]) => {
    const cited = statements && statements.some(([, , , citation]) => citation !== null);
    const head = make("p", null, quoted("strong", "", texts[annotator]), make("span", { class: "minor" },
      ` ${source} · faithfulness ${shareWords(faithfulness)} · answer relevancy ${shareWords(relevancy)}`));
    const body = make("tbody");
    for (const [text, faithful, relevant, citation] of statements || []) {
      body.append(make("tr", null, make("th", { scope: "row", dir: "auto" }, texts[text]), labelCell(faithful), labelCell(relevant), cited ? labelCell(citation) : null));
    }
    const table = make("table", { class: "statements" },
      make("thead", null, make("tr", null, make("th", { scope: "col" }, "Statement"), make("th", { scope: "col" }, "Faithful"), make("th", { scope: "col" }, "Relevant"), cited ? make("th", { scope: "col" }, "Citation right") : null)), body);
    holder.append(make("div", { class: "annotation" }, head, statements && statements.length ? table : null));
  });
  return part("Annotations", holder);
}

function startBenchmark() {
  const rows = readRows().map(readTest);
  const byKey = new Map(rows.map((row) => [row.key, row]));
  const width = page.columns.length;
  const squares = new Map(rows.map((row) => [row.type * width + row.column, row]));
  const setNames = [...new Set(page.columns.map(([, name]) => name))];
  let state = readRoute(NAMES);
  let back = null; // gives the focus back to what opened the test
  const search = byId("search");
  const selects = { type: byId("type"), set: byId("set"), metric: byId("metric") };
  fillSelect(selects.type, [["", "All types"], ...page.types.map((name) => [name, name])]);
  fillSelect(selects.set, [["", "All sets"], ...setNames.map((name) => [name, name])]);
  fillSelect(selects.metric, [["", "All metrics"], ...ASKED.map((one) => [one.name, one.title])]);
  drawLegend(byId("legend"), NATIVE.length < ASKED.length);

  let hits = new Set();
  const matrices = ASKED.map((metric) => makeMatrix(metric, {
    compare: false,
    word: metric.native ? "successes" : "passed",
    find: (type, column) => squares.get(type * width + column),
    matches: (row, one) => hits.has(row) && works(state.show, row, one),
    open: (row) => { back = (item) => matrix(metric).focusOn(item); openRow(row, true); },
  }));
  const matrix = (metric) => matrices[metric.index];
  byId("matrices").append(...matrices.map((one) => one.card));
  byId("scatters").append(...NATIVE.map((metric) => makeScatter(rows, metric, openPlace)));

  const list = makeList(byId("list"), {
    label: "Tests",
    columns: [{ name: "Test", className: "list-text" }, ...ASKED.map((one) => ({ name: one.title, short: one.short, className: "list-grade" }))],
    render: testCells,
    open: (row) => { back = null; openRow(row, true); },
    isOpen: (row) => detail.shown === row,
  });
  const detail = makeDetail({
    names: page.runs,
    draw: (row, found) => ({ summary: factList(found.about), before: scoresPart(row, found), after: annotationsPart(row) }),
    move: (row, by) => list.next(row, by),
    place: (row) => (list.place(row) < 0 ? "Not among the tests shown" : `${number(list.place(row) + 1)} of ${number(list.size)}`),
    onChange: (row) => { change({ test: row ? row.key : "" }); list.refresh(); },
    closed: (row) => { if (!(back && back(row)) && !list.focusOn(row)) search.focus(); },
  });
  const chips = makeChips(byId("show"), "show", SHOW, (value) => { change({ show: value }); filter(); });
  const finder = makeSearch(rows, () => { if (state.q) filter(); });

  function change(changes, options) {
    state = { ...state, ...changes };
    writeRoute(NAMES, state, options);
  }

  function openRow(row, step) {
    const first = step && detail.shown === null;
    detail.open(row);
    if (step) change({ test: row.key }, { step: first });
    list.refresh();
  }

  // The tests of a circle become the list, and the first of them is opened.
  function openPlace(metric, place) {
    const circle = document.activeElement;
    back = () => { circle.focus(); return true; };
    change({ metric: metric.name, at: `${place.mean} ${place.native}`, type: "", set: "", show: "", q: "" });
    apply();
    openRow(place.rows[0], true);
  }

  function atPlace() {
    const metric = NATIVE.find((one) => one.name === state.metric);
    const parts = state.at.split(" ").map(Number);
    if (!metric || parts.length !== 2 || parts.some(Number.isNaN)) return null;
    const [mean, native] = parts;
    return { metric, mean, native, has: (row) => row.values[metric.index] === native && row.means[metric.metric] === mean };
  }

  function filter() {
    const chosen = ASKED.filter((one) => !state.metric || one.name === state.metric);
    const matches = finder.matcher(state.q);
    const place = state.at ? atPlace() : null;
    byId("place").hidden = !place;
    if (place) byId("place-text").textContent = `Only where ${place.metric.title} is at ${placeWords(place.metric, place)}.`;
    const found = rows.filter((row) =>
      (!state.type || page.types[row.type] === state.type)
      && (!state.set || page.columns[row.column][1] === state.set)
      && (!place || place.has(row))
      && (!state.q || matches(row)));
    for (const [value] of SHOW) chips.count(value, found.filter((row) => testWorks(value, row, chosen)).length);
    const shown = found.filter((row) => testWorks(state.show, row, chosen));
    hits = new Set(shown);
    const types = [...new Set(shown.map((row) => row.type))].sort((a, b) => a - b);
    const columns = [...new Set(shown.map((row) => row.column))].sort((a, b) => a - b);
    for (const one of matrices) {
      const any = shown.some((row) => works(state.show, row, one.metric));
      one.show(types, columns, any && chosen.includes(one.metric));
    }
    list.show(shown);
    const pending = state.q && !finder.ready ? ", still searching answers" : "";
    const text = shown.length === rows.length ? counted(rows.length, "test") : `${number(shown.length)} of ${counted(rows.length, "test")}${pending}`;
    byId("count").textContent = text;
    say(text);
  }

  function apply() {
    search.value = state.q;
    for (const [name, select] of Object.entries(selects)) {
      select.value = state[name];
      if (select.selectedIndex < 0) select.value = state[name] = "";
    }
    chips.set(state.show);
    if (state.q) finder.prepare();
    filter();
    const row = byKey.get(state.test);
    if (row && detail.shown !== row) {
      openRow(row, false);
      list.reveal(row);
    }
    else if (!row && detail.shown !== null) detail.close();
  }

  for (const [name, select] of Object.entries(selects)) {
    select.addEventListener("change", () => { change({ [name]: select.value, ...(name === "metric" ? { at: "" } : {}) }); filter(); });
  }
  byId("place-clear").addEventListener("click", () => { change({ at: "", metric: "" }); apply(); search.focus(); });
  for (const button of document.querySelectorAll(".to-test")) {
    const row = rows[button.dataset.test]; // none where another run alone has the test
    button.disabled = !row;
    button.addEventListener("click", () => { back = () => { button.focus(); return true; }; openRow(row, true); });
  }
  setUpKeys(search, () => { finder.prepare(); change({ q: search.value.trim() }); filter(); }, finder.prepare);
  addEventListener("popstate", () => { state = readRoute(NAMES); apply(); });
  apply();
}

setUpTheme();
startBenchmark();
