// Map: layers as floors, modules in them by size, imports as arrows.

function showMap(container, { settings }) {
  const chosen = mapChoice(settings);
  container.append(mapHeading());
  if (!groups().length) {
    container.append(el("p", {}, "No module was read."));
    return;
  }
  const frame = el("div", { class: "drawing" });
  const panel = el("div", { class: "panel", "aria-live": "polite" }, mapPanel(chosen));
  let hits = null;
  const onHits = (indices) => {
    hits = indices;
    markHits(frame, hits);
  };
  const trail = el("p", { class: "trail" }, mapTrail(chosen));
  container.append(mapChoices(chosen), trail, el("div", { class: "split" }, frame, panel), moduleTable(chosen, onHits), flowTable(), ...contractTables());
  whenResized(frame, (width) => {
    fill(frame, mapPicture(width, chosen));
    markHits(frame, hits);
  });
  if (chosen.file >= 0 || chosen.flow) inSight(panel);
}

/** What an address of the map names: {layer, file, symbol, flow, folder, arrows}; -1 for none. */
function mapChoice(settings) {
  const byName = new Map(groups().map((part, number) => [part.name, number]));
  const number = (key) => indexFrom(settings.get(key) ?? "", byName, groups().length);
  const file = indexFrom(settings.get("file") ?? "", fileIndex(), files.length);
  const [from, to] = [number("from"), number("to")];
  const flow = flows().find((pair) => pair.from === from && pair.to === to) ?? null;
  const layer = file >= 0 ? (groupOfFile().get(file) ?? -1) : number("layer");
  const symbol = file >= 0 ? symbolFrom(settings.get("symbol") ?? "", file) : -1;
  const standard = flows().length <= 24 ? "all" : "nearest";
  const arrows = settings.get("arrows") ?? standard;
  return { layer, file, symbol, flow, folder: settings.get("folder") ?? "", arrows };
}

function symbolFrom(name, file) {
  const [first, end] = files[file].symbols;
  const within = new Map(d3.range(first, end).map((index) => [symbols[index][0], index]));
  return indexFrom(name, within, symbols.length);
}

function groupAddress(number, settings = {}) {
  return address("map", { layer: nameFor(groups()[number].name, number), ...settings });
}

function flowAddress(flow) {
  const [from, to] = [flow.from, flow.to].map((number) => nameFor(groups()[number].name, number));
  return address("map", { from, to });
}

function mapHeading() {
  if (!layers.length) {
    return heading("Folders and their imports", "There is no manifest of layers: what imports is drawn above what it imports.");
  }
  const forbidden = d3.sum(flows(), (flow) => flow.forbidden);
  const title = forbidden ? `${counted(forbidden, "import")} against ${contracts.length ? "layers or contracts" : "the order of layers"}` : "Layers and their imports";
  return heading(title, "A layer imports layers below it, as the manifest allows. Boxes are as large as their code.");
}

function mapTrail(chosen) {
  const parts = [el("a", { href: "#map" }, layers.length ? "All layers" : "All folders")];
  if (chosen.layer >= 0) parts.push(" / ", el("a", { href: groupAddress(chosen.layer) }, groups()[chosen.layer].name));
  if (chosen.file >= 0) parts.push(" / ", el("a", { href: fileAddress("map", chosen.file) }, lastName(files[chosen.file].path)));
  if (chosen.symbol >= 0) parts.push(" / ", symbolName(chosen.symbol));
  return parts;
}

/** The name of a file without its folders. */
function lastName(path) {
  return path.slice(-200).split("/").at(-1);
}

function mapChoices(chosen) {
  const layer = chosen.layer >= 0 ? nameFor(groups()[chosen.layer].name, chosen.layer) : "";
  const file = chosen.file >= 0 ? nameFor(files[chosen.file].path, chosen.file) : "";
  const link = (arrows, text) => {
    const href = address("map", { layer, file, arrows });
    return el("a", { href, "aria-current": chosen.arrows === arrows ? "true" : null }, text);
  };
  return el("p", { class: "choices" }, "Arrows: ", link("problems", "forbidden and accepted"), link("nearest", "and to the nearest layers"), link("all", "all imports"));
}

function mapPicture(width, chosen) {
  const { boxes, bands, height } = placeFloors(width, chosen.layer);
  const label = "Layers from top to bottom; the tables below have the same";
  const picture = svg("svg", { class: "picture map", width, height: height + 34, viewBox: `0 -8 ${width} ${height + 34}`, role: "group", "aria-label": label });
  for (const band of bands) picture.append(svg("rect", { class: "band", x: 0, width, ...band }));
  const cells = new Map();
  for (const box of boxes) {
    if (box.number === chosen.layer) picture.append(...openBox(box, chosen, cells));
    else picture.append(closedBox(box));
  }
  picture.append(...arrows(boxes, cells, chosen), ...namesOnTop(boxes, chosen));
  arrowKeys(picture);
  return picture;
}

