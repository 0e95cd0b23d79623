// Tests: the last runs of each, what fails since when, and how long it takes.

const FAILING = "fe";
const OUTCOME_CHOICES = {
  "": "All outcomes",
  failing: "Failing",
  flaky: "Flaky",
  passed: "Passed",
  skipped: "Skipped",
  expected: "Expected failure",
  unrecorded: "Not run",
};
const STATE_CHOICES = { "": "All", here: "passed here", transferred: "transferred", stale: "must run again", unexecuted: "without a result" };

function showTests(container, { settings }) {
  const chosen = indexFrom(settings.get("test") ?? "", testIndex(), tests.name.length);
  if (chosen >= 0) {
    showTest(container, chosen);
    return;
  }
  const failing = tests.outcome.filter((code) => isFailing(code)).length;
  const title = failing ? `${count(failing)} of ${counted(tests.name.length, "test")} fail` : counted(tests.name.length, "test");
  container.append(heading(title, tests.name.length ? `The last ${counted(report.runs.length, "run")}, the newest at the right.` : "No run of tests was recorded."));
  if (settings.has("test")) container.append(el("p", {}, "No such test is in this report."));
  if (!tests.name.length) return;
  container.append(...testList(settings));
}

function isFailing(code) {
  return FAILING.includes(String(code).toLowerCase());
}

/** Where a test is in a list that begins with what needs somebody. */
function urgency(index) {
  if (isFailing(tests.outcome[index])) return 0;
  if (flakyTests().has(index)) return 1;
  return tests.state[index] === 2 ? 2 : 3;
}

function testList(settings) {
  const wanted = { q: settings.get("q") ?? "", outcome: settings.get("outcome") ?? "", state: settings.get("state") ?? "" };
  const all = d3.sort(d3.range(tests.name.length), urgency);
  const table = bigTable({
    caption: "Tests",
    rows: [],
    words: (index) => tests.name[index],
    nothing: "No test matches.",
    height: Math.max(360, innerHeight - 320),
    columns: testColumns(),
  });
  const number = el("p", { class: "count", role: "status" });
  const query = el("input", { type: "search", autocomplete: "off", value: wanted.q });
  const outcome = choice(OUTCOME_CHOICES, wanted.outcome);
  const state = choice(STATE_CHOICES, wanted.state);
  const apply = () => {
    Object.assign(wanted, { q: query.value.trim(), outcome: outcome.value, state: state.value });
    const needle = wanted.q.toLowerCase();
    const rows = all.filter((index) => hasOutcome(index, wanted.outcome) && hasState(index, wanted.state) && tests.name[index].toLowerCase().includes(needle));
    table.show(rows);
    number.textContent = rows.length === all.length ? counted(all.length, "test") : `${count(rows.length)} of ${counted(all.length, "test")}`;
    const hash = address("tests", wanted);
    if (location.hash !== hash && parseAddress(location.hash).view === "tests") history.replaceState(null, "", hash);
  };
  query.addEventListener("input", paused(80, apply));
  for (const select of [outcome, state]) select.addEventListener("change", apply);
  const tools = el(
    "div",
    { class: "tools" },
    el("label", { class: "wide" }, "Filter tests", query),
    el("label", {}, "Last outcome", outcome),
    el("label", {}, "On this content", state),
    number,
  );
  apply();
  return [tools, stripLegend(), table.element];
}

function choice(choices, current) {
  const options = Object.entries(choices).map(([value, words]) => el("option", { value, selected: value === current ? "" : null }, words));
  return el("select", {}, options);
}

function hasOutcome(index, wanted) {
  const code = String(tests.outcome[index]).toLowerCase();
  if (!wanted) return true;
  if (wanted === "flaky") return flakyTests().has(index);
  if (wanted === "failing") return isFailing(code);
  return { passed: "pk", skipped: "s", expected: "xu", unrecorded: "." }[wanted]?.includes(code) ?? true;
}

function hasState(index, wanted) {
  return !wanted || STATES[tests.state[index]] === wanted;
}

function lastDuration(index) {
  return (tests.ms?.[index] ?? []).findLast((value) => value !== null) ?? null;
}

function testColumns() {
  const name = (index) => tests.name[index];
  const width = `${Math.min(30, Math.max(10, report.runs.length)) * BAR + 20}px`;
  return [
    { title: "Test", cell: (index) => el("a", { class: "test-name", href: testAddress(index), title: name(index) }, testName(name(index))), order: name },
    { title: "Last", cell: outcomeCell, order: (index) => "fekuxsp.".indexOf(String(tests.outcome[index]).toLowerCase()), width: "8.5rem", minor: true },
    { title: "Runs", cell: (index) => stripPicture(tests.strip[index]), width },
    { title: "Flips", cell: (index) => count(flips(tests.strip[index])), order: (index) => flips(tests.strip[index]), number: true, width: "4.5rem", minor: true, unprinted: true },
    { title: "Takes", cell: (index) => duration(lastDuration(index)), order: lastDuration, number: true, width: "6rem", minor: true },
    { title: "Trend", cell: (index) => trendPicture(tests.ms?.[index]), width: "7rem", minor: true, unprinted: true },
    { title: "Red since", cell: sinceCell, order: (index) => tests.red_since[index], width: "22%", minor: true },
  ];
}

