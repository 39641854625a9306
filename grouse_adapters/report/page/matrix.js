// One metric's squares: test types down, sets across. Only the squares in view exist.

const SPARE = 3;

function squareSize(columns, compare) {
  const size = columns <= 12 ? 23 : columns <= 40 ? 22 : 18;
  return compare ? Math.max(size, 22) : size;
}

// find(type, column) gives the test; matches(row, metric) whether the filters mean it; word says
// what a good outcome is.
function makeMatrix(metric, { find, matches, open, compare, word = "passed" }) {
  let types = [];
  let columns = [];
  let size = 23;
  let active = [0, 0];
  let near = false;
  const drawn = new Map();

  const titleId = `matrix-${metric.name}`;
  const tally = make("span", { class: "minor" });
  const head = make("div", { class: "matrix-columns", role: "row", "aria-rowindex": 1 });
  const body = make("div", { class: "matrix-body", role: "rowgroup" });
  const grid = make("div", { role: "grid", class: "matrix-grid", "aria-labelledby": titleId },
    make("div", { role: "rowgroup", class: "matrix-head" }, head), body);
  const scroller = make("div", { class: "matrix-scroll" }, grid);
  const card = make("section", { class: "matrix", "aria-labelledby": titleId },
    make("h3", { id: titleId }, metric.title, " ", tally), scroller);

  const pattern = make("span", { role: "gridcell" });
  let rowElements = [];

  function labelCounts(type) {
    let passed = 0;
    let judged = 0;
    for (const column of columns) {
      const row = find(type, column);
      const found = row ? outcome(row, metric) : " ";
      if (found !== " ") { judged += 1; passed += found === "p"; }
    }
    return [passed, judged];
  }

  function lay() {
    size = squareSize(columns.length, compare);
    card.style.setProperty("--square", `${size}px`);
    card.classList.toggle("many", columns.length > 12);
    card.style.setProperty("--columns", columns.length);
    const longest = Math.min(16, Math.max(0, ...columns.map((column) => page.columns[column][0].length)));
    card.style.setProperty("--head-height", `${Math.ceil(longest * 6.4) + 14}px`);
    drawn.clear();
    head.replaceChildren(make("span", { role: "columnheader", class: "matrix-corner", "aria-colindex": 1 }, make("span", { class: "unseen" }, "Type")));
    let passed = 0;
    let judged = 0;
    rowElements = types.map((type, at) => {
      const [good, all] = labelCounts(type);
      passed += good;
      judged += all;
      const element = make("div", { role: "row", class: "matrix-row", "aria-rowindex": at + 2 },
        make("span", { role: "rowheader", class: "matrix-type", "aria-colindex": 1, title: page.types[type] },
          quoted("span", "matrix-type-name", page.types[type]),
          make("span", { class: "minor", "aria-label": `${good} of ${all} ${word}` }, all ? `${good}/${all}` : "")));
      element.style.top = `${at * size}px`;
      return element;
    });
    body.style.height = `${types.length * size}px`;
    body.replaceChildren();
    grid.setAttribute("aria-rowcount", types.length + 1);
    grid.setAttribute("aria-colcount", columns.length + 1);
    tally.textContent = judged ? `${number(passed)} of ${number(judged)} ${word}${compare ? " in A" : ""}` : "";
    active = [Math.min(active[0], Math.max(0, types.length - 1)), Math.min(active[1], Math.max(0, columns.length - 1))];
  }

  function bounds() {
    if (printing.now) return [0, types.length, 0, Math.min(columns.length, 60)];
    const wide = Math.max(0, scroller.clientWidth - typeWidth());
    const left = Math.floor(scroller.scrollLeft / size);
    const top = Math.floor(scroller.scrollTop / size);
    const tall = Math.ceil(Math.min(scroller.clientHeight || innerHeight, innerHeight) / size);
    return [
      Math.max(0, top - SPARE), Math.min(types.length, top + tall + SPARE),
      Math.max(0, left - SPARE), Math.min(columns.length, left + Math.ceil(wide / size) + SPARE),
    ];
  }

  function typeWidth() {
    return parseFloat(getComputedStyle(card).getPropertyValue("--type-width")) || 180;
  }

  function cell(at, place) {
    const row = find(types[at], columns[place]);
    // Without make(): thousands of squares are drawn for one letter of a search.
    const element = pattern.cloneNode(false);
    element.className = cellClass(row);
    element.setAttribute("aria-colindex", place + 2);
    element.setAttribute("aria-label", row ? squareLabel(row, metric) : `${page.types[types[at]]}, ${page.columns[columns[place]][0]}: no test`);
    element.dataset.at = `${at} ${place}`;
    element.style.left = `${place * size}px`;
    return element;
  }

  function cellClass(row) {
    if (!row) return "square none";
    return matches(row, metric) ? squareClass(row, metric) : `${squareClass(row, metric)} dim`;
  }

  function draw() {
    const wantedCells = new Set();
    if (types.length && columns.length) {
      wantedCells.add(active.join(" "));
      if ((near && !card.hidden) || printing.now) {
        const [top, bottom, left, right] = bounds();
        for (let at = top; at < bottom; at += 1) {
          for (let place = left; place < right; place += 1) wantedCells.add(`${at} ${place}`);
        }
        drawHead(left, right);
      }
    }
    for (const [key, element] of drawn) {
      if (!wantedCells.has(key)) { element.remove(); drawn.delete(key); }
    }
    const used = new Set();
    for (const key of wantedCells) {
      const [at, place] = key.split(" ").map(Number);
      used.add(at);
      if (!drawn.has(key)) {
        const element = cell(at, place);
        drawn.set(key, element);
        rowElements[at].append(element);
      }
      drawn.get(key).tabIndex = at === active[0] && place === active[1] ? 0 : -1;
    }
    rowElements.forEach((element, at) => {
      if (used.has(at) && !element.parentNode) {
        let next = at + 1;
        while (next < rowElements.length && !rowElements[next].parentNode) next += 1;
        body.insertBefore(element, rowElements[next] || null);
      } else if (!used.has(at)) element.remove();
    });
  }

  function drawHead(left, right) {
    const shown = new Set([...head.querySelectorAll(".matrix-set")].map((element) => Number(element.dataset.place)));
    for (const element of [...head.querySelectorAll(".matrix-set")]) {
      const place = Number(element.dataset.place);
      if (place < left || place >= right) element.remove();
    }
    for (let place = left; place < right; place += 1) {
      if (shown.has(place)) continue;
      const label = page.columns[columns[place]][0];
      const element = make("span", { role: "columnheader", class: "matrix-set", "aria-colindex": place + 2, title: label }, quoted("span", "", label));
      element.dataset.place = place;
      element.style.left = `calc(var(--type-width) + ${place * size}px)`;
      head.append(element);
    }
  }

  function reveal() {
    const [at, place] = active;
    const wide = scroller.clientWidth - typeWidth();
    const x = place * size;
    if (x < scroller.scrollLeft) scroller.scrollLeft = x;
    else if (x + size > scroller.scrollLeft + wide) scroller.scrollLeft = x + size - wide;
    const element = drawn.get(`${at} ${place}`);
    if (element) element.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  function focus(at, place) {
    active = [Math.max(0, Math.min(types.length - 1, at)), Math.max(0, Math.min(columns.length - 1, place))];
    draw();
    reveal();
    draw();
    const element = drawn.get(active.join(" "));
    if (element) element.focus({ preventScroll: true });
  }

  // For eyes what the label is for ears.
  function read(element) {
    const readout = byId("readout");
    readout.hidden = !element;
    readout.textContent = element ? `${metric.title} · ${element.getAttribute("aria-label")}` : "";
  }

  body.addEventListener("click", (event) => {
    const element = event.target.closest(".square");
    if (!element) return;
    active = element.dataset.at.split(" ").map(Number);
    const row = find(types[active[0]], columns[active[1]]);
    draw();
    if (row) open(row, metric);
  });
  body.addEventListener("keydown", (event) => {
    if (event.metaKey || event.altKey) return;
    const [at, place] = active;
    const lastColumn = columns.length - 1;
    const moves = event.ctrlKey
      ? { Home: [0, 0], End: [types.length - 1, lastColumn] }
      : { ArrowDown: [at + 1, place], ArrowUp: [at - 1, place], ArrowRight: [at, place + 1], ArrowLeft: [at, place - 1], Home: [at, 0], End: [at, lastColumn], PageDown: [at, place + 10], PageUp: [at, place - 10] };
    if (event.key in moves) focus(...moves[event.key]);
    else if (event.key === "Enter" || event.key === " ") {
      const row = find(types[at], columns[place]);
      if (row) open(row, metric);
    } else return;
    event.preventDefault();
  });
  body.addEventListener("focusin", (event) => read(event.target.closest(".square")));
  body.addEventListener("pointerover", (event) => read(event.target.closest(".square")));
  body.addEventListener("focusout", () => read(null));
  body.addEventListener("pointerleave", () => read(body.querySelector(".square:focus")));
  const redraw = perFrame(draw);
  scroller.addEventListener("scroll", redraw, { passive: true });
  new ResizeObserver(redraw).observe(scroller);
  new IntersectionObserver((entries) => {
    near = entries[entries.length - 1].isIntersecting;
    redraw();
  }, { rootMargin: "150px" }).observe(card);
  onPrint.push(draw);

  return {
    card,
    metric,
    show(nextTypes, nextColumns, visible) {
      card.hidden = !visible;
      const same = String(types) === String(nextTypes) && String(columns) === String(nextColumns);
      types = nextTypes;
      columns = nextColumns;
      if (!same) lay();
      else if (visible) {
        for (const [key, element] of drawn) {
          const [at, place] = key.split(" ").map(Number);
          element.className = cellClass(find(types[at], columns[place]));
        }
      }
      draw();
    },
    focusOn(row) {
      const at = types.indexOf(row.type);
      const place = columns.indexOf(row.column);
      if (card.hidden || at < 0 || place < 0) return false;
      focus(at, place);
      return true;
    },
  };
}
