// A square is one test under one native metric, or under the judge's GroUSE metric beside it.

const VERDICTS = {
  s: { name: "success", square: "passed", counts: "p" },
  f: { name: "failure", square: "failed", counts: "f" },
  n: { name: "not scored", square: "unreadable", counts: "u" },
  e: { name: "error", square: "unreadable", counts: "u" },
  x: { name: "nothing to rate", square: "unrated", counts: " " },
  "-": { name: "not annotated", square: "absent", counts: " " },
  " ": { name: "not run", square: "absent", counts: " " },
};
const OF_JUDGE = { s: "passed", f: "failed", e: "reply unreadable", " ": "not judged" };

// A row's cells as names: see _Layout._row of benchmark.py.
function readTest(row) {
  const [, question, type, column, letters, values, means] = row.cells;
  return Object.assign(row, { question, type, column, letters, values, means });
}

function verdictOf(row, metric) {
  return VERDICTS[row.letters[metric.index]];
}

// As the matrix counts: passed, failed, unreadable, or blank where the test is in no rate.
function outcome(row, metric) {
  return verdictOf(row, metric).counts;
}

function shownScore(value) {
  return value === null || value === undefined ? "none" : value.toFixed(3).replace(/0$/, "");
}

function meanWords(row, metric) {
  const mean = row.means[metric.metric];
  if (mean === "-") return "not annotated";
  return mean === null ? "nothing to rate" : `annotated ${shownScore(mean)}`;
}

// What a metric said about a test, in words: for ears, and for eyes below the matrices.
function scoreWords(row, metric) {
  const letter = row.letters[metric.index];
  const value = row.values[metric.index];
  if (!metric.native) {
    if (value === null) return OF_JUDGE[" "];
    const [code, condition] = value;
    const wanted = condition === "==None" ? "not applicable" : condition.replace("==", "");
    return `${OF_JUDGE[letter]}, grade ${code === "!" ? "unreadable" : gradeWords[code] || code}, wanted ${wanted}`;
  }
  if (letter === " ") return VERDICTS[letter].name;
  const said = value === null ? "no score" : `native ${shownScore(value)}`;
  return `${VERDICTS[letter].name}: ${said}, ${meanWords(row, metric)}`;
}

function squareLabel(row, metric) {
  return `${page.types[row.type]}, ${page.columns[row.column][0]}: ${scoreWords(row, metric)}`;
}

function squareClass(row, metric) {
  return `square ${verdictOf(row, metric).square}`;
}

function drawLegend(host, anyJudge) {
  const entry = (className, text) => make("li", null, make("span", { class: `square ${className}`, "aria-hidden": true }), text);
  host.append(make("ul", null,
    entry("passed", `success: less than ${page.threshold} apart${anyJudge ? "; GroUSE: condition fulfilled" : ""}`),
    entry("failed", "failure"), entry("unreadable", "not scored, or error"),
    entry("unrated", "nothing to rate"), entry("absent", "not annotated or not run")));
}
