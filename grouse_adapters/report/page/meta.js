// The page of a meta-evaluation: matrices, filters, the list of tests, and the chosen test.

const NAMES = ["test", "type", "set", "metric", "show", "q"];
const COMPARE = page.runs.length > 1;
const SHOW = [
  ["", "All"],
  ["passed", "Passed"],
  ["failed", "Failed"],
  ["unreadable", "Unreadable"],
  ...(COMPARE ? [["differs", "Differs"], ["lost", "Lost in B"], ["gained", "Gained in B"]] : []),
];
const WORKS = {
  "": () => true,
  passed: (row, metric) => every(row, metric, "p "),
  failed: (row, metric) => row.outcomes.some((found) => found[metric.index] === "f"),
  unreadable: (row, metric) => row.outcomes.some((found) => found[metric.index] === "u"),
  differs,
  lost: (row, metric) => differs(row, metric) && outcome(row, metric, 0) === "p",
  gained: (row, metric) => differs(row, metric) && outcome(row, metric, 1) === "p",
};

function every(row, metric, letters) {
  return row.outcomes.every((found) => letters.includes(found[metric.index])) && row.outcomes.some((found) => found[metric.index] !== " ");
}

// A test has passed when all its metrics have; anything else needs one metric.
function testWorks(name, row, metrics) {
  const judged = metrics.filter((metric) => row.outcomes.some((found) => found[metric.index] !== " "));
  if (name === "passed") return judged.length > 0 && judged.every((metric) => WORKS.passed(row, metric));
  return metrics.some((metric) => (WORKS[name] || WORKS[""])(row, metric));
}

function testCells(row) {
  return [
    make("span", { role: "gridcell", class: "list-text" },
      quoted("span", "list-name", `${row.key} · ${page.types[row.type]}`), quoted("span", "list-question", row.question)),
    ...ASKED.map((metric) => make("span", { role: "gridcell", class: "list-grade", "aria-label": `${metric.title}: ${page.runs.map((_, run) => `${COMPARE ? `${"AB"[run]} ` : ""}${gradeAndOutcome(row, metric, run)}`).join("; ")}` }, listSquare(row, metric))),
  ];
}

function aboutPart(detail) {
  return factList(detail.about);
}

// Condition, grade, outcome and reasoning per metric; two runs in columns.
function outcomesPart(row, detail) {
  const list = make("ul", { class: "grades" });
  for (const metric of ASKED) {
    const item = make("li", { class: differs(row, metric) ? "grade differs" : "grade" },
      make("div", { class: "grade-head" }, make("h4", null, metric.title),
        make("span", { class: "minor" }, `wanted ${wanted(row, metric)}${row.skipped[metric.index] === "1" ? " · the pipeline would skip it" : ""}${differs(row, metric) ? " · the runs differ" : ""}`)));
    const columns = make("div", { class: "run-columns" });
    page.runs.forEach((name, run) => {
      const found = outcome(row, metric, run);
      const judged = detail.runs[run];
      columns.append(make("div", { class: "run-column" },
        COMPARE ? quoted("p", "run-name minor", name) : null,
        make("p", { class: "outcome" },
          make("span", { class: `square ${found === " " ? "absent" : OUTCOMES[found]}`, "aria-hidden": true }),
          make("strong", null, OUTCOMES[found]),
          found === " " ? null : ` grade ${found === "u" ? "unreadable" : gradeText(row.codes[run][metric.index], metric)}`),
        judged ? reasonElement(judged.grades[metric.index]) : make("p", { class: "minor" }, "This run does not hold the test.")));
    });
    item.append(columns);
    list.append(item);
  }
  return part("Outcomes", list);
}

function startMeta() {
  const rows = readRows().map(readTest);
  const byKey = new Map(rows.map((row) => [row.key, row]));
  const width = page.columns.length;
  const squares = new Map(rows.map((row) => [row.type * width + row.column, row]));
  const setNames = [...new Set(page.columns.map(([, name]) => name))];
  let state = readRoute(NAMES);
  let opener = null;
  const search = byId("search");
  const selects = { type: byId("type"), set: byId("set"), metric: byId("metric") };
  fillSelect(selects.type, [["", "All types"], ...page.types.map((name) => [name, name])]);
  fillSelect(selects.set, [["", "All sets"], ...setNames.map((name) => [name, name])]);
  fillSelect(selects.metric, [["", "All metrics"], ...ASKED.map((one) => [one.name, one.title])]);
  drawLegend(byId("legend"), COMPARE);

  let hits = new Set();
  const works = () => WORKS[state.show] || WORKS[""];
  const matrices = ASKED.map((metric) => makeMatrix(metric, {
    compare: COMPARE,
    find: (type, column) => squares.get(type * width + column),
    matches: (row, one) => hits.has(row) && works()(row, one),
    open: (row) => { opener = metric.index; openRow(row, true); },
  }));
  byId("matrices").append(...matrices.map((matrix) => matrix.card));

  const list = makeList(byId("list"), {
    label: "Tests",
    columns: [{ name: "Test", className: "list-text" }, ...ASKED.map((one) => ({ name: one.title, short: one.short, className: "list-grade" }))],
    render: testCells,
    open: (row) => { opener = null; openRow(row, true); },
    isOpen: (row) => detail.shown === row,
  });
  const detail = makeDetail({
    names: page.runs,
    draw: (row, found) => ({ summary: aboutPart(found), before: outcomesPart(row, found), after: null }),
    move: (row, by) => list.next(row, by),
    place: (row) => (list.place(row) < 0 ? "Not among the tests shown" : `${number(list.place(row) + 1)} of ${number(list.size)}`),
    onChange: (row) => { change({ test: row ? row.key : "" }); list.refresh(); },
    closed: (row) => {
      const matrix = matrices.find((one) => one.metric.index === opener);
      if (!(matrix && matrix.focusOn(row)) && !list.focusOn(row)) search.focus();
    },
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

  function filter() {
    const chosen = ASKED.filter((one) => !state.metric || one.name === state.metric);
    const matches = finder.matcher(state.q);
    const found = rows.filter((row) =>
      (!state.type || page.types[row.type] === state.type)
      && (!state.set || page.columns[row.column][1] === state.set)
      && (!state.q || matches(row)));
    for (const [value] of SHOW) chips.count(value, found.filter((row) => testWorks(value, row, chosen)).length);
    const shown = found.filter((row) => testWorks(state.show, row, chosen));
    hits = new Set(shown);
    const types = [...new Set(shown.map((row) => row.type))].sort((a, b) => a - b);
    const columns = [...new Set(shown.map((row) => row.column))].sort((a, b) => a - b);
    for (const matrix of matrices) {
      const any = shown.some((row) => works()(row, matrix.metric));
      matrix.show(types, columns, any && chosen.includes(matrix.metric));
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
    select.addEventListener("change", () => { change({ [name]: select.value }); filter(); });
  }
  setUpKeys(search, () => { finder.prepare(); change({ q: search.value.trim() }); filter(); }, finder.prepare);
  addEventListener("popstate", () => { state = readRoute(NAMES); apply(); });
  apply();
}

setUpTheme();
startMeta();
