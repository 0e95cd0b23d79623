// The report, and how to find in it. Indices are made when they are first asked for.

const report = JSON.parse(document.getElementById("data").textContent);
const files = report.files;
const symbols = report.symbols;
const tests = report.tests;
const layers = report.layers;
const contracts = report.contracts;
const knowledge = report.knowledge;

/** Make a value at the first call only. */
function once(make) {
  let value;
  let isMade = false;
  return () => {
    if (!isMade) {
      value = make();
      isMade = true;
    }
    return value;
  };
}

const fileIndex = once(() => new Map(files.map((file, index) => [file.path, index])));
const testIndex = once(() => new Map(tests.name.map((name, index) => [name, index])));
const flakyTests = once(() => new Set(report.now.flaky));

/** Imports of each file: [index of the import]. */
const importsFrom = once(() => d3.group(report.imports.keys(), (index) => report.imports[index][0]));
const importsTo = once(() => d3.group(report.imports.keys(), (index) => report.imports[index][1]));

/** Test → symbols that it executes, of those tests that the report names for a symbol. */
const symbolsOfTest = once(() => {
  const executed = new Map();
  symbols.forEach((symbol, index) => {
    for (const test of symbol[6] ?? []) {
      if (!executed.has(test)) executed.set(test, []);
      executed.get(test).push(index);
    }
  });
  return executed;
});

/** ID → record, with its kind. */
const recordIndex = once(() => {
  const records = new Map();
  const kinds = { decisions: "decision", objectives: "objective", failures: "failure", memories: "memory" };
  for (const [section, kind] of Object.entries(kinds)) {
    for (const record of knowledge[section] ?? []) records.set(record.id, { ...record, kind });
  }
  return records;
});

/** Records about a file or a symbol of it. */
function recordsAbout(key) {
  const about = knowledge.about ?? {};
  return Object.hasOwn(about, key) ? about[key] : [];
}

/** The state of a file as it is drawn: failing goes before what else is known. */
function drawnState(file) {
  if (file.failing) return "failing";
  return STATES.includes(file.state) ? file.state : "unassessed";
}

function symbolAddress(index) {
  const [name, , file] = symbols[index];
  return address("map", { file: nameFor(files[file].path, file), symbol: nameFor(name, index) });
}

function fileAddress(view, index) {
  return address(view, { file: nameFor(files[index].path, index) });
}

function testAddress(index) {
  return address("tests", { test: nameFor(tests.name[index], index) });
}

function recordLink(id) {
  return el("a", { href: address("knowledge", { record: id }) }, id);
}
