// The page of an evaluation: filters, the list of samples, and the chosen sample.

const NAMES = ["sample", "show", "metric", "q"];
const SHOW = [
  ["", "All"],
  ["failed", "Failed"],
  ["low", "Below top"],
  ["lowest", "1–3 or 0"],
  ["na", "Not applicable"],
  ["fine", "All fine"],
];

function tests(metrics) {
  const code = (row, metric) => row.cells[2][metric.index];
  const any = (works) => (row) => metrics.some((metric) => works(code(row, metric), metric));
  const low = (found, metric) => found >= "0" && found <= "9" && Number(found) < metric.top;
  const lowest = (found, metric) => low(found, metric) && Number(found) <= Math.max(0, metric.top - 2);
  const failed = (found) => found === "!";
  return {
    "": () => true,
    failed: any(failed),
    low: any(low),
    lowest: any(lowest),
    na: any((found) => found === "-"),
    fine: (row) => !any(failed)(row) && !any(low)(row) && any((found) => found !== " " && (metrics.length > 1 || found !== "-"))(row),
  };
}

function sampleCells(row) {
  const codes = row.cells[2];
  return [
    make("span", { role: "gridcell", class: "list-text" },
      quoted("span", "list-name", row.key), quoted("span", "list-question", row.cells[1])),
    ...ASKED.map((metric) => {
      const code = codes[metric.index];
      return make("span", { role: "gridcell", class: "list-grade", "aria-label": `${metric.title}: ${gradeText(code, metric)}` }, gradeTile(code, metric));
    }),
  ];
}

function gradesPart(row, detail) {
  const list = make("ul", { class: "grades" });
  for (const metric of ASKED) {
    const code = row.cells[2][metric.index];
    list.append(make("li", { class: "grade" },
      make("div", { class: "grade-head" }, gradeTile(code, metric), make("h4", null, metric.title),
        make("span", { class: "minor" }, `${gradeText(code, metric)} · top: ${metric.better}`)),
      reasonElement(detail.runs[0].grades[metric.index])));
  }
  return part("Grades", list);
}

function summaryTiles(row) {
  const list = make("ul", { class: "tiles" });
  for (const metric of ASKED) {
    const code = row.cells[2][metric.index];
    list.append(make("li", { "aria-label": `${metric.title}: ${gradeText(code, metric)}`, title: metric.title },
      gradeTile(code, metric), make("span", { class: "minor", "aria-hidden": true }, metric.short)));
  }
  return list;
}

function startEvaluation() {
  const rows = readRows();
  const byKey = new Map(rows.map((row) => [row.key, row]));
  let state = readRoute(NAMES);
  const search = byId("search");
  const metric = byId("metric");
  fillSelect(metric, [["", "Any metric"], ...ASKED.map((one) => [one.name, one.title])]);

  const list = makeList(byId("list"), {
    label: "Samples",
    columns: [{ name: "Sample", className: "list-text" }, ...ASKED.map((one) => ({ name: one.title, short: one.short, className: "list-grade" }))],
    render: sampleCells,
    open: (row) => openRow(row, true),
    isOpen: (row) => detail.shown === row,
  });
  const detail = makeDetail({
    names: [""],
    draw: (row, found) => ({ summary: summaryTiles(row), before: null, after: gradesPart(row, found) }),
    move: (row, by) => list.next(row, by),
    place: (row) => (list.place(row) < 0 ? "Not among the samples shown" : `${number(list.place(row) + 1)} of ${number(list.size)}`),
    onChange: (row) => { change({ sample: row ? row.key : "" }); list.refresh(); },
    closed: (row) => { if (!list.focusOn(row)) search.focus(); },
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
    if (step) change({ sample: row.key }, { step: first });
    list.refresh();
  }

  function filter() {
    const chosen = ASKED.filter((one) => !state.metric || one.name === state.metric);
    const works = tests(chosen);
    const matches = finder.matcher(state.q);
    const found = state.q ? rows.filter(matches) : rows;
    for (const [value] of SHOW) chips.count(value, found.filter(works[value]).length);
    const shown = found.filter(works[state.show] || works[""]);
    list.show(shown);
    const pending = state.q && !finder.ready ? ", still searching answers" : "";
    const text = shown.length === rows.length ? counted(rows.length, "sample") : `${number(shown.length)} of ${counted(rows.length, "sample")}${pending}`;
    byId("count").textContent = text;
    say(text);
  }

  function apply() {
    search.value = state.q;
    metric.value = state.metric;
    if (metric.selectedIndex < 0) metric.value = state.metric = "";
    chips.set(state.show);
    if (state.q) finder.prepare();
    filter();
    const row = byKey.get(state.sample);
    if (row && detail.shown !== row) {
      openRow(row, false);
      list.reveal(row);
    }
    else if (!row && detail.shown !== null) detail.close();
  }

  metric.addEventListener("change", () => { change({ metric: metric.value }); filter(); });
  setUpKeys(search, () => { finder.prepare(); change({ q: search.value.trim() }); filter(); }, finder.prepare);
  addEventListener("popstate", () => { state = readRoute(NAMES); apply(); });
  apply();
}

setUpTheme();
startEvaluation();
