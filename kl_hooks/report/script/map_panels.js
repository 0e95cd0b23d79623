// What is said beside and below the map: of all, of a layer, of the imports between two layers.

function mapPanel(chosen) {
  if (chosen.symbol >= 0) return symbolPanel(chosen.symbol);
  if (chosen.file >= 0) return filePanel(chosen.file, "map");
  if (chosen.flow) return flowPanel(chosen.flow);
  if (chosen.layer >= 0) return layerPanel(chosen.layer);
  return mapHelp();
}

function mapHelp() {
  const problems = d3.range(report.imports.length).filter((index) => report.imports[index][3] > 0);
  const sorted = d3.sort(problems, (index) => report.imports[index][3]);
  return el(
    "div",
    {},
    el("h2", {}, mapVerdict(problems.length)),
    sorted.length ? shortList(sorted, problemLine) : null,
    el("h3", {}, "What the picture shows"),
    el(
      "ul",
      { class: "plain" },
      el("li", {}, "A band is a floor; layers on one floor are siblings."),
      el("li", {}, "An arrow leads from what imports to what is imported."),
      el("li", {}, "Red with ×: forbidden. Dashed: against the rule, but accepted."),
      el("li", {}, "Choose a layer, a module in it, a symbol of that: it shows its tests."),
    ),
  );
}

function mapVerdict(problems) {
  if (problems) return contracts.length ? "Imports against layers or contracts" : "Imports against the layers";
  return report.now.violations.checked ? "No import is against the layers" : "Imports were not judged";
}

function problemLine(index) {
  const [source, target, line, kind, reason, decision] = report.imports[index];
  const word = kind === 1 ? "forbidden" : "accepted";
  return [
    el("strong", { class: word }, word),
    " ",
    el("a", { href: fileAddress("map", source) }, `${files[source].path}:${line}`),
    " imports ",
    el("a", { href: fileAddress("map", target) }, files[target].path),
    " ",
    el("span", { class: "quiet" }, reason),
    " ",
    decision ? recordLink(decision) : null,
  ];
}

function flowPanel(flow) {
  const sorted = d3.sort(flow.imports, (index) => [2, 0, 1][report.imports[index][3]]);
  const line = (index) => {
    const [source, target, number, kind] = report.imports[index];
    if (kind) return problemLine(index);
    const place = el("a", { href: fileAddress("map", source) }, `${files[source].path}:${number}`);
    return [place, " imports ", el("a", { href: fileAddress("map", target) }, files[target].path)];
  };
  const names = [flow.from, flow.to].map((number) => el("a", { href: groupAddress(number) }, groups()[number].name));
  return el("div", {}, el("h2", {}, names[0], " → ", names[1]), el("p", {}, counted(flow.imports.length, "import")), shortList(sorted, line, 20));
}

function layerPanel(number) {
  const part = groups()[number];
  const layer = part.layer === null ? null : layers[part.layer];
  const largest = d3.sort(part.files, (index) => -files[index].lines);
  const module = (index) => [el("a", { href: fileAddress("map", index) }, files[index].path), " ", el("span", { class: "quiet" }, counted(files[index].lines, "line"))];
  return el(
    "div",
    {},
    el("h2", {}, part.name),
    layer?.description ? el("p", {}, layer.description) : null,
    facts([
      ["Modules", count(part.files.length)],
      ["Lines", count(part.lines)],
      ["Decision", layer?.decision ? recordLink(layer.decision) : ""],
    ]),
    flowList("Imports", number, "from", "to"),
    flowList("Imported by", number, "to", "from"),
    el("h3", {}, "Modules ", el("span", { class: "quiet" }, count(part.files.length))),
    shortList(largest, module),
  );
}

function flowList(title, number, own, other) {
  const lines = flows().filter((flow) => flow[own] === number && flow[other] !== number);
  if (!lines.length) return null;
  const line = (flow) => [
    el("a", { href: flowAddress(flow) }, groups()[flow[other]].name),
    " ",
    el("span", { class: "quiet" }, counted(flow.imports.length, "import")),
    flow.forbidden ? [" ", el("strong", { class: "forbidden" }, `${count(flow.forbidden)} forbidden`)] : [],
  ].flat();
  return [el("h3", {}, title), ...shortList(d3.sort(lines, (flow) => -flow.imports.length), line)];
}

