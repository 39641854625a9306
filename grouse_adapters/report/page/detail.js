// The panel with everything about one sample; a page of its own where there is little room.

const gradeWords = { "-": "not applicable", "!": "failed", " ": "not asked" };

function gradeText(code, metric) {
  return gradeWords[code] || `${code} of ${metric.top}`;
}

function gradeLevel(code, metric) {
  if (code === " ") return "absent";
  if (code === "-") return "na";
  if (code === "!") return "broken";
  const unit = (Number(code) - metric.low) / (metric.top - metric.low);
  return unit >= 1 ? "best" : unit <= 0.25 ? "worst" : "middle";
}

const levelSigns = { absent: "", na: "–", broken: "!" };

function gradeTile(code, metric) {
  const level = gradeLevel(code, metric);
  return make("span", { class: `tile ${level}`, "aria-hidden": true }, levelSigns[level] ?? code);
}

function part(title, ...children) {
  return make("section", { class: "part" }, make("h3", null, title), ...children);
}

function factList(pairs) {
  const list = make("dl", { class: "pairs" });
  for (const [name, value] of pairs) list.append(make("div", null, quoted("dt", "", name), quoted("dd", "", value)));
  return list;
}

function fold(title, content, open = false) {
  const element = make("details", { class: "fold" }, make("summary", null, title), content);
  element.open = open;
  return element;
}

// Why a metric has the grade it has: the judge's words, or what went wrong.
function reasonElement(grade) {
  if (!grade) return make("p", { class: "minor" }, "Not asked in this run.");
  const body = make("div", { class: "reason" });
  if (grade.kind === "failed") body.append(make("p", { class: "cause" }, `The judge failed: ${grade.cause}`));
  if (grade.why) body.append(quoted("p", "why", grade.why));
  else if (grade.kind === "graded") body.append(make("p", { class: "minor" }, "No justification was asked for."));
  if (grade.raw !== null && grade.raw !== undefined) {
    body.append(fold("The judge's reply as it came", quoted("pre", "raw", grade.raw || "(empty)")));
  }
  return body;
}

// The answer with the findings of one run; two runs have a switch.
function answerPart(detail, names) {
  const holder = make("div", { class: "answer" });
  const count = detail.references.length;
  const draw = (run) => holder.replaceChildren(answerElement(detail.answer, run ? run.marks : [], count));
  const first = detail.runs.findIndex(Boolean);
  draw(detail.runs[first]);
  const checked = detail.runs.map((run) => Boolean(run && run.marks.length));
  const legend = checked.some(Boolean)
    ? make("p", { class: "minor answer-legend" }, "✓ fine · ! citation missing or wrong · ✗ not supported. Point at a sentence or a citation to see its references.")
    : null;
  if (checked.filter(Boolean).length < 2) return part("Answer", holder, legend);
  const host = make("fieldset", { class: "chips small" }, make("legend", null, "Findings of"));
  names.forEach((name, index) => {
    const input = make("input", { type: "radio", name: "findings", id: `findings-${index}`, value: index });
    input.checked = index === first;
    input.addEventListener("change", () => draw(detail.runs[index]));
    host.append(input, make("label", { for: input.id, dir: "auto" }, name));
  });
  return part("Answer", host, holder, legend);
}

function expectedPart(detail) {
  if (detail.expected === null) return part("Expected answer", make("p", { class: "minor" }, "There is none."));
  const body = quoted("div", "answer-text");
  appendCited(body, detail.expected, detail.references.length);
  return part("Expected answer", body);
}

// Panel over or beside the rest of the page.
//   draw(item, detail) gives {title, summary, parts: {before, after}}; move(item, by) the next item;
//   closed(item) puts the focus back.
function makeDetail({ draw, move, place, onChange, closed, names }) {
  const panel = byId("detail");
  const narrow = matchMedia("(max-width: 1099px)");
  let shown = null;

  function setInert() {
    const covered = shown !== null && narrow.matches;
    for (const element of [document.querySelector("header.top"), byId("main"), document.querySelector(".skip")]) element.inert = covered;
    panel.setAttribute("role", covered ? "dialog" : "complementary");
    if (covered) panel.setAttribute("aria-modal", "true");
    else panel.removeAttribute("aria-modal");
    document.body.classList.toggle("covered", covered);
  }

  function anchor() {
    const focused = document.activeElement;
    return byId("main").contains(focused) ? focused : byId("list");
  }

  function button(label, sign, className, work, disabled) {
    const element = make("button", { type: "button", class: `quiet ${className}`, "aria-label": label, title: label }, sign);
    element.disabled = disabled;
    element.addEventListener("click", work);
    return element;
  }

  function go(by, from) {
    const next = move(shown, by);
    if (!next) return;
    api.open(next);
    onChange(next);
    const same = panel.querySelector(`.${from}`);
    if (same && !same.disabled) same.focus();
  }

  const api = {
    get shown() { return shown; },
    open(item) {
      shown = item;
      const detail = readDetail(item);
      const { summary, before, after } = draw(item, detail);
      const bar = make("div", { class: "detail-bar" },
        make("p", { class: "detail-place minor" }, place(item)),
        button("Previous", "↑", "go-previous", () => go(-1, "go-previous"), !move(item, -1)),
        button("Next", "↓", "go-next", () => go(1, "go-next"), !move(item, 1)),
        button("Close (Escape)", "✕", "go-close", () => api.close(), false));
      const title = make("h2", { id: "detail-title", dir: "auto", tabindex: -1 }, item.key);
      const texts = make("div", { class: "side-by-side" },
        make("div", { class: "side" }, answerPart(detail, names), expectedPart(detail)),
        make("div", { class: "side references-side", role: "region", "aria-label": "References", tabindex: 0 }, part("References", referencesElement(detail.references))));
      const facts = [];
      detail.runs.forEach((run, index) => {
        if (run) facts.push(fold(names.length > 1 ? `How it was judged: ${names[index]}` : "How it was judged", factList(run.facts)));
      });
      const body = make("div", { class: "detail-body" },
        title, summary, part("Question", quoted("p", "question", detail.question)), before, texts, after,
        make("section", { class: "part folds" },
          detail.metadata.length ? fold("Metadata", factList(detail.metadata), true) : null, ...facts));
      panel.replaceChildren(bar, body);
      linkCitations(body);
      keepInView(anchor(), () => {
        panel.hidden = false;
        document.body.classList.add("with-detail");
        setInert();
      });
      panel.scrollTop = 0;
      title.focus({ preventScroll: true });
    },
    // Without a word to the address: it may be what asked for closing.
    hide() {
      shown = null;
      keepInView(anchor(), () => {
        panel.hidden = true;
        panel.replaceChildren();
        document.body.classList.remove("with-detail");
        setInert();
      });
    },
    close() {
      const item = shown;
      if (item === null) return;
      api.hide();
      onChange(null);
      closed(item);
    },
  };

  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && shown !== null && !event.defaultPrevented) {
      event.preventDefault();
      api.close();
    }
  });
  narrow.addEventListener("change", setInert);
  return api;
}
