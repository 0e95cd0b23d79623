// Proof: files by lines as a treemap, each with the state of what tests showed of it.

function showProof(container, { word, settings }) {
  const isChange = word === "change" && report.change !== null;
  const which = settings.get("files") ?? "code";
  const folder = settings.get("folder") ?? "";
  const chosen = indexFrom(settings.get("file") ?? "", fileIndex(), files.length);
  const inChange = new Set(isChange ? report.change.files : []);
  const wanted = d3.range(files.length).filter((index) => {
    if (isChange) return inChange.has(index);
    if (which !== "all" && files[index].test !== (which === "tests")) return false;
    return true;
  });
  const state = { which, folder, chosen, isChange };

  container.append(proofHeading(wanted, isChange));
  if (!wanted.length) {
    container.append(el("p", {}, files.length ? "No file is of this kind." : "No file was read."), proofChoices(state));
    return;
  }
  const frame = el("div", { class: "drawing" });
  const panel = el("div", { class: "panel", "aria-live": "polite" });
  const trail = el("p", { class: "trail" });
  container.append(proofChoices(state), trail, el("div", { class: "split" }, frame, panel), fileTable(wanted, isChange));
  fill(panel, chosen >= 0 ? filePanel(chosen, "proof") : proofHelp(wanted, state));
  if (isChange) container.append(changedSymbols());

  const root = commonFolder(folderTree(wanted));
  const shown = subfolder(root, folder) ?? root;
  fill(trail, folderTrail(root, shown, state));
  whenResized(frame, (width) => fill(frame, treemap(shown, width, state)));
  if (chosen >= 0) inSight(panel);
}

/** Lines by state: of functions and methods where they are known, else of whole files. */
function linesByState(indices) {
  const lines = new Map();
  const add = (state, number) => lines.set(state, (lines.get(state) ?? 0) + number);
  for (const index of indices) {
    const { proven } = files[index];
    if (!proven || !d3.sum(proven)) add(drawnState(files[index]), files[index].lines);
    else proven.forEach((number, state) => add(STATES[state], number));
  }
  return lines;
}

function proofHeading(wanted, isChange) {
  const lines = linesByState(wanted);
  const order = ["here", "transferred", "stale", "failing", "unexecuted", "unassessed"];
  const bar = stateBar(order.map((state) => [state, lines.get(state) ?? 0, STATE_WORDS[state]]));
  if (!isChange) return heading("How much of the code is proven", "Lines by what tests showed of them. The color of a file is that of its weakest part; the stripe below it has all of them.", bar);
  const { base, head } = report.change;
  const sentence = `${counted(wanted.length, "file")} and ${counted(report.change.symbols.length, "symbol")} changed.`;
  return heading(`What ${base}...${head} changes`, sentence, bar);
}

function proofChoices({ which, isChange }) {
  const choices = el("p", { class: "choices" });
  const choice = (href, text, isCurrent) => el("a", { href, "aria-current": isCurrent ? "true" : null }, text);
  for (const [value, text] of [["code", "Code"], ["tests", "Test files"], ["all", "All files"]]) {
    const setting = value === "code" ? "" : value;
    choices.append(choice(address("proof", { files: setting }), text, !isChange && which === value));
  }
  if (report.change) choices.append(choice("#proof/change", "Only this change", isChange));
  return choices;
}

function proofHelp(wanted, state) {
  const present = new Set(wanted.map((index) => drawnState(files[index])));
  const worst = d3.sort(
    wanted.filter((index) => ["failing", "stale", "unexecuted"].includes(drawnState(files[index]))),
    (index) => -files[index].lines,
  );
  const line = (index) => [
    swatch(drawnState(files[index])),
    " ",
    el("a", { href: proofAddress(state, { file: nameFor(files[index].path, index) }) }, files[index].path),
    " ",
    el("span", { class: "quiet" }, counted(files[index].lines, "line")),
  ];
  const isAssessed = wanted.some((index) => drawnState(files[index]) !== "unassessed");
  const otherwise = isAssessed ? "Every file that was assessed is proven" : "No file was assessed";
  return el(
    "div",
    {},
    worst.length ? [el("h2", {}, "Largest files without valid proof"), ...shortList(worst, line)] : el("h2", {}, otherwise),
    el("h3", {}, "What the patterns mean"),
    el("ul", { class: "plain" }, Object.keys(STATE_MEANINGS)
      .filter((name) => present.has(name))
      .map((name) => el("li", {}, stateWord(name), ": ", el("span", { class: "quiet" }, STATE_MEANINGS[name])))),
  );
}

function proofAddress({ which, folder, isChange }, settings) {
  const kept = { files: which === "code" ? "" : which, folder, ...settings };
  return address("proof", kept, isChange ? "change" : "");
}

/** Folders and files as a tree: {name, path, folders: Map, files: [index]}. */
function folderTree(indices) {
  const root = { name: "", path: "", folders: new Map(), files: [] };
  for (const index of indices) {
    const parts = files[index].path.slice(0, 2000).split("/");
    let place = root;
    for (const part of parts.slice(0, -1)) {
      if (!place.folders.has(part)) {
        const path = place.path ? `${place.path}/${part}` : part;
        place.folders.set(part, { name: part, path, folders: new Map(), files: [] });
      }
      place = place.folders.get(part);
    }
    place.files.push(index);
  }
  return root;
}

