// The floors of the map: layers in their order, or folders where there is no manifest.

const OUTSIDE = "in no layer";

/** The parts that the map draws: {name, files, rank, layer, lines}. */
const groups = once(() => {
  const code = d3.range(files.length).filter((index) => !files[index].test);
  if (!layers.length) return folderGroups(code);
  const byLayer = d3.group(code, (index) => files[index].layer);
  const parts = layers.map((layer, index) => group(layer.name, byLayer.get(index) ?? [], layer.rank, index));
  const outside = byLayer.get(null) ?? [];
  if (outside.length) parts.push(group(OUTSIDE, outside, -1, null));
  return parts;
});

function group(name, indices, rank, layer) {
  const lines = d3.sum(indices, (index) => files[index].lines);
  return { name, files: indices, rank, layer, lines };
}

function folderGroups(code) {
  if (!code.length) return [];
  const root = commonFolder(folderTree(code));
  const parts = [...root.folders.values()].map((folder) => group(folder.path, filesBelow(folder), 0, null));
  if (root.files.length) parts.push(group(root.path || ".", root.files, 0, null));
  rankByImports(parts);
  return parts;
}

function filesBelow(folder) {
  return [...folder.files, ...[...folder.folders.values()].flatMap(filesBelow)];
}

/** Without a manifest: what imports is above what it imports, as far as there are no cycles. */
function rankByImports(parts) {
  const graph = new dagre.graphlib.Graph();
  graph.setGraph({ acyclicer: "greedy", rankdir: "TB" });
  graph.setDefaultEdgeLabel(() => ({}));
  const partOf = new Map(parts.flatMap((part, number) => part.files.map((index) => [index, number])));
  parts.forEach((_, number) => graph.setNode(String(number), { width: 10, height: 10 }));
  for (const [source, target] of report.imports) {
    const [from, to] = [partOf.get(source), partOf.get(target)];
    if (from !== undefined && to !== undefined && from !== to) graph.setEdge(String(from), String(to));
  }
  dagre.layout(graph);
  const height = (number) => graph.node(String(number)).y;
  const heights = [...new Set(d3.range(parts.length).map(height))].sort(d3.descending);
  parts.forEach((part, number) => {
    part.rank = heights.indexOf(height(number));
  });
}

/** File → number of its part. */
const groupOfFile = once(() => new Map(groups().flatMap((part, number) => part.files.map((index) => [index, number]))));

/** Imports between parts: {from, to, allowed, forbidden, accepted, imports}. */
const flows = once(() => {
  const pairs = new Map();
  report.imports.forEach(([source, target, , kind], index) => {
    const [from, to] = [groupOfFile().get(source), groupOfFile().get(target)];
    if (from === undefined || to === undefined || (from === to && !kind)) return;
    const key = `${from} ${to}`;
    if (!pairs.has(key)) pairs.set(key, { from, to, allowed: 0, forbidden: 0, accepted: 0, imports: [] });
    const flow = pairs.get(key);
    flow[["allowed", "forbidden", "accepted"][kind]] += 1;
    flow.imports.push(index);
  });
  return [...pairs.values()];
});

/**
 * Imports between parts that lead down to a part which no other way down reaches: the picture's skeleton. Those that
 * lead up, which a manifest may allow, close cycles: in a cycle each import has another way.
 */
const nearestFlows = once(() => {
  const rank = (number) => groups()[number].rank;
  const allowed = flows().filter((flow) => rank(flow.from) > rank(flow.to) && !flow.forbidden);
  const targets = d3.rollup(allowed, (out) => new Set(out.map((flow) => flow.to)), (flow) => flow.from);
  const reached = (from, seen = new Set()) => {
    for (const to of targets.get(from) ?? []) {
      if (!seen.has(to)) reached(to, seen.add(to));
    }
    return seen;
  };
  const below = new Map(d3.range(groups().length).map((number) => [number, reached(number)]));
  const isShortcut = (flow) => [...targets.get(flow.from)].some((middle) => middle !== flow.to && middle !== flow.from && below.get(middle).has(flow.to));
  return new Set(allowed.filter((flow) => !isShortcut(flow)));
});

