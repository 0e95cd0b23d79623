// From the address to the view, and from the keyboard to both.

const VIEWS = { map: showMap, proof: showProof, tests: showTests, knowledge: showKnowledge, find: showFind };
let shownView = "";

function show() {
  const place = parseAddress(location.hash);
  const container = document.getElementById("view");
  const isNow = !Object.hasOwn(VIEWS, place.view);
  document.getElementById("view-now").hidden = !isNow;
  container.hidden = isNow;
  container.replaceChildren();
  if (!isNow) {
    container.setAttribute("aria-labelledby", "view-title");
    VIEWS[place.view](container, place);
  }
  const current = isNow ? "now" : place.view;
  for (const link of document.querySelectorAll("nav a")) {
    const isCurrent = link.getAttribute("href") === `#${current}`;
    if (isCurrent) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (shownView && shownView !== current) {
    scrollTo(0, 0);
    if (document.activeElement?.id !== "query") document.getElementById("main").focus({ preventScroll: true });
  }
  shownView = current;
  document.body.dataset.shown = location.hash || "#now";
}

function startSearch() {
  const query = document.getElementById("query");
  const go = () => {
    if (query.value.trim()) location.hash = address("find", { q: query.value.trim() });
  };
  query.addEventListener("input", paused(200, go));
  document.getElementById("search").addEventListener("submit", (event) => {
    event.preventDefault();
    go();
  });
  addEventListener("keydown", (event) => {
    const isTyping = event.target.closest?.("input, select, textarea");
    if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    query.focus();
  });
}

/** A page from a server asks whether there is newer data, and loads itself again. */
function startLive() {
  const version = document.body.dataset.live;
  if (!version) return;
  setInterval(async () => {
    if (document.hidden) return;
    try {
      const answer = await fetch("version", { cache: "no-store" });
      if (answer.ok && (await answer.text()) !== version) location.reload();
    } catch {
      // the server has ended: what was loaded stays
    }
  }, 3000);
}

addEventListener("hashchange", show);
startNow();
startSearch();
startLive();
show();
