// An answer sentence by sentence, with what the judge found, and the references it cites.

const CITATION = /\[\s*\d+(?:\s*[,;–-]\s*\d+)*\s*\]/g;

// A finding is three characters: citation there, citation right, supported; 1, 0 or -.
function verdict(finding) {
  const [cited, right, supported] = finding;
  const faults = [];
  if (supported === "0") faults.push("not supported");
  if (cited === "0") faults.push("no citation");
  else if (right === "0") faults.push("wrong citation");
  if (faults.length) return { kind: supported === "0" ? "bad" : "doubt", sign: supported === "0" ? "✗" : "!", text: faults.join(", ") };
  if (finding.includes("1")) return { kind: "good", sign: "✓", text: "fine" };
  return { kind: "open", sign: "", text: "not checked" };
}

function citedNumbers(citation) {
  const numbers = new Set();
  for (const part of citation.slice(1, -1).split(/[,;]/)) {
    const [first, last] = part.split(/[–-]/).map((word) => Number(word.trim()));
    const end = last === undefined ? first : Math.min(last, first + 99);
    for (let value = first; value <= end; value += 1) numbers.add(value);
  }
  return [...numbers];
}

function allCited(text) {
  const numbers = new Set();
  for (const match of text.matchAll(CITATION)) citedNumbers(match[0]).forEach((value) => numbers.add(value));
  return [...numbers];
}

function citationButton(text, referenceCount) {
  const numbers = citedNumbers(text);
  const missing = numbers.filter((value) => value < 1 || value > referenceCount);
  const label = `Show reference ${numbers.join(", ")}${missing.length ? `; there is no reference ${missing.join(", ")}` : ""}`;
  // No button element: lines would break around it, before the full stop.
  return make("span", { role: "button", tabindex: 0, class: missing.length ? "cite missing" : "cite", "data-cites": numbers.join(" "), "aria-label": label, title: missing.length ? label : null }, text);
}

function appendCited(host, text, referenceCount) {
  let done = 0;
  for (const match of text.matchAll(CITATION)) {
    host.append(text.slice(done, match.index), citationButton(match[0], referenceCount));
    done = match.index + match[0].length;
  }
  host.append(text.slice(done));
}

function sentenceElement(text, finding, referenceCount) {
  const found = verdict(finding);
  const cites = allCited(text);
  const element = make("mark", { class: `sentence ${found.kind}`, tabindex: 0, "data-cites": cites.join(" ") });
  appendCited(element, text, referenceCount);
  if (found.kind === "bad" || found.kind === "doubt") {
    element.append(make("span", { class: "verdict" }, `${found.sign} ${found.text}`));
  } else if (found.kind === "good") {
    element.append(make("span", { class: "verdict", "aria-hidden": true }, found.sign), make("span", { class: "unseen" }, " (fine)"));
  }
  return element;
}

function answerElement(text, marks, referenceCount) {
  const body = quoted("div", "answer-text");
  if (!text) {
    body.append(make("span", { class: "minor" }, "The answer is empty."));
    return body;
  }
  const placed = marks.filter((mark) => mark.start >= 0);
  const lost = marks.filter((mark) => mark.start < 0);
  let done = 0;
  for (const mark of placed) {
    appendCited(body, text.slice(done, mark.start), referenceCount);
    body.append(sentenceElement(text.slice(mark.start, mark.end), mark.finding, referenceCount));
    done = mark.end;
  }
  appendCited(body, text.slice(done), referenceCount);
  if (!lost.length) return body;
  const list = make("ul", { class: "lost" });
  for (const mark of lost) {
    const item = make("li", { dir: "auto" });
    item.append(sentenceElement(mark.sentence, mark.finding, referenceCount));
    list.append(item);
  }
  return make("div", null, body, make("p", { class: "minor" }, "The judge also quoted, in words that the answer does not have:"), list);
}

function referencesElement(references) {
  const list = make("ol", { class: "references" });
  references.forEach((text, index) => {
    list.append(make("li", { class: "reference", id: `reference-${index + 1}`, "data-number": index + 1 },
      make("span", { class: "reference-number" }, `[${index + 1}]`, make("span", { class: "reference-cited" }, " cited")),
      quoted("div", "reference-text", text)));
  });
  return references.length ? list : make("p", { class: "minor" }, "There are none: retrieval found nothing.");
}

// Shows which references a sentence or citation means: while it is pointed at or focused, and
// until something else is chosen when it was clicked.
function linkCitations(host) {
  const cards = [...host.querySelectorAll(".reference")];
  let pinned = null;
  let shown = null;
  const show = (source) => {
    if (source === shown) return; // else scrolling the references by hand would be undone
    shown = source;
    const cited = new Set(source ? source.dataset.cites.split(" ") : []);
    for (const card of cards) card.classList.toggle("cited", cited.has(card.dataset.number));
    for (const other of host.querySelectorAll(".pointing")) other.classList.remove("pointing");
    if (source) source.classList.add("pointing");
    bringIn(cards.find((card) => cited.has(card.dataset.number)));
  };
  // Only inside the references' own scroller: what the reader points at must not move away.
  const side = host.querySelector(".references-side");
  const bringIn = (card) => {
    if (!card || side.scrollHeight <= side.clientHeight) return;
    const [top, bottom] = [card.offsetTop, card.offsetTop + card.offsetHeight];
    if (top < side.scrollTop || bottom > side.scrollTop + side.clientHeight) side.scrollTop = top - 28;
  };
  const sourceOf = (event) => event.target.closest("[data-cites]");
  host.addEventListener("pointerover", (event) => show(sourceOf(event) || pinned));
  host.addEventListener("pointerleave", () => show(pinned));
  host.addEventListener("focusin", (event) => show(sourceOf(event) || pinned));
  const choose = (event) => {
    const source = sourceOf(event);
    if (!source) return;
    pinned = source;
    show(source);
    const first = cards.find((card) => card.classList.contains("cited"));
    if (first && source.matches(".cite")) first.scrollIntoView({ block: "nearest" });
  };
  host.addEventListener("click", choose);
  host.addEventListener("keydown", (event) => {
    if (event.target.matches(".cite, .sentence") && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault();
      choose(event);
    }
  });
}