const FLOOR = { height: 58, gap: 24, between: 10, open: 300 };

/** Where each part is drawn: {boxes: [{x, y, width, height, part, number}], height, bands}. */
function placeFloors(width, openNumber) {
  const floors = d3.groups(d3.range(groups().length), (number) => groups()[number].rank);
  floors.sort((left, right) => right[0] - left[0]);
  const widest = d3.max(floors, (floor) => d3.sum(floor[1], (number) => groups()[number].lines)) || 1;
  const boxes = [];
  const bands = [];
  let y = 0;
  for (const [, numbers] of floors) {
    const top = y;
    for (const row of rowsOf(numbers, width, widest, openNumber)) {
      const height = row.some((box) => box.number === openNumber) ? FLOOR.open : FLOOR.height;
      let x = (width - d3.sum(row, (box) => box.width) - FLOOR.between * (row.length - 1)) / 2;
      for (const box of row) {
        boxes[box.number] = { ...box, x, y, height, part: groups()[box.number] };
        x += box.width + FLOOR.between;
      }
      y += height + 6;
    }
    bands.push({ y: top - 5, height: y - top + 4 });
    y += FLOOR.gap - 6;
  }
  return { boxes, bands, height: Math.max(40, y - FLOOR.gap + 6) };
}

/** The parts of one floor in rows that fit; the open one has a row of its own. */
function rowsOf(numbers, width, widest, openNumber) {
  const rows = [[]];
  const most = width - 2 * FLOOR.between;
  const rooms = roomsOf(numbers, most, widest);
  let used = 0;
  for (const number of numbers) {
    const room = number === openNumber ? most : rooms.get(number);
    if (rows.at(-1).length && used + room > most) {
      rows.push([]);
      used = 0;
    }
    rows.at(-1).push({ number, width: room });
    used += room + FLOOR.between;
  }
  return rows;
}

/** Widths by code: at least that of the name; a floor that is a little too wide gives way. */
function roomsOf(numbers, most, widest) {
  const sizes = numbers.map((number) => {
    const part = groups()[number];
    const least = Math.min(most, visible(part.name, 40).length * 7.3 + 18);
    return { number, least, spare: Math.max(0, (most * part.lines) / widest - least) };
  });
  const spare = d3.sum(sizes, (size) => size.spare);
  const needed = d3.sum(sizes, (size) => size.least) + FLOOR.between * (sizes.length - 1);
  const scale = needed < most && spare > 0 ? Math.min(1, (most - needed) / spare) : 1;
  return new Map(sizes.map((size) => [size.number, size.least + size.spare * scale]));
}

/** The way of an arrow from one box to another: out of the nearer edge, into the nearer edge. */
function arrowPath(from, to, outAt = 0.5, inAt = 0.5) {
  const startX = from.x + from.width * outAt;
  const endX = to.x + to.width * inAt;
  if (from.y < to.y + to.height && to.y < from.y + from.height) return sidePath(from, to);
  const isDown = to.y > from.y;
  const startY = isDown ? from.y + from.height : from.y;
  const endY = isDown ? to.y - 2 : to.y + to.height + 2;
  const bend = (endY - startY) * 0.45;
  return `M${startX} ${startY}C${startX} ${startY + bend} ${endX} ${endY - bend} ${endX} ${endY}`;
}

/** Between boxes of one height: from the middle of one to the nearer side of the other, in an arc. */
function sidePath(from, to) {
  const startX = from.x + from.width / 2;
  const endX = to.x + to.width / 2;
  const [startY, endY] = [from.y + from.height, to.y + to.height];
  const lowest = Math.max(startY, endY) + 24;
  return `M${startX} ${startY}C${startX} ${lowest} ${endX} ${lowest} ${endX} ${endY + 2}`;
}