/** The names of closed layers once more, above the arrows that cross them. */
function namesOnTop(boxes, chosen) {
  return boxes
    .filter((box) => box.number !== chosen.layer)
    .map(({ part, x, y, width }) => svg("text", { class: "folder-name on-top", x: x + 7, y: y + 15, "aria-hidden": "true" }, shortened(part.name, width)));
}

function boxLabel(part, number) {
  const forbidden = d3.sum(flows(), (flow) => (flow.from === number ? flow.forbidden : 0));
  const words = `${visible(part.name, 60)}: ${counted(part.files.length, "module")}, ${counted(part.lines, "line")}`;
  return forbidden ? `${words}, ${counted(forbidden, "forbidden import")}` : words;
}

function closedBox({ part, number, x, y, width, height }) {
  const label = boxLabel(part, number);
  const link = svg("a", { href: groupAddress(number), "aria-label": label, tabindex: "-1" }, svg("title", {}, label));
  link.append(svg("rect", { class: "layer", x, y, width, height }));
  for (const { index, box } of moduleCells(part.files, { x: x + 3, y: y + 21, width: width - 6, height: height - 24 })) {
    link.append(svg("rect", { class: moduleClass(index), "data-index": index, ...box }));
  }
  link.append(svg("rect", { class: "frame", x, y, width, height }));
  link.append(svg("text", { class: "folder-name", x: x + 7, y: y + 15 }, shortened(part.name, width)));
  return link;
}

function moduleClass(index) {
  const isForbidden = (importsFrom().get(index) ?? []).some((number) => report.imports[number][3] === 1);
  return isForbidden ? "module forbidden" : "module";
}

/** Modules as a flat treemap, without names. */
function moduleCells(indices, { x, y, width, height }) {
  if (width <= 0 || !indices.length) return [];
  const root = d3.hierarchy({ children: indices.map((index) => ({ index })) });
  root.sum((leaf) => (leaf.index === undefined ? 0 : Math.max(1, files[leaf.index].lines)));
  root.sort((left, right) => right.value - left.value);
  d3.treemap().size([width, height]).paddingInner(1)(root);
  return root.leaves().map((leaf) => ({
    index: leaf.data.index,
    box: { x: x + leaf.x0, y: y + leaf.y0, width: leaf.x1 - leaf.x0, height: leaf.y1 - leaf.y0 },
  }));
}

/** The layer that was chosen: its modules have names and links. `cells` gets the box of each file. */
function openBox({ part, number, x, y, width, height }, chosen, cells) {
  const drawn = [svg("rect", { class: "layer open", x, y, width, height })];
  drawn.push(svg("text", { class: "folder-name", x: x + 7, y: y + 15 }, shortened(part.name, width)));
  if (!part.files.length) return drawn;
  const root = commonFolder(folderTree(part.files));
  const shown = subfolder(root, chosen.folder) ?? root;
  for (const node of treemapNodes(shown, { x: x + 3, y: y + 21, width: width - 6, height: height - 24 })) {
    const href = node.data.isFolder ? groupAddress(number, { folder: node.data.place.path.slice(0, 2000) }) : "";
    if (node.children) drawn.push(...folderFrame(node, href));
    else if (node.data.isFolder) drawn.push(folderBox(node, href));
    else drawn.push(moduleBox(node.data.index, node.box, node.data.index === chosen.file));
    if (node.children) continue;
    const within = node.data.isFolder ? filesBelow(node.data.place) : [node.data.index];
    for (const index of within) cells.set(index, node.box);
  }
  return drawn;
}

function moduleBox(index, box, isCurrent) {
  const file = files[index];
  const label = `${visible(file.path)}, ${counted(file.lines, "line")}, ${STATE_WORDS[drawnState(file)]}`;
  const current = isCurrent ? "true" : null;
  const link = svg("a", { href: fileAddress("map", index), "aria-label": label, tabindex: "-1", "aria-current": current });
  link.append(svg("title", {}, label), svg("rect", { class: moduleClass(index), "data-index": index, ...box }));
  return named(link, box, lastName(file.path));
}

function folderBox(node, href) {
  const { place, lines } = node.data;
  const label = `Folder ${visible(place.path)}, ${counted(filesBelow(place).length, "module")}, ${counted(lines, "line")}`;
  const link = svg("a", { href, "aria-label": label, tabindex: "-1" }, svg("title", {}, label));
  link.append(svg("rect", { class: "module", ...node.box }));
  return named(link, node.box, `${place.name}/`);
}