function markHits(frame, indices) {
  for (const rectangle of frame.querySelectorAll(".module[data-index]")) {
    rectangle.classList.toggle("hit", indices !== null && indices.has(Number(rectangle.dataset.index)));
  }
}

/** Modules as a table; what its filter finds is marked in the picture. */
function moduleTable(chosen, onHits) {
  const all = chosen.layer >= 0 ? groups()[chosen.layer].files : groups().flatMap((part) => part.files);
  const words = (index) => files[index].path;
  const part = (index) => groups()[groupOfFile().get(index)].name;
  const imports = (index) => (importsFrom().get(index) ?? []).length;
  const importedBy = (index) => (importsTo().get(index) ?? []).length;
  const table = bigTable({
    caption: "Modules",
    rows: all,
    words,
    nothing: "No module matches the filter.",
    height: 360,
    columns: [
      { title: "Module", cell: (index) => el("a", { href: fileAddress("map", index), title: files[index].path }, files[index].path), order: words },
      { title: layers.length ? "Layer" : "Folder", cell: part, order: part, minor: true, width: "16%" },
      { title: "Lines", cell: (index) => count(files[index].lines), order: (index) => files[index].lines, number: true, width: "5rem" },
      { title: "Imports", cell: (index) => count(imports(index)), order: imports, number: true, width: "6rem" },
      { title: "Imported by", cell: (index) => count(importedBy(index)), order: importedBy, number: true, width: "8rem", minor: true },
      { title: "State", cell: (index) => stateWord(drawnState(files[index])), order: (index) => drawnState(files[index]), width: "11rem", minor: true },
    ],
  });
  const tools = tableTools(table, all.length, "module", "Filter modules, and mark them in the picture", (text) => {
    const needle = text.toLowerCase();
    onHits(needle ? new Set(all.filter((index) => words(index).toLowerCase().includes(needle))) : null);
  });
  return el("div", {}, tools, table.element);
}

function flowTable() {
  const name = (number) => groups()[number].name;
  const table = bigTable({
    caption: layers.length ? "Imports between layers" : "Imports between folders",
    rows: flows(),
    words: (flow) => `${name(flow.from)} ${name(flow.to)}`,
    height: 320,
    sort: { index: 3, down: true },
    nothing: "No import between them.",
    columns: [
      { title: "From", cell: (flow) => el("a", { href: flowAddress(flow) }, name(flow.from)), order: (flow) => name(flow.from) },
      { title: "To", cell: (flow) => name(flow.to), order: (flow) => name(flow.to) },
      { title: "Imports", cell: (flow) => count(flow.imports.length), order: (flow) => flow.imports.length, number: true, width: "6rem" },
      { title: "Forbidden", cell: (flow) => (flow.forbidden ? `× ${count(flow.forbidden)}` : ""), order: (flow) => flow.forbidden, number: true, width: "8.5rem" },
      { title: "Accepted", cell: (flow) => (flow.accepted ? count(flow.accepted) : ""), order: (flow) => flow.accepted, number: true, width: "7rem", minor: true },
    ],
  });
  return el("div", {}, el("h3", {}, layers.length ? "Imports between layers" : "Imports between folders"), table.element);
}

/** A table of the contracts of import-linter, the broken ones first; nothing where there are none. */
function contractTables() {
  if (!contracts.length) return [];
  const verdict = (contract) => (contract.breaches ? el("strong", { class: "forbidden" }, "broken") : "kept");
  const table = bigTable({
    caption: "Contracts of import-linter",
    rows: contracts,
    words: (contract) => contract.name,
    height: 320,
    sort: { index: 2, down: true },
    columns: [
      { title: "Contract", cell: (contract) => contract.name, order: (contract) => contract.name },
      { title: "Type", cell: (contract) => contract.type.replace("_", " "), order: (contract) => contract.type, width: "10rem" },
      { title: "Verdict", cell: verdict, order: (contract) => contract.breaches, width: "8rem" },
      { title: "Chains", cell: (contract) => (contract.breaches ? count(contract.breaches) : ""), order: (contract) => contract.breaches, number: true, width: "6rem", minor: true },
      { title: "Decision", cell: (contract) => (contract.decision ? recordLink(contract.decision) : ""), width: "8rem", minor: true },
    ],
  });
  return [el("div", {}, el("h3", {}, "Contracts of import-linter"), table.element)];
}
