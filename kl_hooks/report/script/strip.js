// The history of a test as a strip: one bar for each run, newest at the right.
// Height and fill say what happened, so that the colors are not needed.

const BAR = 6;
const STRIP_HEIGHT = 20;
const BASE = 16;
const BARS = {
  p: { kind: "p", top: 10 },
  k: { kind: "k", top: 5 },
  f: { kind: "f", top: 0 },
  e: { kind: "f", top: 0 },
  x: { kind: "x", top: 7 },
  u: { kind: "x", top: 2 },
  s: { kind: "s", top: 11 },
};

/** The picture of a strip; capital letters are runs in another environment, or in an unknown one. */
function stripPicture(strip) {
  const paths = { p: "", k: "", f: "", x: "", s: "", n: "", other: "" };
  for (let run = 0; run < strip.length; run += 1) {
    const letter = strip[run].toLowerCase();
    const x = run * BAR;
    const bar = BARS[letter];
    if (!bar) paths.n += `M${x} ${BASE - 1}h${BAR - 2}v1h-${BAR - 2}z`;
    else if (bar.kind === "s") paths.s += `M${x + 0.5} ${bar.top + 0.5}h3v4h-3z`;
    else paths[bar.kind] += `M${x} ${bar.top}h${BAR - 2}v${BASE - bar.top}h-${BAR - 2}z`;
    if (strip[run] !== letter) paths.other += `M${x} ${BASE + 2}h${BAR - 2}v2h-${BAR - 2}z`;
  }
  const width = Math.max(1, strip.length * BAR);
  const picture = svg("svg", { class: "strip", width, height: STRIP_HEIGHT, role: "img", "aria-label": stripWords(strip) });
  for (const [kind, path] of Object.entries(paths)) {
    if (path) picture.append(svg("path", { class: kind, d: path }));
  }
  return picture;
}

function stripWords(strip) {
  const counts = d3.rollup(strip.toLowerCase(), (letters) => letters.length, (letter) => letter);
  const parts = [...counts].map(([letter, number]) => `${count(number)} ${outcomeWord(letter)}`);
  return `${counted(strip.length, "run")}: ${parts.join(", ")}`;
}

/** How often a test changed between passed and failed. */
function flips(strip) {
  const ends = [...strip.toLowerCase()].filter((letter) => "pfek".includes(letter)).map((letter) => "pk".includes(letter));
  return d3.pairs(ends).filter(([before, after]) => before !== after).length;
}

const TREND = { width: 84, height: 20 };

/** Durations as a line; the newest is a dot. Empty where there are fewer than two. */
function trendPicture(durations) {
  const points = (durations ?? []).map((value, run) => [run, value]).filter((point) => point[1] !== null);
  if (points.length < 2) return "";
  const x = d3.scaleLinear([0, durations.length - 1], [2, TREND.width - 4]);
  const y = d3.scaleLinear([0, d3.max(points, (point) => point[1]) || 1], [TREND.height - 2, 3]);
  const line = d3.line((point) => x(point[0]), (point) => y(point[1]));
  const last = points.at(-1);
  const label = `from ${duration(points[0][1])} to ${duration(last[1])}`;
  return svg(
    "svg",
    { class: "trend", ...TREND, role: "img", "aria-label": label },
    svg("path", { d: line(points) }),
    svg("circle", { cx: x(last[0]), cy: y(last[1]), r: 2.2 }),
  );
}

/** What the bars of a strip mean. */
function stripLegend() {
  const shown = [["p", "passed"], ["k", "passed on a rerun"], ["f", "failed or error"], ["x", "expected failure"], ["u", "passed unexpectedly"], ["s", "skipped"], [".", "not run"], ["P", "mark below: another environment, or unknown"]];
  return el("ul", { class: "legend quiet" }, shown.map(([letter, words]) => {
    const picture = stripPicture(letter);
    picture.setAttribute("aria-hidden", "true");
    picture.removeAttribute("role");
    return el("li", {}, picture, ` ${words}`);
  }));
}
