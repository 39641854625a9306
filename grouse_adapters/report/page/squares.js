// A square is one test under one metric: what the judge's grade was, and whether it had to be that.

const OUTCOMES = { p: "passed", f: "failed", u: "unreadable", " ": "not judged" };

// A row's cells as names: see _Layout._row of meta.py.
function readTest(row) {
  const [, question, type, column, conditions, skipped, outcomes, codes] = row.cells;
  return Object.assign(row, { question, type, column, conditions: page.conditions[conditions], skipped, outcomes, codes });
}

function outcome(row, metric, run = 0) {
  return row.outcomes[run][metric.index];
}

// Whether two runs judged it and came to different outcomes.
function differs(row, metric) {
  if (row.outcomes.length < 2) return false;
  const [first, second] = [outcome(row, metric, 0), outcome(row, metric, 1)];
  return first !== second && first !== " " && second !== " ";
}

function wanted(row, metric) {
  const condition = row.conditions[metric.index];
  return condition === "==None" ? "not applicable" : condition.replace("==", "").replace("<=", "≤ ").replace(">=", "≥ ").replace("<", "< ").replace(">", "> ");
}

function gradeAndOutcome(row, metric, run) {
  const found = outcome(row, metric, run);
  if (found === " ") return "not judged";
  const code = row.codes[run][metric.index];
  return `${OUTCOMES[found]}, grade ${code === "!" ? "unreadable" : gradeWords[code] || code}`;
}

function squareLabel(row, metric) {
  const said = row.outcomes.length < 2
    ? gradeAndOutcome(row, metric, 0)
    : `A ${gradeAndOutcome(row, metric, 0)}; B ${gradeAndOutcome(row, metric, 1)}${differs(row, metric) ? "; they differ" : ""}`;
  const skipped = row.skipped[metric.index] === "1" ? "; the pipeline would skip it" : "";
  return `${page.types[row.type]}, ${page.columns[row.column][0]}: ${said}, wanted ${wanted(row, metric)}${skipped}`;
}

// The classes say it all: outcome of the first run that judged it, of the other where it differs.
function squareClass(row, metric) {
  const first = row.outcomes.length < 2 || outcome(row, metric, 0) !== " " ? 0 : 1;
  const own = { p: "passed", f: "failed", u: "unreadable", " ": "absent" }[outcome(row, metric, first)];
  let name = `square ${own}`;
  if (row.skipped[metric.index] === "1") name += " skipped";
  if (differs(row, metric)) name += ` split to-${OUTCOMES[outcome(row, metric, 1)]}`;
  return name;
}

function listSquare(row, metric) {
  return make("span", { class: squareClass(row, metric), "aria-hidden": true });
}

function drawLegend(host, compare) {
  const entry = (className, text) => make("li", null, make("span", { class: `square ${className}`, "aria-hidden": true }), text);
  const list = make("ul", null,
    entry("passed", "passed"), entry("failed", "failed"), entry("unreadable", "reply unreadable"),
    entry("passed skipped", "hatched: the pipeline would skip this call"));
  if (compare) list.append(entry("passed split to-failed", "upper half A, lower half B, where they differ"));
  host.append(list);
}
