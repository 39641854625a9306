// How far those agree who are through.

const LABEL_TITLES = { relevant: "Relevant", faithful: "Faithful", citation_right: "Citation right" };
const SHARE_TITLES = { answer_relevancy: "Answer relevancy", faithfulness: "Faithfulness" };

async function renderAgreement() {
  const host = byId("agreement");
  let told;
  try {
    told = await ask("agreement", { annotator: desk.annotator });
  } catch (error) {
    if (!(error instanceof Trouble)) throw error;
    outbox.heard(error);
    return;
  }
  if (!told.report) {
    host.replaceChildren(make("p", { class: "notice" }, `${told.why} The agreement is shown here once two people are through.`));
    return;
  }
  const { together, pairs, paper } = told.report;
  const parts = pairs.length > 1 && together ? [[`All ${together.annotators.length} annotators`, together]] : [];
  for (const pair of pairs) parts.push([pair.annotators.join(" and "), pair]);
  host.replaceChildren(...parts.map(([title, figures]) => comparison(title, figures, paper)));
}

function comparison(title, figures, paper) {
  const facts = make("dl", { class: "facts" });
  for (const [name, value] of [
    ["Answers", number(figures.tests)],
    ["Statements both have", number(figures.statements)],
    ["Cut or worded otherwise", number(figures.unmatched)],
    ["Nothing to rate for one alone", number(figures.one_sided)],
  ]) facts.append(make("div", null, make("dt", null, name), make("dd", null, value)));
  const labels = tableOf("Labels", ["", "Statements equal", "Answers with equal share", "Alpha"],
    Object.entries(figures.labels).map(([name, row]) => [
      LABEL_TITLES[name], ofAll(row.equal_statements, row.statements), ofAll(row.equal_tests, row.tests), alpha(row)]));
  const shares = tableOf("Shares", ["", "Mean difference", "Largest difference", "Alpha"], [
    ...Object.entries(figures.shares).map(([name, row]) => [
      SHARE_TITLES[name], shown(row.mean_difference, 3), shown(row.largest_difference, 3), alpha(row)]),
    ["The paper", `about ${paper.mean_difference}`, String(paper.largest_difference), "–"],
  ]);
  return make("section", { class: "comparison" }, quoted("h2", "", title), facts, labels, shares);
}

function tableOf(caption, head, rows) {
  const table = make("table", null, make("caption", null, caption));
  table.append(make("thead", null, make("tr", null, ...head.map((text, at) => (at
    ? make("th", { scope: "col", class: "number" }, text) : make("td", null))))));
  table.append(make("tbody", null, ...rows.map(([name, ...cells]) => make("tr", null,
    make("th", { scope: "row" }, name), ...cells.map((text) => make("td", { class: "number" }, text))))));
  return make("div", { class: "table-scroll" }, table);
}

function shown(value, digits) {
  return value === null ? "–" : value.toFixed(digits);
}

function ofAll(percent, count) {
  return percent === null ? "–" : `${percent.toFixed(2)} % of ${number(count)}`;
}

function alpha(row) {
  return row.alpha === null ? `– (${row.alpha_reason})` : row.alpha.toFixed(3);
}
