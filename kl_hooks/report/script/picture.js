// What the pictures share: cells of a treemap, labels that fit, and the keyboard.

/** A text cut at its end to a width in pixels, where a letter is 7.3 wide; else an empty one. */
function shortened(text, width) {
  const letters = Math.floor((width - 10) / 7.3);
  const shown = visible(text, 80);
  if (shown.length <= letters) return shown;
  return letters >= 4 ? `${shown.slice(0, letters - 1)}…` : "";
}

function labelClass(state) {
  if (state === "here") return "on-here";
  return state === "failing" ? "on-failing" : "on-light";
}

/** A cell of a picture that is a link: a rectangle with the color and pattern of its state. */
function cell({ x, y, width, height, state, href, label, text, isCurrent }) {
  const box = { x, y, width: Math.max(0, width), height: Math.max(0, height) };
  const link = svg("a", { href, "aria-label": label, tabindex: "-1", "aria-current": isCurrent ? "true" : null });
  link.append(svg("title", {}, label), svg("rect", { class: `fill ${state}`, ...box }));
  if (state !== "here") link.append(svg("rect", { class: `pattern ${state}`, ...box }));
  link.append(svg("rect", { class: "frame", ...box }));
  const shown = height >= 18 ? shortened(text, width) : "";
  if (shown) link.append(svg("text", { class: `halo ${state} ${labelClass(state)}`, x: x + 5, y: y + 14 }, shown));
  return link;
}

/** One stop for the Tab key in a picture; arrow keys go to the nearest link in their direction. */
function arrowKeys(picture) {
  const links = [...picture.querySelectorAll("a")];
  const start = links.find((link) => link.hasAttribute("aria-current")) ?? links[0];
  start?.setAttribute("tabindex", "0");
  picture.addEventListener("keydown", (event) => {
    const direction = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    const from = event.target.closest("a");
    if (!direction || !from) return;
    event.preventDefault();
    const target = nearest(from, links, direction);
    if (!target) return;
    from.setAttribute("tabindex", "-1");
    target.setAttribute("tabindex", "0");
    target.focus();
  });
}

function nearest(from, links, [right, down]) {
  const origin = center(from);
  let best = null;
  let shortest = Infinity;
  for (const link of links) {
    if (link === from) continue;
    const place = center(link);
    const along = (place.x - origin.x) * right + (place.y - origin.y) * down;
    const aside = Math.abs((place.x - origin.x) * down) + Math.abs((place.y - origin.y) * right);
    const distance = along + 2 * aside;
    if (along > 1 && distance < shortest) {
      shortest = distance;
      best = link;
    }
  }
  return best;
}

function center(link) {
  const box = link.getBBox();
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}

/** Call a function with the width of an element, now and whenever it changes. */
function whenResized(element, draw) {
  let last = 0;
  const observer = new ResizeObserver(() => {
    const width = Math.floor(element.clientWidth);
    if (width && width !== last) {
      last = width;
      draw(width);
    }
  });
  observer.observe(element);
}