/** Frame a box and write its name in it, where there is room. */
function named(link, box, name) {
  link.append(svg("rect", { class: "frame", ...box }));
  const text = box.height >= 18 ? shortened(name, box.width) : "";
  if (text) link.append(svg("text", { x: box.x + 5, y: box.y + 14 }, text));
  return link;
}

/** Arrows, the calm ones first: those of problems lie on top, and their texts above all. */
function arrows(boxes, cells, chosen) {
  const ways = chosen.file >= 0 ? fileWays(boxes, cells, chosen.file) : layerWays(boxes, chosen);
  const drawn = d3.sort(ways, (way) => ["allowed", "accepted", "forbidden"].indexOf(way.kind)).map((way) => {
    const link = svg("a", { href: way.href, "aria-label": way.label, class: `arrow ${way.kind}`, tabindex: "-1" });
    link.append(svg("title", {}, way.label), svg("path", { class: "reach", d: way.path }), svg("path", { class: "shaft", d: way.path }));
    return link;
  });
  const texts = ways
    .filter((way) => way.text)
    .map((way) => svg("text", { class: "arrow-text", x: way.x, y: way.y, "text-anchor": "middle" }, way.text));
  return [...drawn, ...texts];
}

function layerWays(boxes, chosen) {
  const shown = flows().filter((flow) => {
    if (flow.from === flow.to) return false;
    if (flow.forbidden || flow.accepted || chosen.arrows === "all") return true;
    if (chosen.layer < 0 && chosen.arrows === "nearest" && nearestFlows().has(flow)) return true;
    return flow === chosen.flow || flow.from === chosen.layer || flow.to === chosen.layer;
  });
  const out = spread(shown, "from", "to", boxes);
  const into = spread(shown, "to", "from", boxes);
  return shown.map((flow) => {
    const [from, to] = [boxes[flow.from], boxes[flow.to]];
    const [outAt, inAt] = [out.get(flow), into.get(flow)];
    return {
      kind: kindOf(flow),
      path: arrowPath(from, to, outAt, inAt),
      href: flowAddress(flow),
      label: flowLabel(flow),
      ...arrowText(flow, from, to, outAt, inAt),
    };
  });
}

function kindOf(flow) {
  if (flow.forbidden) return "forbidden";
  return flow.accepted ? "accepted" : "allowed";
}

function flowLabel(flow) {
  const parts = [counted(flow.imports.length, "import")];
  if (flow.forbidden) parts.push(`${count(flow.forbidden)} forbidden`);
  if (flow.accepted) parts.push(`${count(flow.accepted)} accepted`);
  return `${visible(groups()[flow.from].name, 60)} → ${visible(groups()[flow.to].name, 60)}: ${parts.join(", ")}`;
}

/** What is written at a forbidden arrow: the place of the import, or how many there are. */
function arrowText(flow, from, to, outAt, inAt) {
  if (!flow.forbidden) return { text: "" };
  const forbidden = flow.imports.filter((index) => report.imports[index][3] === 1);
  const [source, , line] = report.imports[forbidden[0]];
  const place = `× ${visible(lastName(files[source].path), 30)}:${line}`;
  const text = forbidden.length === 1 ? place : `× ${count(forbidden.length)} forbidden`;
  const x = (from.x + from.width * outAt + to.x + to.width * inAt) / 2;
  const [upper, lower] = from.y < to.y ? [from, to] : [to, from];
  return { text, x: Math.max(70, x), y: (upper.y + upper.height + lower.y) / 2 + 4 };
}

/** Where on the edge of a box each arrow starts or ends, so that they do not cross there. */
function spread(shown, side, other, boxes) {
  const places = new Map();
  for (const [, sharing] of d3.group(shown, (flow) => flow[side])) {
    const sorted = d3.sort(sharing, (flow) => boxes[flow[other]].x + boxes[flow[other]].width / 2);
    sorted.forEach((flow, number) => places.set(flow, (number + 1) / (sorted.length + 1)));
  }
  return places;
}

const MOST_ARROWS = 400;

function fileWays(boxes, cells, file) {
  const boxOf = (index) => cells.get(index) ?? boxes[groupOfFile().get(index)];
  const ways = [];
  for (const index of [...(importsFrom().get(file) ?? []), ...(importsTo().get(file) ?? [])].slice(0, MOST_ARROWS)) {
    const [source, target, line, kind, reason] = report.imports[index];
    const [from, to] = [boxOf(source), boxOf(target)];
    if (!from || !to || from === to) continue;
    const label = `${visible(files[source].path)}:${line} imports ${visible(files[target].path)}`;
    ways.push({
      kind: ["allowed", "forbidden", "accepted"][kind] ?? "allowed",
      path: arrowPath(from, to),
      href: fileAddress("map", source === file ? target : source),
      label: reason ? `${label}: ${visible(reason)}` : label,
      text: "",
    });
  }
  return ways;
}
