// Knowledge: decisions in time, objectives, failures, what waits for review, and how they are linked.

function showKnowledge(container, { settings }) {
  const chosen = settings.get("record") ?? "";
  const records = [...recordIndex().values()];
  container.append(heading("What is written down", knowledgeSentence()));
  if (chosen && !recordIndex().has(chosen)) container.append(el("p", {}, `${visible(chosen, 80)} is not in this report.`));
  if (!records.length) return;
  const record = recordIndex().get(chosen);
  if (record) container.append(el("div", { class: "split record" }, recordPanel(record), linkGraph(record.id)));
  if (knowledge.decisions.length) container.append(timeLine(chosen));
  const columns = [objectiveList(), failureList(), memoryList()].filter((section) => section !== null);
  if (columns.length) container.append(el("div", { class: "columns" }, columns));
  if (!record) container.append(linkGraph(mostLinked()));
  container.append(recordTable(records));
}

function knowledgeSentence() {
  const parts = [
    [knowledge.decisions, "decision", "decisions"],
    [knowledge.objectives, "objective", "objectives"],
    [knowledge.failures, "failure", "failures"],
    [knowledge.memories, "memory that waits for review", "memories that wait for review"],
  ];
  const words = parts.filter(([list]) => list?.length).map(([list, noun, plural]) => counted(list.length, noun, plural));
  return words.length ? `${words.join(", ")}.` : "No decision, objective or failure is recorded.";
}

/** A time that can be drawn; null for what is none. */
function timeOf(text) {
  const time = Date.parse(String(text ?? "").slice(0, 10));
  return Number.isNaN(time) ? null : time;
}

/** Decisions as bars: from their date until another one took their place, or until now. */
function timeLine(chosen) {
  const now = timeOf(report.made.at) ?? Date.now();
  const rows = d3.sort(knowledge.decisions, (left, right) => unknownLast(timeOf(left.date), timeOf(right.date)) || d3.descending(timeOf(left.date), timeOf(right.date)));
  const first = d3.min(rows, (row) => timeOf(row.date)) ?? now - 1;
  const x = d3.scaleUtc([first, Math.max(now, first + 1)], [1, 99]);
  // percent of the axis that a day takes: it is narrow where the style stacks the row (44rem)
  const room = document.documentElement.clientWidth < 704 ? 45 : 12;
  const places = [];
  for (const tick of x.ticks(5)) {
    const place = x(tick);
    if (place > 6 && place < 92 && !(place - places.at(-1)?.place < room)) places.push({ tick, place });
  }
  const ticks = places.map(({ tick, place }) => svg("text", { x: `${place}%`, y: 14, "text-anchor": "middle" }, x.tickFormat(5)(tick)));
  const axis = el("div", { class: "moment axis-row" }, el("span", {}, "Decision"), svg("svg", { class: "axis", height: 18, "aria-hidden": "true" }, ticks), el("span", {}, "Status"));
  const lines = rows.map((row) => timeRow(row, x, now, row.id === chosen));
  const box = el("div", { class: "times", tabindex: "0", role: "region", "aria-label": "Decisions in time" }, axis, el("ol", { class: "plain" }, lines));
  return el("section", {}, el("h2", {}, "Decisions"), box);
}

/** How a decision is drawn: valid, proposed, or over. */
function validity(row) {
  if (row.superseded_by || ["rejected", "superseded", "outdated", "deprecated"].includes(row.status)) return "over";
  return row.status === "accepted" ? "valid" : "proposed";
}

