// Elements of the page. Text gets into the document here only, and as text only.

const LONGEST = 300;
const INVISIBLE = new RegExp(
  "[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u061c\\u115f\\u1160\\u180e\\u200b-\\u200f" +
    "\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufeff\\ufff9-\\ufffb\\u{e0000}-\\u{e0fff}]",
  "gu",
);
const SVG = "http://www.w3.org/2000/svg";

/** A text as it is shown: what is invisible as its code, and no more than 300 characters. */
function visible(text, longest = LONGEST) {
  const whole = String(text);
  const shown = whole
    .slice(0, longest)
    .replace(INVISIBLE, (character) => `\\u{${character.codePointAt(0).toString(16).padStart(4, "0")}}`);
  return whole.length > longest ? `${shown}… (${count(whole.length)} characters)` : shown;
}

/** An element of HTML. `children`: elements and texts; null is left out. */
function el(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** An element of SVG. */
function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, setting] of Object.entries(attributes)) {
    if (setting === null || setting === undefined || setting === false) continue;
    if (/^on|^style$|^src/i.test(name)) throw new Error(`attribute ${name} is not set here`);
    if (name === "href" && !String(setting).startsWith("#")) throw new Error("links stay in the page");
    const isText = name === "title" || name === "aria-label" || name === "placeholder";
    element.setAttribute(name, isText ? visible(setting) : String(setting));
  }
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : visible(child));
  }
  return element;
}

/** Replace what is in an element. */
function fill(element, ...children) {
  element.replaceChildren(...children.flat().filter((child) => child instanceof Node || child));
  return element;
}

/** Call a function once the caller has paused for so many milliseconds. */
function paused(milliseconds, callback) {
  let timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => callback(...values), milliseconds);
  };
}
