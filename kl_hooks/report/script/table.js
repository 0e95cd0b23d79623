// A table of any length: only the rows in sight are in the document.

const ROW = 32;
const SPARE = 8;

/** `minor`: not in a narrow window; `unprinted`: paper has no room for it. */
function columnClasses(column) {
  return ["number", "minor", "unprinted"].filter((name) => column[name]).join(" ");
}

/**
 * Make a table.
 *
 * `columns`: {title, cell(row) → element or text, order(row) → sort key, width, number, minor, unprinted}.
 * `rows`: anything. `words(row)`: the text that a filter searches. `height`: in pixels at most.
 * Returns `element`, `show(rows)` and `filter(text) → number of rows`.
 */
function bigTable({ caption, columns, rows, words, height = 480, sort = null, nothing = "Nothing here." }) {
  const body = el("tbody");
  const above = el("tbody", { class: "gap", "aria-hidden": "true" }, el("tr", {}, el("td")));
  const below = above.cloneNode(true);
  const heads = columns.map((column, index) => head(column, index));
  const table = el("table", {}, el("caption", {}, caption), el("thead", {}, el("tr", {}, heads)), above, body, below);
  const empty = el("p", { class: "nothing", hidden: "" }, nothing);
  const element = el("div", { class: "table", tabindex: "0", role: "region", "aria-label": caption }, table, empty);
  element.style.maxHeight = `${height}px`;

  let all = rows;
  let shown = rows;
  let order = sort;
  let pattern = "";
  const drawn = new Map();

  function head(column, index) {
    const classes = columnClasses(column);
    const cell = el("th", { scope: "col", class: classes || null });
    if (column.width) cell.style.width = column.width;
    if (!column.order) return fill(cell, el("span", {}, column.title));
    const button = el("button", { type: "button" }, column.title);
    button.addEventListener("click", () => {
      const isSame = order && order.index === index;
      order = { index, down: isSame ? !order.down : Boolean(column.number) };
      arrange();
    });
    return fill(cell, button);
  }

  function arrange() {
    const needle = pattern.toLowerCase();
    shown = needle ? all.filter((row) => words(row).toLowerCase().includes(needle)) : all.slice();
    heads.forEach((cell, index) => {
      const isSorted = order && order.index === index;
      if (!isSorted) cell.removeAttribute("aria-sort");
      else cell.setAttribute("aria-sort", order.down ? "descending" : "ascending");
      const button = cell.querySelector("button");
      const sign = order && order.down ? " ↓" : " ↑";
      if (button) button.textContent = columns[index].title + (isSorted ? sign : "");
    });
    if (order) {
      const key = columns[order.index].order;
      const compare = order.down ? d3.descending : d3.ascending;
      shown = shown.map((row) => [key(row), row]);
      shown.sort((left, right) => unknownLast(left[0], right[0]) || compare(left[0], right[0]));
      shown = shown.map((pair) => pair[1]);
    }
    clear();
    element.scrollTop = 0;
    draw();
  }

  function clear() {
    for (const line of drawn.values()) line.remove();
    drawn.clear();
  }

  function draw(everything = 0) {
    const first = everything ? 0 : Math.max(0, Math.floor(element.scrollTop / ROW) - SPARE);
    const inSight = Math.ceil((element.clientHeight || height) / ROW) + 2 * SPARE;
    const end = Math.min(shown.length, everything || first + inSight);
    for (const [index, line] of drawn) {
      if ((index < first || index >= end) && !line.contains(document.activeElement)) {
        line.remove();
        drawn.delete(index);
      }
    }
    let next = null;
    for (let index = end - 1; index >= first; index -= 1) {
      if (!drawn.has(index)) drawn.set(index, line(index));
      const element = drawn.get(index);
      if (element.nextSibling !== next || element.parentNode !== body) body.insertBefore(element, next);
      next = element;
    }
    const loose = [...drawn.keys()].filter((index) => index < first || index >= end).length;
    const lower = (shown.length - end) * ROW;
    above.firstChild.firstChild.style.height = `${Math.max(0, first - loose) * ROW}px`;
    below.firstChild.firstChild.style.height = `${Math.max(0, lower)}px`;
    above.hidden = first - loose <= 0;
    below.hidden = lower <= 0;
    table.setAttribute("aria-rowcount", shown.length + 1);
    table.hidden = shown.length === 0;
    empty.hidden = shown.length > 0;
  }

  function line(index) {
    const row = shown[index];
    const cells = columns.map((column) => {
      const classes = columnClasses(column);
      return el("td", { class: classes || null }, column.cell(row));
    });
    return el("tr", { "aria-rowindex": index + 2 }, cells);
  }

  element.addEventListener("scroll", () => requestAnimationFrame(() => draw()), { passive: true });
  element.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const active = document.activeElement.closest("tr[aria-rowindex]");
    if (!step || !active || !element.contains(active)) return;
    const index = Number(active.getAttribute("aria-rowindex")) - 2 + step;
    if (index < 0 || index >= shown.length) return;
    event.preventDefault();
    const top = index * ROW;
    if (top < element.scrollTop) element.scrollTop = top;
    const lowest = element.scrollTop + element.clientHeight - 2 * ROW;
    if (top > lowest) element.scrollTop += top - lowest;
    draw();
    drawn.get(index).querySelector("a, button")?.focus({ preventScroll: true });
    draw();
  });
  whenPrinted(element, () => draw(500), () => draw());
  arrange();

  return {
    element,
    show(rows) {
      all = rows;
      arrange();
      return shown.length;
    },
    filter(text) {
      pattern = text;
      arrange();
      return shown.length;
    },
  };
}

/** What is unknown comes last, whichever way the rest is sorted. */
function unknownLast(left, right) {
  const isLeftUnknown = left === null || left === undefined;
  const isRightUnknown = right === null || right === undefined;
  return Number(isLeftUnknown) - Number(isRightUnknown);
}

const printed = new Set();

/** Draw otherwise while the page is printed. */
function whenPrinted(element, before, after) {
  printed.add({ element, before, after });
}

function printAll(step) {
  for (const drawing of printed) {
    if (drawing.element.isConnected) drawing[step]();
    else printed.delete(drawing);
  }
}
addEventListener("beforeprint", () => printAll("before"));
addEventListener("afterprint", () => printAll("after"));