function timeRow(row, x, now, isCurrent) {
  const start = timeOf(row.date);
  const successor = row.superseded_by ? recordIndex().get(row.superseded_by) : null;
  const end = (row.superseded_by ? timeOf(successor?.date) : now) ?? now;
  const bar = svg("svg", { class: `span ${validity(row)}`, height: 18, "aria-hidden": "true" });
  if (start !== null) {
    const width = Math.max(0.8, x(Math.max(start, end)) - x(start));
    bar.append(svg("rect", { x: `${x(start)}%`, y: 5, width: `${width}%`, height: 8 }));
    bar.append(svg("circle", { cx: `${x(start)}%`, cy: 9, r: 4 }));
  }
  const status = row.superseded_by ? ["superseded by ", recordLink(row.superseded_by)] : row.status;
  return el(
    "li",
    { class: "moment", "aria-current": isCurrent ? "true" : null },
    el("span", { class: "name" }, recordLink(row.id), " ", row.title),
    bar,
    el("span", { class: "quiet" }, status, el("span", { class: "day" }, row.date ? ` ${String(row.date).slice(0, 10)}` : "")),
  );
}

function objectiveList() {
  if (!knowledge.objectives?.length) return null;
  const line = (objective) => {
    const known = typeof objective.progress === "number";
    const meter = known ? el("progress", { max: 1, value: objective.progress, "aria-label": `Progress of ${objective.id}` }) : null;
    const words = known ? ` ${percent(objective.progress, 1)}` : " progress unknown";
    return [el("div", {}, recordLink(objective.id), " ", objective.title), el("div", { class: "quiet" }, meter, words, `, ${visible(objective.status)}`)];
  };
  return el("section", {}, el("h2", {}, "Objectives"), shortList(knowledge.objectives, line));
}

function failureList() {
  if (!knowledge.failures?.length) return null;
  const line = (failure) => [recordLink(failure.id), " ", failure.title, " ", el("span", { class: "quiet" }, `${visible(failure.status)} ${visible(failure.date ?? "").slice(0, 10)}`)];
  return el("section", {}, el("h2", {}, "Failures"), shortList(knowledge.failures, line));
}

function memoryList() {
  if (!knowledge.memories?.length) return null;
  const line = (memory) => [el("div", {}, recordLink(memory.id), " ", memory.title), el("div", { class: "quiet" }, memory.evidence ? `Evidence: ${visible(memory.evidence)}` : "without evidence")];
  return el("section", {}, el("h2", {}, "Waiting for review"), shortList(knowledge.memories, line), el("p", { class: "more" }, "Review them: ", el("code", {}, "kl memory review")));
}

function recordPanel(record) {
  const supersedes = knowledge.decisions.filter((row) => row.superseded_by === record.id);
  const about = (path) => (fileIndex().has(path) ? el("a", { href: fileAddress("map", fileIndex().get(path)) }, path) : path);
  return el(
    "div",
    { class: "panel" },
    el("h2", {}, `${record.id}: ${visible(record.title)}`),
    facts([
      ["Kind", record.kind],
      ["Status", record.status],
      ["Date", record.date ? String(record.date).slice(0, 10) : ""],
      ["Progress", typeof record.progress === "number" ? percent(record.progress, 1) : ""],
      ["Superseded by", record.superseded_by ? recordLink(record.superseded_by) : ""],
      ["Evidence", record.evidence ?? ""],
      ["File", record.path ?? ""],
    ]),
    supersedes.length ? [el("h3", {}, "Supersedes"), ...shortList(supersedes, (row) => [recordLink(row.id), " ", row.title])] : null,
    record.about?.length ? [el("h3", {}, "About"), ...shortList(record.about, (path) => [about(path)])] : null,
    linkList(record.id),
  );
}

function linkList(id) {
  const links = knowledge.links.filter(([from, , to]) => from === id || to === id);
  if (!links.length) return null;
  const line = ([from, kind, to]) => [from === id ? "this" : nodeLink(from), ` ${visible(kind.replaceAll("_", " "))} `, to === id ? "this" : nodeLink(to)];
  return [el("h3", {}, "Links"), ...shortList(links, line)];
}

/** A link to a record, or the name of what is none. */
function nodeLink(id) {
  return recordIndex().has(id) ? recordLink(id) : el("span", {}, id);
}

function mostLinked() {
  const counts = d3.rollup(knowledge.links.flatMap(([from, , to]) => [from, to]), (ends) => ends.length, (id) => id);
  return d3.greatest(counts, (pair) => pair[1])?.[0] ?? "";
}