/** The first folder that has more than one thing in it. */
function commonFolder(folder) {
  let place = folder;
  while (!place.files.length && place.folders.size === 1) place = [...place.folders.values()][0];
  return place;
}

function subfolder(root, path) {
  if (!path) return null;
  const within = [root];
  while (within.length) {
    const folder = within.pop();
    if (folder.path === path) return folder;
    within.push(...folder.folders.values());
  }
  return null;
}

function folderTrail(root, shown, state) {
  const parts = [];
  const depth = root.path ? root.path.split("/").length : 0;
  const names = shown.path ? shown.path.split("/") : [];
  for (let length = depth; length <= names.length; length += 1) {
    const text = length === depth ? root.path || "All files" : names[length - 1];
    const path = length === depth ? "" : names.slice(0, length).join("/");
    if (parts.length) parts.push(" / ");
    const isLast = length === names.length;
    parts.push(isLast ? el("strong", {}, text) : el("a", { href: proofAddress({ ...state, folder: path }, {}) }, text));
  }
  return parts;
}

const SMALLEST_CELL = 26;

/** The picture: folders with a name, files as cells; a folder without room is one cell. */
function treemap(folder, width, state) {
  const height = Math.round(Math.min(640, Math.max(320, width * 0.62)));
  const label = "Files by lines; the table below has the same";
  const picture = svg("svg", { class: "picture", width, height, viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": label });
  for (const node of treemapNodes(folder, { x: 0, y: 0, width, height })) {
    const href = node.data.isFolder ? proofAddress({ ...state, folder: node.data.place.path }, {}) : "";
    if (node.children) picture.append(...folderFrame(node, href));
    else if (node.data.isFolder) picture.append(folderCell(node, href));
    else picture.append(fileCell(node.data.index, node.box, state));
  }
  arrowKeys(picture);
  return picture;
}

/** Folders and files with their boxes, folders before what is in them. */
function treemapNodes(folder, { x, y, width, height }) {
  const layout = d3
    .treemap()
    .size([width, height])
    .paddingInner(2)
    .paddingOuter((node) => (node.depth ? 3 : 0))
    .paddingTop((node) => (node.data.isFolder && node.depth ? 20 : 0))
    .round(true);
  const nodes = [...layout(hierarchyOf(folder, width * height))].slice(1);
  for (const node of nodes) {
    node.box = { x: x + node.x0, y: y + node.y0, width: node.x1 - node.x0, height: node.y1 - node.y0 };
  }
  return nodes;
}

function hierarchyOf(folder, area) {
  const total = linesOf(folder);
  const node = (place) => ({ isFolder: true, place, lines: linesOf(place) });
  const children = (data) => {
    if (!data.isFolder) return null;
    const parts = data.place.files.length + data.place.folders.size;
    const room = (area * data.lines) / Math.max(1, total) / Math.max(1, parts);
    if (data.place !== folder && room < SMALLEST_CELL * SMALLEST_CELL) return null;
    const own = data.place.files.map((index) => ({ isFolder: false, index, lines: files[index].lines }));
    return [...[...data.place.folders.values()].map(node), ...own];
  };
  return d3
    .hierarchy(node(folder), children)
    .eachAfter((tree) => {
      tree.value = tree.children ? d3.sum(tree.children, (child) => child.value) : Math.max(1, tree.data.lines);
    })
    .sort((left, right) => right.value - left.value);
}

function linesOf(folder) {
  if (folder.lines === undefined) {
    folder.lines = d3.sum(folder.files, (index) => files[index].lines) + d3.sum(folder.folders.values(), linesOf);
  }
  return folder.lines;
}

function folderFrame(node, href) {
  const { place } = node.data;
  const { box } = node;
  const link = svg("a", { href, "aria-label": `Folder ${place.path}, ${counted(node.data.lines, "line")}`, tabindex: "-1" });
  link.append(svg("rect", { class: "folder", ...box, height: 19 }), svg("rect", { class: "frame", ...box, height: 19 }));
  link.append(svg("text", { class: "folder-name", x: box.x + 5, y: box.y + 14 }, shortened(place.name, box.width)));
  return [svg("rect", { class: "folder", ...box }), link];
}

/** A folder without room for its files: one cell, cut into the shares of its states. */
function folderCell(node, href) {
  const { place } = node.data;
  const { box } = node;
  const shares = stateShares(place);
  const all = d3.sum(shares.values());
  const words = [...shares].map(([name, lines]) => `${percent(lines, all)} ${STATE_WORDS[name]}`).join(", ");
  const label = `Folder ${place.path}, ${counted(node.data.lines, "line")}: ${words}`;
  const link = svg("a", { href, "aria-label": label, tabindex: "-1" }, svg("title", {}, label));
  let x = box.x;
  for (const [name, lines] of shares) {
    const width = (box.width * lines) / all;
    for (const layer of ["fill", "pattern"]) link.append(svg("rect", { class: `${layer} ${name}`, ...box, x, width }));
    x += width;
  }
  link.append(svg("rect", { class: "frame", ...box }));
  const [first] = shares.keys();
  const text = box.height >= 18 ? shortened(`${place.name}/`, box.width) : "";
  if (text) link.append(svg("text", { class: `halo ${first} ${labelClass(first)}`, x: box.x + 5, y: box.y + 14 }, text));
  return link;
}

function stateShares(folder) {
  const shares = new Map();
  const within = [folder];
  while (within.length) {
    const place = within.pop();
    within.push(...place.folders.values());
    for (const index of place.files) {
      const name = drawnState(files[index]);
      shares.set(name, (shares.get(name) ?? 0) + Math.max(1, files[index].lines));
    }
  }
  const order = ["here", "transferred", "stale", "failing", "unexecuted", "unassessed"];
  return new Map(d3.sort(shares, (pair) => order.indexOf(pair[0])));
}

function fileCell(index, box, state) {
  const file = files[index];
  const name = drawnState(file);
  const link = cell({
    ...box,
    state: name,
    href: proofAddress(state, { file: nameFor(file.path, index) }),
    label: `${visible(file.path)}, ${counted(file.lines, "line")}, ${STATE_WORDS[name]}: ${visible(file.reason)}`,
    text: file.path.slice(-200).split("/").at(-1),
    isCurrent: index === state.chosen,
  });
  link.append(...stripes(file, box));
  return link;
}

/** At the lower edge of a file: the shares of its lines by state, where they differ. */
function stripes({ proven }, { x, y, width, height }) {
  const total = d3.sum(proven ?? []);
  if (!total || proven.filter((number) => number).length < 2 || width < 24 || height < 34) return [];
  const drawn = [svg("rect", { class: "gap", x: x + 1, y: y + height - 9, width: width - 2, height: 8 })];
  let at = x + 2;
  proven.forEach((number, state) => {
    const share = ((width - 4) * number) / total;
    if (number) {
      for (const layer of ["fill", "pattern"]) drawn.push(svg("rect", { class: `${layer} ${STATES[state]}`, x: at, y: y + height - 7, width: share, height: 5 }));
    }
    at += share;
  });
  return drawn;
}

/** The same as a table. */
function fileTable(indices, isChange) {
  const order = ["failing", "stale", "unexecuted", "unassessed", "transferred", "here"];
  const table = bigTable({
    caption: isChange ? "Changed files" : "Files and their proof",
    rows: indices,
    words: (index) => `${files[index].path} ${STATE_WORDS[drawnState(files[index])]} ${files[index].reason}`,
    nothing: "No file matches the filter.",
    sort: { index: 1, down: false },
    columns: [
      { title: "File", cell: (index) => el("a", { href: fileAddress("proof", index), title: files[index].path }, files[index].path), order: (index) => files[index].path, width: "42%" },
      { title: "State", cell: (index) => stateWord(drawnState(files[index])), order: (index) => order.indexOf(drawnState(files[index])), width: "11rem" },
      { title: "Lines", cell: (index) => count(files[index].lines), order: (index) => files[index].lines, number: true, width: "5rem" },
      { title: "Failing", cell: (index) => (files[index].failing ? count(files[index].failing) : ""), order: (index) => files[index].failing, number: true, minor: true, width: "5.5rem" },
      { title: "Why", cell: (index) => el("span", { title: files[index].reason }, files[index].reason), minor: true },
    ],
  });
  return el("div", {}, tableTools(table, indices.length, "file", "Filter files"), table.element);
}

function changedSymbols() {
  const table = bigTable({
    caption: "Changed symbols",
    rows: report.change.symbols,
    words: (index) => symbols[index][0],
    columns: [
      { title: "Symbol", cell: (index) => el("a", { href: symbolAddress(index), title: symbols[index][0] }, symbolName(index)), order: (index) => symbols[index][0], width: "35%" },
      { title: "State", cell: (index) => stateWord(STATES[symbols[index][7]] ?? "unassessed"), order: (index) => symbols[index][7], width: "11rem" },
      { title: "Tests", cell: (index) => count(symbols[index][5]), order: (index) => symbols[index][5], number: true, width: "5rem" },
      { title: "File", cell: (index) => `${files[symbols[index][2]].path}:${symbols[index][3]}`, minor: true },
    ],
  });
  return el("div", {}, el("h3", {}, "Changed symbols"), table.element);
}

/** A filter above a table, and how many rows match. */
function tableTools(table, total, noun, label, onFilter = () => {}) {
  const input = el("input", { type: "search", autocomplete: "off" });
  const number = el("p", { class: "count", role: "status" }, counted(total, noun));
  const apply = paused(80, () => {
    const matching = table.filter(input.value.trim());
    onFilter(input.value.trim());
    number.textContent = input.value.trim() ? `${count(matching)} of ${counted(total, noun)}` : counted(total, noun);
  });
  input.addEventListener("input", apply);
  return el("div", { class: "tools" }, el("label", { class: "wide" }, label, input), number);
}
