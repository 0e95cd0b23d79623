// Every view has an address: #view, #view/word, #view/key=value&key=value.

const LONGEST_NAME = 300;

/** The address of a view; settings that are empty are left out. */
function address(view, settings = {}, word = "") {
  const pairs = Object.entries(settings)
    .filter(([, setting]) => setting !== "" && setting !== null && setting !== undefined)
    .map(([key, setting]) => `${key}=${encodeURIComponent(wellFormed(setting))}`);
  const rest = [...(word ? [word] : []), ...pairs].join("&");
  return rest ? `#${view}/${rest}` : `#${view}`;
}

/** View, word and settings of an address. What is no address is the first view. */
function parseAddress(hash) {
  const [view, ...rest] = hash.replace(/^#/, "").split("/");
  const settings = new Map();
  let word = "";
  for (const part of rest.join("/").split("&")) {
    const equals = part.indexOf("=");
    if (equals < 0) word = part;
    else settings.set(part.slice(0, equals), decoded(part.slice(equals + 1)));
  }
  return { view: view || "now", word, settings };
}

/** The name of something in an address: its index where the name is too long for one. */
function nameFor(name, index) {
  return name.length > LONGEST_NAME ? `@${index}` : name;
}

/** The index that an address names, -1 for none. `indexOf` maps names to indices. */
function indexFrom(name, indexOf, length) {
  if (/^@\d+$/.test(name)) {
    const index = Number(name.slice(1));
    if (index < length) return index;
  }
  return indexOf.get(name) ?? -1;
}

function wellFormed(text) {
  return String(text).replace(/[\ud800-\udfff]/g, (half, at, whole) => {
    const pair = whole.codePointAt(at) > 0xffff || (at > 0 && whole.codePointAt(at - 1) > 0xffff);
    return pair ? half : "\ufffd";
  });
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