/** File and name of a test; where there is little room, its name only. */
function testName(name) {
  const at = name.lastIndexOf("::", 2000) + 2;
  if (at < 2) return [el("span", {}, name)];
  return [el("span", { class: "minor" }, name.slice(0, at)), el("span", {}, name.slice(at))];
}

function outcomeCell(index) {
  const code = tests.outcome[index];
  const word = flakyTests().has(index) && !isFailing(code) ? "flaky" : outcomeWord(code);
  const state = isFailing(code) ? "failing" : (STATES[tests.state[index]] ?? "unassessed");
  return el("span", {}, swatch(state), ` ${word}`);
}

function sinceCell(index) {
  const run = report.runs[tests.red_since[index]];
  if (!run) return "";
  const words = `${moment(run.at).slice(0, 10)} ${tests.since[index] ?? ""}`;
  return el("span", { title: words }, words);
}

function showTest(container, index) {
  const file = tests.file[index];
  const run = report.runs[tests.red_since[index]];
  const executed = symbolsOfTest().get(index) ?? [];
  container.append(
    el("p", { class: "trail" }, el("a", { href: "#tests" }, "All tests")),
    heading(tests.name[index], null),
    el(
      "div",
      { class: "panel" },
      facts([
        ["Last outcome", outcomeCell(index)],
        ["On this content", isFailing(tests.outcome[index]) ? "fails" : (STATE_CHOICES[STATES[tests.state[index]]] ?? "unknown")],
        ["Red since", run ? `${moment(run.at)}, run ${run.id}` : ""],
        ["Changed since it passed", tests.since[index] ?? ""],
        ["Flips", count(flips(tests.strip[index]))],
        ["File", files[file] ? el("a", { href: fileAddress("proof", file) }, files[file].path) : ""],
      ]),
      el("h2", {}, "Runs, the newest at the right"),
      stripPicture(tests.strip[index]),
      stripLegend(),
      durationChart(index),
      executed.length ? el("h2", {}, "Symbols that it executes, of those that name it ", el("span", { class: "quiet" }, count(executed.length))) : null,
      shortList(executed, executedLine),
    ),
    runTable(index),
  );
}

function executedLine(index) {
  const [name, kind, file, line, , , , state] = symbols[index];
  return [swatch(STATES[state] ?? "unassessed"), " ", el("a", { href: symbolAddress(index), title: name }, symbolName(index)), " ", el("span", { class: "quiet" }, `${kind}, ${files[file].path}:${line}`)];
}

/** Durations with an axis: a point for each run that has one. */
function durationChart(index) {
  const durations = tests.ms?.[index] ?? [];
  const points = durations.map((value, run) => [run, value]).filter((point) => point[1] !== null);
  if (points.length < 2) return null;
  const [width, height, left] = [560, 130, 62];
  const x = d3.scaleLinear([0, Math.max(1, durations.length - 1)], [left + 6, width - 8]);
  const y = d3.scaleLinear([0, d3.max(points, (point) => point[1]) || 1], [height - 8, 10]).nice(3);
  const chart = svg("svg", { class: "picture chart", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Duration by run; the table below has the numbers` });
  const axis = svg("g", { class: "axis" });
  for (const tick of y.ticks(3)) {
    axis.append(svg("line", { x1: left, x2: width, y1: y(tick), y2: y(tick) }), svg("text", { x: left - 6, y: y(tick) + 4, "text-anchor": "end" }, duration(tick)));
  }
  const line = d3.line((point) => x(point[0]), (point) => y(point[1]));
  chart.append(axis, svg("path", { class: "line", d: line(points) }));
  for (const [run, value] of points) {
    const failed = isFailing(tests.strip[index][run] ?? ".");
    chart.append(svg(failed ? "rect" : "circle", failed ? { class: "bad", x: x(run) - 3.5, y: y(value) - 3.5, width: 7, height: 7 } : { cx: x(run), cy: y(value), r: 2.5 }));
  }
  return el("div", {}, el("h2", {}, "Duration"), chart, el("p", { class: "more" }, "A square is a run in which it failed."));
}

function runTable(index) {
  const rows = d3.range(report.runs.length).reverse();
  const run = (number) => report.runs[number];
  const code = (number) => tests.strip[index][number] ?? ".";
  const table = bigTable({
    caption: "Runs of this test",
    rows,
    words: (number) => run(number).id,
    height: 420,
    columns: [
      { title: "Run", cell: (number) => moment(run(number).at), order: (number) => run(number).at, width: "11rem" },
      { title: "Outcome", cell: (number) => [isFailing(code(number)) ? swatch("failing") : null, ` ${outcomeWord(code(number))}`], order: code },
      { title: "Takes", cell: (number) => duration(tests.ms?.[index]?.[number] ?? null), order: (number) => tests.ms?.[index]?.[number] ?? null, number: true, width: "6rem" },
      { title: "Commit", cell: (number) => el("code", {}, String(run(number).head).slice(0, 10)), width: "8rem", minor: true },
      { title: "Recorded by", cell: (number) => run(number).by, width: "8rem", minor: true },
      { title: "Environment", cell: (number) => run(number).environment, minor: true },
    ],
  });
  return el("div", {}, el("h2", {}, "The same as a table"), table.element);
}
