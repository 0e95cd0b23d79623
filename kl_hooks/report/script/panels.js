// What is known of one file, one symbol: the same beside the map and beside the proof.

function heading(title, sentence, ...rest) {
  return el(
    "div",
    { class: "title" },
    el("h1", { id: "view-title" }, title),
    sentence ? el("p", {}, sentence) : null,
    ...rest,
  );
}

/** Where a panel is below its picture, show it: it has what was clicked. */
function inSight(panel) {
  if (matchMedia("(max-width: 60rem)").matches) requestAnimationFrame(() => panel.scrollIntoView({ block: "nearest" }));
}

/** A list of links with an end: the first so many, and how many there are. */
function shortList(items, show, most = 8) {
  const list = el("ul", { class: "plain" }, items.slice(0, most).map((item) => el("li", {}, show(item))));
  if (items.length <= most) return [list];
  const more = el("button", { type: "button" }, `Show all ${count(items.length)}`);
  more.addEventListener("click", () => {
    list.append(...items.slice(most, 2000).map((item) => el("li", {}, show(item))));
    list.children[most]?.querySelector("a")?.focus();
    more.remove();
  });
  return [list, more];
}

function facts(pairs) {
  const list = el("dl");
  for (const [term, fact] of pairs) {
    if (fact === "" || fact === null || fact === undefined) continue;
    list.append(el("dt", {}, term), el("dd", {}, fact));
  }
  return list;
}

function recordList(ids) {
  if (!ids.length) return [];
  const lines = (id) => {
    const record = recordIndex().get(id);
    return record ? [recordLink(id), ` ${record.title} `, el("span", { class: "quiet" }, record.status)] : [recordLink(id)];
  };
  return [el("h3", {}, "Records about it"), ...shortList(ids, lines)];
}

/** Number and state of one side of a test: its sign, name and last outcome. */
function testLine(index) {
  const outcome = outcomeWord(tests.outcome[index]);
  const state = outcome === "failed" || outcome === "error" ? "failing" : (STATES[tests.state[index]] ?? "unassessed");
  return [
    swatch(state),
    " ",
    el("a", { href: testAddress(index) }, tests.name[index]),
    " ",
    el("span", { class: "quiet" }, outcome),
  ];
}

function importLine(index, side) {
  const [source, target, line, kind, reason, decision] = report.imports[index];
  const other = side === "from" ? target : source;
  const parts = [el("a", { href: fileAddress("map", other) }, files[other].path), " ", el("span", { class: "quiet" }, `line ${line}`)];
  if (!kind) return parts;
  const word = kind === 1 ? "forbidden" : "accepted";
  parts.push(" ", el("strong", { class: word }, word), " ", el("span", { class: "quiet" }, reason), " ");
  if (decision) parts.push(recordLink(decision));
  return parts;
}

function importLists(index) {
  const parts = [];
  for (const [title, side, imports] of [
    ["Imports", "from", importsFrom().get(index) ?? []],
    ["Imported by", "to", importsTo().get(index) ?? []],
  ]) {
    if (!imports.length) continue;
    const sorted = d3.sort(imports, (number) => [0, -2, -1][report.imports[number][3]]);
    parts.push(el("h3", {}, `${title} `, el("span", { class: "quiet" }, count(imports.length))));
    parts.push(...shortList(sorted, (number) => importLine(number, side)));
  }
  return parts;
}

/** All of one file: state and reason, symbols with their tests, imports, records. */
function filePanel(index, view) {
  const file = files[index];
  const [first, end] = file.symbols;
  const numbers = d3.range(first, end);
  const layer = file.layer === null ? "" : el("a", { href: address("map", { layer: layers[file.layer].name }) }, layers[file.layer].name);
  const symbolLine = (number) => {
    const [name, kind, , line, , executing, , state] = symbols[number];
    return [
      swatch(STATES[state] ?? "unassessed"),
      " ",
      el("a", { href: symbolAddress(number), title: name }, symbolName(number)),
      " ",
      el("span", { class: "quiet" }, `${kind}, line ${line}, ${counted(executing, "test")}`),
    ];
  };
  const other = view === "proof" ? ["map", "Show on the map"] : ["proof", "Show its proof"];
  return el(
    "div",
    {},
    el("h2", {}, file.path),
    facts([
      ["State", stateWord(file.state)],
      ["Why", file.reason],
      ["Lines", count(file.lines)],
      ["Layer", layer],
      ["Failing", file.failing ? counted(file.failing, "test") : ""],
    ]),
    el("p", {}, el("a", { href: fileAddress(other[0], index) }, other[1])),
    recordList(fileRecords(file.path)),
    numbers.length ? [el("h3", {}, "Symbols ", el("span", { class: "quiet" }, count(numbers.length))), ...shortList(numbers, symbolLine, 12)] : null,
    importLists(index),
  );
}

/** One symbol, with the tests that execute it and how each ended last. */
function symbolPanel(index) {
  const [name, kind, file, first, last, executing, named, state] = symbols[index];
  const rest = executing - (named ?? []).length;
  return el(
    "div",
    {},
    el("h2", {}, symbolName(index)),
    facts([
      ["Full name", symbolName(index) === name ? "" : name],
      ["Kind", kind],
      ["File", el("a", { href: fileAddress("map", file) }, files[file].path)],
      ["Lines", `${first} to ${last}`],
      ["State", stateWord(STATES[state] ?? "unassessed")],
    ]),
    el("h3", {}, "Tests that execute it ", el("span", { class: "quiet" }, count(executing))),
    named?.length ? shortList(named, testLine, 20) : el("p", { class: "quiet" }, "No recorded test."),
    rest > 0 && named?.length ? el("p", { class: "more" }, `and ${count(rest)} less specific ones`) : null,
    recordList([...new Set([...fileRecords(files[file].path), ...symbolRecords(index)])]),
  );
}

/** Records about a symbol: their keys end with its name. */
function symbolRecords(index) {
  return Object.keys(knowledge.about ?? {})
    .filter((key) => key.endsWith(`:${symbols[index][0]}`))
    .flatMap((key) => knowledge.about[key]);
}

/** Records about a file, or about a folder that it is in. */
function fileRecords(path) {
  const parts = path.slice(0, 2000).split("/");
  const lengths = d3.range(1, parts.length + 1).reverse();
  return lengths.flatMap((length) => recordsAbout(`file:${parts.slice(0, length).join("/")}`));
}

/** The name of a symbol without that of its module, where the name begins with it. */
function symbolName(index) {
  const [name, , file] = symbols[index];
  const module = lastName(files[file].path).split(".")[0];
  const at = module ? `.${name}`.indexOf(`.${module}.`) : -1;
  const rest = at < 0 ? "" : name.slice(at + module.length + 1);
  return rest || name;
}
