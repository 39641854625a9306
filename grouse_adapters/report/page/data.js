// The data inside the page. Rows are read at once, details when a sample is opened.

const page = JSON.parse(byId("page-data").textContent);
const METRICS = page.metrics.map((metric, index) => ({ ...metric, index }));
const ASKED = METRICS.filter((metric) => page.asked[metric.index]);

const detailScripts = [...document.querySelectorAll("script.details")];

// One entry per sample: {at, key, block, place, cells}; keys are ids, made unique.
function readRows() {
  const rows = [];
  const keys = new Set();
  document.querySelectorAll("script.rows").forEach((script, block) => {
    JSON.parse(script.textContent).forEach((cells, place) => {
      const name = cells[0] || `#${rows.length + 1}`;
      let key = name;
      for (let copy = 2; keys.has(key); copy += 1) key = `${name} (${copy})`;
      keys.add(key);
      rows.push({ at: rows.length, key, block, place, cells });
    });
    script.remove();
  });
  return rows;
}

const recentBlocks = new Map();
const RECENT = 6;

function readBlock(number) {
  let block = recentBlocks.get(number);
  if (!block) block = JSON.parse(detailScripts[number].textContent);
  recentBlocks.delete(number);
  recentBlocks.set(number, block);
  if (recentBlocks.size > RECENT) recentBlocks.delete(recentBlocks.keys().next().value);
  return block;
}

// Everything about a sample, texts in place of their numbers.
function readDetail(row) {
  const { texts, details } = readBlock(row.block);
  const text = (index) => (index === null || index === undefined ? null : texts[index]);
  const named = (pairs) => (pairs || []).map(([name, value]) => [text(name), text(value)]);
  const found = details[row.place];
  return {
    question: text(found.question),
    references: found.references.map(text),
    expected: text(found.expected),
    answer: text(found.answer),
    metadata: named(found.metadata),
    about: named(found.about),
    runs: found.runs.map((run) => run && {
      grades: run.grades.map((grade) => grade && {
        kind: grade.kind, why: text(grade.why), cause: text(grade.cause), raw: text(grade.raw),
      }),
      marks: run.marks.map(([start, end, finding, sentence]) => ({ start, end, finding, sentence: text(sentence) })),
      facts: named(run.facts),
    }),
  };
}

// Search in ids and questions at once; in answers as soon as they have been gone through, which
// happens in small steps so that typing is never held up.
function makeSearch(rows, onProgress) {
  const stacks = rows.map((row) => `${row.key}\n${row.cells[1]}`.toLowerCase());
  const firstOf = [];
  rows.forEach((row) => { if (row.place === 0) firstOf[row.block] = row.at; });
  let next = 0;
  let started = false;

  function step() {
    const end = performance.now() + 12;
    while (next < detailScripts.length && performance.now() < end) {
      const { texts, details } = JSON.parse(detailScripts[next].textContent);
      details.forEach((detail, place) => {
        const at = firstOf[next] + place;
        const words = [rows[at].key, texts[detail.question], texts[detail.answer]];
        if (detail.expected !== null) words.push(texts[detail.expected]);
        stacks[at] = words.join("\n").toLowerCase();
      });
      next += 1;
    }
    if (next < detailScripts.length) setTimeout(step, 0);
    else onProgress();
  }

  return {
    prepare() {
      if (started) return;
      started = true;
      setTimeout(step, 0);
    },
    get ready() { return next >= detailScripts.length; },
    matcher(query) {
      const words = query.toLowerCase().split(/\s+/).filter(Boolean);
      return (row) => words.every((word) => stacks[row.at].includes(word));
    },
  };
}
