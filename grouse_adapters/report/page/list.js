// A list of any length of which only what is in view exists. It scrolls with the page.

const PRINTED_ROWS = 200;
const OVERSCAN = 6;

// columns: headings; render(item) gives the cells of a row as elements; open(item) opens it.
function makeList(host, { label, columns, render, open, isOpen }) {
  let items = [];
  let active = 0;
  const drawn = new Map();
  const heading = make("div", { role: "row", class: "list-row list-head", "aria-rowindex": 1 },
    ...columns.map(({ name, short, className }) =>
      make("span", { role: "columnheader", class: className, title: short ? name : null, "aria-label": short ? name : null }, short || name)));
  const body = make("div", { role: "rowgroup", class: "list-body" });
  const none = make("p", { class: "none", hidden: true }, "Nothing matches. Clear the search or choose another filter.");
  const grid = make("div", { role: "grid", class: "list", "aria-label": label, "aria-colcount": columns.length },
    make("div", { role: "rowgroup" }, heading), body);
  const cut = make("p", { class: "none", hidden: true });
  host.append(grid, none, cut);

  function rowHeight() {
    return parseFloat(getComputedStyle(grid).getPropertyValue("--row-height")) || 64;
  }

  function range(height) {
    if (printing.now) return [0, Math.min(items.length, PRINTED_ROWS)];
    const top = body.getBoundingClientRect().top;
    const first = Math.floor(-top / height) - OVERSCAN;
    const last = Math.ceil((innerHeight - top) / height) + OVERSCAN;
    return [Math.max(0, first), Math.max(0, Math.min(items.length, last))];
  }

  function draw() {
    const height = rowHeight();
    const [first, last] = range(height);
    cut.hidden = !printing.now || items.length <= PRINTED_ROWS;
    cut.textContent = cut.hidden ? "" : `Printed: the first ${PRINTED_ROWS} of ${number(items.length)}. Filter to print others.`;
    body.style.height = printing.now ? "auto" : `${items.length * height}px`;
    const wanted = new Set();
    for (let at = first; at < last; at += 1) wanted.add(at);
    if (items.length && !printing.now) wanted.add(active); // it holds the tab stop
    for (const [at, element] of drawn) {
      if (!wanted.has(at)) { element.remove(); drawn.delete(at); }
    }
    for (const at of wanted) {
      let element = drawn.get(at);
      if (!element) {
        element = make("div", { role: "row", class: "list-row", "aria-rowindex": at + 2 }, ...render(items[at]));
        element.dataset.at = at;
        drawn.set(at, element);
      }
      element.style.transform = printing.now ? "" : `translateY(${at * height}px)`;
      element.tabIndex = at === active ? 0 : -1;
      element.setAttribute("aria-selected", String(isOpen(items[at])));
    }
    // In the order of the list, for screen readers that read on; moving focused rows is avoided.
    let previous = null;
    for (const at of [...drawn.keys()].sort((a, b) => a - b)) {
      const element = drawn.get(at);
      const place = previous ? previous.nextSibling : body.firstChild;
      if (place !== element && element !== document.activeElement) body.insertBefore(element, place);
      previous = element;
    }
  }

  function scrollTo(at) {
    active = Math.max(0, Math.min(items.length - 1, at));
    const height = rowHeight();
    const top = body.getBoundingClientRect().top + active * height;
    const margin = parseFloat(getComputedStyle(grid).getPropertyValue("--list-margin")) || 0;
    if (top < margin) scrollBy(0, top - margin);
    else if (top + height > innerHeight - 8) scrollBy(0, top + height - innerHeight + 8);
    draw();
  }

  function focus(at) {
    scrollTo(at);
    const element = drawn.get(active);
    if (element) element.focus({ preventScroll: true });
  }

  body.addEventListener("click", (event) => {
    const element = event.target.closest(".list-row");
    if (!element || String(getSelection())) return;
    active = Number(element.dataset.at);
    draw();
    open(items[active]);
  });
  body.addEventListener("focusin", (event) => {
    const element = event.target.closest(".list-row");
    if (element && Number(element.dataset.at) !== active) { active = Number(element.dataset.at); draw(); }
  });
  body.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = Math.max(1, Math.floor(innerHeight / rowHeight()) - 2);
    const moves = { ArrowDown: active + 1, ArrowUp: active - 1, PageDown: active + step, PageUp: active - step, Home: 0, End: items.length - 1 };
    if (event.key in moves) focus(moves[event.key]);
    else if (event.key === "Enter" || event.key === " ") open(items[active]);
    else return;
    event.preventDefault();
  });
  const redraw = perFrame(draw);
  addEventListener("scroll", redraw, { passive: true });
  new ResizeObserver(redraw).observe(grid);
  addEventListener("resize", redraw);
  onPrint.push(draw);

  return {
    show(next) {
      const kept = items[active];
      items = next;
      active = Math.max(0, items.indexOf(kept));
      for (const element of drawn.values()) element.remove();
      drawn.clear();
      grid.setAttribute("aria-rowcount", items.length + 1);
      grid.hidden = !items.length;
      none.hidden = items.length > 0;
      draw();
    },
    refresh: redraw,
    reveal(item) {
      if (items.includes(item)) scrollTo(items.indexOf(item));
    },
    // False when the item is not in the list.
    focusOn(item) {
      const at = items.indexOf(item);
      if (at >= 0) focus(at);
      return at >= 0;
    },
    next(item, by) {
      const at = items.indexOf(item);
      return at < 0 ? undefined : items[at + by];
    },
    place(item) { return items.indexOf(item); },
    get size() { return items.length; },
  };
}
