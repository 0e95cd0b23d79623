// Numbers, times and the words for states and outcomes.

const STATES = ["here", "transferred", "stale", "unexecuted", "unassessed"];
const STATE_WORDS = {
  here: "proven here",
  transferred: "transferred",
  stale: "stale",
  unexecuted: "never executed",
  unassessed: "not assessed",
  failing: "failing",
};
const STATE_MEANINGS = {
  here: "tests that execute it passed on this content",
  transferred: "tests passed on another content, and what they rest on is the same here",
  stale: "it changed since the tests that execute it passed",
  unexecuted: "no recorded test executes it",
  unassessed: "no run recorded what executes it",
  failing: "a test that executes it fails",
};
const OUTCOMES = {
  p: "passed",
  f: "failed",
  e: "error",
  s: "skipped",
  x: "expected failure",
  u: "passed unexpectedly",
  k: "passed on a rerun",
  ".": "not run",
};

const count = d3.format(",");

/** A number with its noun: `1 file`, `2,000 files`. */
function counted(number, noun, plural = `${noun}s`) {
  return `${count(number)} ${number === 1 ? noun : plural}`;
}

/** A time in milliseconds as people say it. */
function duration(milliseconds) {
  if (milliseconds === null || milliseconds === undefined) return "";
  if (milliseconds < 1000) return `${count(Math.round(milliseconds))} ms`;
  if (milliseconds < 60000) return `${(milliseconds / 1000).toFixed(1)} s`;
  return `${Math.floor(milliseconds / 60000)} min ${Math.round((milliseconds % 60000) / 1000)} s`;
}

function moment(iso) {
  return `${String(iso).slice(0, 10)} ${String(iso).slice(11, 16)}`;
}

function percent(part, whole) {
  return whole ? `${Math.round((100 * part) / whole)} %` : "0 %";
}

/** The color and pattern of a state as a small square. */
function swatch(state) {
  return svg(
    "svg",
    { class: "swatch", width: 14, height: 14, "aria-hidden": "true", focusable: "false" },
    svg("rect", { class: `fill ${state}`, width: 14, height: 14 }),
    svg("rect", { class: `pattern ${state}`, width: 14, height: 14 }),
  );
}

/** A swatch and the word of a state. */
function stateWord(state) {
  return el("span", { class: "state" }, swatch(state), " ", STATE_WORDS[state] ?? state);
}

function outcomeWord(code) {
  return OUTCOMES[String(code).toLowerCase()] ?? "unknown";
}

/** Bar and legend of numbers by state. `parts`: [state, number, words]. */
function stateBar(parts) {
  const total = d3.sum(parts, (part) => part[1]);
  const bar = svg("svg", { class: "bar", height: 22, "aria-hidden": "true", focusable: "false" });
  const legend = el("ul", { class: "legend" });
  let x = 0;
  for (const [state, number, words] of parts) {
    if (!number) continue;
    const width = (100 * number) / total;
    for (const layer of ["fill", "pattern"]) {
      bar.append(svg("rect", { class: `${layer} ${state}`, x: `${x}%`, width: `${width}%`, height: 22 }));
    }
    legend.append(
      el("li", { title: STATE_MEANINGS[state] }, swatch(state), " ", el("strong", {}, percent(number, total)), ` ${words}`),
    );
    x += width;
  }
  return el("div", {}, bar, legend);
}
