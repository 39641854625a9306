// Native scores against the annotators' means. Tests at the same place share a circle.

const SVG = "http://www.w3.org/2000/svg";
const SIDE = 260;
const MARGIN = { left: 44, right: 16, top: 14, bottom: 40 };
const TICKS = [0, 0.25, 0.5, 0.75, 1];

function svg(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// Per place its tests; the largest first, so that small circles are drawn over large ones.
function placesOf(rows, metric) {
  const places = new Map();
  for (const row of rows) {
    const native = row.values[metric.index];
    const mean = row.means[metric.metric];
    if (native === null || typeof mean !== "number") continue;
    const key = `${mean} ${native}`;
    if (!places.has(key)) places.set(key, { key, mean, native, rows: [] });
    places.get(key).rows.push(row);
  }
  return [...places.values()].sort((a, b) => b.rows.length - a.rows.length);
}

function placeWords(metric, place) {
  return `native ${shownScore(place.native)}, annotated ${shownScore(place.mean)}`;
}

// open(metric, place) shows the tests of a circle.
function makeScatter(rows, metric, open) {
  const places = placesOf(rows, metric);
  const lowest = Math.min(0, ...places.map((place) => place.native));
  const low = -0.04;
  const bottom = lowest < 0 ? lowest - 0.04 : low;
  const high = 1.04;
  const x = (value) => MARGIN.left + ((value - low) / (high - low)) * SIDE;
  const y = (value) => MARGIN.top + ((high - value) / (high - bottom)) * SIDE;
  const width = MARGIN.left + SIDE + MARGIN.right;
  const height = MARGIN.top + SIDE + MARGIN.bottom;
  const clip = `clip-${metric.index}`;
  const t = page.threshold;
  const corners = [[low, low - t], [low, low + t], [high, high + t], [high, high - t]];
  const drawing = svg("svg", { class: "scatter", viewBox: `0 0 ${width} ${height}`, role: "group", "aria-labelledby": `scatter-title-${metric.index}` });
  drawing.append(
    svg("clipPath", { id: clip }, svg("rect", { x: MARGIN.left, y: MARGIN.top, width: SIDE, height: SIDE })),
    svg("g", { "clip-path": `url(#${clip})`, "aria-hidden": "true" },
      svg("polygon", { class: "scatter-band", points: corners.map(([a, b]) => `${x(a)},${y(b)}`).join(" ") }),
      svg("line", { class: "scatter-even", x1: x(low), y1: y(low), x2: x(high), y2: y(high) })));
  const axes = svg("g", { "aria-hidden": "true", class: "scatter-axes" });
  for (const tick of TICKS) {
    axes.append(
      svg("text", { x: x(tick), y: MARGIN.top + SIDE + 16, "text-anchor": "middle" }, String(tick)),
      svg("text", { x: MARGIN.left - 8, y: y(tick) + 4, "text-anchor": "end" }, String(tick)));
  }
  axes.append(
    svg("path", { d: `M${MARGIN.left} ${MARGIN.top}V${MARGIN.top + SIDE}H${MARGIN.left + SIDE}` }),
    svg("text", { x: MARGIN.left + SIDE / 2, y: height - 6, "text-anchor": "middle" }, "annotators' mean"),
    svg("text", { x: 0, y: 0, "text-anchor": "middle", transform: `translate(11 ${MARGIN.top + SIDE / 2}) rotate(-90)` }, "native score"));
  drawing.append(axes);

  const circles = places.map((place) => {
    const verdict = verdictOf(place.rows[0], metric);
    const name = `${counted(place.rows.length, "test")}: ${placeWords(metric, place)}, ${verdict.name}`;
    const circle = svg("circle", {
      class: `scatter-dot ${verdict.square}`, cx: x(place.mean), cy: y(place.native),
      r: Math.min(26, 4 + 1.6 * Math.sqrt(place.rows.length - 1)), role: "button", tabindex: -1, "aria-label": name,
    }, svg("title", {}, name));
    circle.addEventListener("click", () => { enter(place); open(metric, place); });
    return circle;
  });
  // Arrow keys go through the circles from left to right, then upwards.
  const order = places.map((_, at) => at).sort((a, b) => places[a].mean - places[b].mean || places[a].native - places[b].native);
  let active = 0;
  function enter(place) { setActive(order.indexOf(places.indexOf(place))); }
  function setActive(at) {
    if (!order.length) return;
    circles[order[active]].setAttribute("tabindex", "-1");
    active = Math.max(0, Math.min(order.length - 1, at));
    circles[order[active]].setAttribute("tabindex", "0");
  }
  setActive(0);
  const group = svg("g", {}, ...circles);
  group.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const moves = { ArrowRight: active + 1, ArrowUp: active + 1, ArrowLeft: active - 1, ArrowDown: active - 1, Home: 0, End: order.length - 1 };
    if (event.key in moves) {
      setActive(moves[event.key]);
      circles[order[active]].focus();
    } else if (event.key === "Enter" || event.key === " ") open(metric, places[order[active]]);
    else return;
    event.preventDefault();
  });
  drawing.append(group);

  const facts = [`${number(metric.scored)} scored`];
  if (metric.mae !== null) facts.push(`mean error ${metric.mae.toFixed(3)}`);
  if (metric.spearman !== null) facts.push(`Spearman ${metric.spearman.toFixed(2)}`);
  return make("section", { class: "scatter-card", "aria-labelledby": `scatter-title-${metric.index}` },
    make("h3", { id: `scatter-title-${metric.index}`, dir: "auto" }, make("span", { class: "run-number" }, metric.short), ` ${metric.title}`),
    make("p", { class: "minor" }, facts.join(" · ")), drawing);
}
