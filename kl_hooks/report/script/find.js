// Search: files, symbols, tests and records with a text in their names.

const MOST_RESULTS = 40;

function showFind(container, { settings }) {
  const query = settings.get("q") ?? "";
  const needle = query.toLowerCase();
  const groups = [
    ["Files", d3.range(files.length), (index) => files[index].path, (index) => [swatch(drawnState(files[index])), " ", el("a", { href: fileAddress("map", index) }, files[index].path)]],
    ["Symbols", d3.range(symbols.length), (index) => symbols[index][0], executedLine],
    ["Tests", d3.range(tests.name.length), (index) => tests.name[index], testLine],
    ["Records", [...recordIndex().values()], (record) => `${record.id} ${record.title}`, (record) => [recordLink(record.id), ` ${visible(record.title)} `, el("span", { class: "quiet" }, record.status)]],
  ];
  const sections = groups.map(([title, all, words, line]) => resultSection(title, all.filter((item) => words(item).toLowerCase().includes(needle)), line));
  const found = sections.filter((section) => section !== null);
  container.append(heading(`Search: ${visible(query, 80)}`, found.length ? null : "Nothing has this in its name."), el("div", { class: "columns" }, found));
}

function resultSection(title, results, line) {
  if (!results.length) return null;
  return el("section", {}, el("h2", {}, `${title} `, el("span", { class: "quiet" }, count(results.length))), shortList(results.slice(0, 2000), line, MOST_RESULTS));
}