const MOST_NODES = 24;

/** The records around one, two links far, as a graph in ranks. */
function linkGraph(center) {
  const { nodes, edges } = neighbors(center);
  if (edges.length < 1) return el("div", {});
  const graph = new dagre.graphlib.Graph({ multigraph: true });
  graph.setGraph({ rankdir: "LR", nodesep: 10, ranksep: 70, marginx: 4, marginy: 4 });
  graph.setDefaultEdgeLabel(() => ({}));
  for (const id of nodes) graph.setNode(id, { width: Math.min(220, visible(id, 28).length * 7.3 + 20), height: 26 });
  edges.forEach(([from, kind, to], number) => graph.setEdge(from, to, { kind }, String(number)));
  dagre.layout(graph);
  const { width, height } = graph.graph();
  const picture = svg("svg", { class: "picture links", viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `Links around ${visible(center, 80)}` });
  picture.style.width = `${width}px`;
  for (const edge of graph.edges()) picture.append(...edgePicture(graph.edge(edge)));
  for (const id of nodes) picture.append(nodePicture(id, graph.node(id), id === center));
  arrowKeys(picture);
  return el("section", {}, el("h2", {}, "Links around ", nodeLink(center)), el("div", { class: "scroller", tabindex: "0", role: "region", "aria-label": "Graph of links" }, picture));
}

function neighbors(center) {
  const nodes = new Set([center]);
  for (let distance = 0; distance < 2; distance += 1) {
    const before = new Set(nodes);
    for (const [from, , to] of knowledge.links) {
      if (nodes.size >= MOST_NODES) break;
      if (before.has(from)) nodes.add(to);
      if (before.has(to)) nodes.add(from);
    }
  }
  const edges = knowledge.links.filter(([from, , to]) => nodes.has(from) && nodes.has(to) && from !== to);
  return { nodes: [...nodes], edges };
}

function edgePicture({ points, kind }) {
  const line = d3.line((point) => point.x, (point) => point.y).curve(d3.curveBasis);
  const middle = points[Math.floor(points.length / 2)];
  return [
    svg("path", { class: "edge", d: line(points) }, svg("title", {}, kind)),
    svg("text", { class: "edge-kind", x: middle.x, y: middle.y - 3, "text-anchor": "middle" }, visible(kind.replaceAll("_", " "), 16)),
  ];
}

function nodePicture(id, { x, y, width, height }, isCurrent) {
  const record = recordIndex().get(id);
  const box = { x: x - width / 2, y: y - height / 2, width, height };
  const parts = [
    svg("title", {}, record ? `${id}: ${visible(record.title)}` : id),
    svg("rect", { class: "node", rx: 3, ...box }),
    svg("rect", { class: "frame", ...box }),
    svg("text", { x, y: y + 4, "text-anchor": "middle" }, shortened(id, width)),
  ];
  if (!record) return svg("g", {}, parts);
  const label = `${id}: ${visible(record.title)}`;
  return svg("a", { href: address("knowledge", { record: id }), "aria-label": label, tabindex: "-1", "aria-current": isCurrent ? "true" : null }, parts);
}

function recordTable(records) {
  const table = bigTable({
    caption: "Records",
    rows: records,
    words: (record) => `${record.id} ${record.kind} ${record.title} ${record.status}`,
    nothing: "No record matches the filter.",
    columns: [
      { title: "Record", cell: (record) => recordLink(record.id), order: (record) => record.id, width: "9rem" },
      { title: "Title", cell: (record) => el("span", { title: record.title }, record.title), order: (record) => record.title },
      { title: "Kind", cell: (record) => record.kind, order: (record) => record.kind, width: "7rem", minor: true },
      { title: "Status", cell: (record) => record.status, order: (record) => record.status, width: "8rem" },
      { title: "Date", cell: (record) => String(record.date ?? "").slice(0, 10), order: (record) => record.date ?? null, width: "7.5rem", minor: true },
    ],
  });
  return el("div", {}, tableTools(table, records.length, "record", "Filter records"), table.element);
}
