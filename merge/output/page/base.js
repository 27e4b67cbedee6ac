/* base.js - elements, figures and the list of views
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * All scripts of the page are joined in the order of CMakeLists.txt and share
 * one scope. Text of a run is hostile: it enters the page only as textContent.
 */
'use strict';

/* Control, bidirectional and zero-width characters as escapes; long texts
 * without their middle. */
const TEXT_LONGEST = 200;
const HIDDEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]/g;

const escaped = text => text.replace(HIDDEN, c =>
  '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0'));

function safe(text) {
  const all = String(text);

  return escaped(all.length <= TEXT_LONGEST ? all
    : all.slice(0, TEXT_LONGEST / 2) + ' ... ' + all.slice(-TEXT_LONGEST / 2));
}

/* What a shell takes for this one word, and no option; what does not show is written
 * as an escape. */
function shellWord(text) {
  const word = String(text).replace(/^-/, './-');

  if (/^[\w@%+:,./-]+$/.test(word)) {
    return word;
  }
  return word.search(HIDDEN) < 0 ? "'" + word.replaceAll("'", "'\\''") + "'" :
    "$'" + escaped(word.replace(/[\\']/g, '\\$&')) + "'";
}

const EVENT = /^on/i;

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name === 'click') {
      node.addEventListener('click', value);
    } else if (name === 'style') {
      Object.assign(node.style, value);
    } else if (!EVENT.test(name) && value !== null && value !== undefined) {
      node.setAttribute(name, String(value));
    }
  }
  for (const child of children.flat()) {
    if (child !== null && child !== undefined) {
      node.append(child instanceof Node ? child : safe(child));
    }
  }
  return node;
}

/* An element with attributes and children; children that are no nodes are
 * texts. */
function el(name, attributes, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/* A command without its middle would be another one. */
const commandText = command => document.createTextNode(escaped(command));

const SVG = 'http://www.w3.org/2000/svg';

function svg(name, attributes, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

function button(text, click, attributes) {
  return el('button', {type: 'button', click, ...attributes}, text);
}

/* Do what may change the height of parts above a node, which stays where it is seen. */
function inPlace(node, act) {
  const before = node.getBoundingClientRect().top;

  act();
  window.scrollBy({top: node.getBoundingClientRect().top - before, behavior: 'instant'});
}

/* Asked for once: each time may cost a layout of the page. */
const darkScheme = window.matchMedia('(prefers-color-scheme: dark)');

const schemeActs = new Set();

/* Call `owner[method]()` at each change of the scheme, as long as the owner is used:
 * views are made anew, and nothing else would let the old ones go. */
function onScheme(owner, method = 'draw') {
  const held = new WeakRef(owner);
  const act = () => {
    const one = held.deref();

    if (one) {
      one[method]();
    } else {
      schemeActs.delete(act);
    }
  };

  schemeActs.add(act);
}

const redrawAll = () => schemeActs.forEach(act => act());

darkScheme.addEventListener('change', redrawAll);

/* The largest of the numbers, which may be more than a call takes as arguments;
 * at least 0. */
const largestOf = numbers => numbers.reduce((largest, one) => Math.max(largest, one), 0);

/* Lists of the items by their key. */
function grouped(items, key) {
  const lists = new Map();

  for (const item of items) {
    if (!lists.has(key(item))) {
      lists.set(key(item), []);
    }
    lists.get(key(item)).push(item);
  }
  return lists;
}

/* Widths of texts by font size, of those measured lately: measuring takes longer
 * than drawing. */
const WIDTHS_MOST = 8192;
const widths = new Map();

function textWidth(context, text, size) {
  const key = size + text;

  if (!widths.has(key)) {
    if (widths.size >= WIDTHS_MOST) {
      widths.clear();
    }
    widths.set(key, context.measureText(text).width);
  }
  return widths.get(key);
}

/* A name in so many pixels of a canvas: whole, its beginning, or nothing where
 * that would be too short. */
const LETTERS_LEAST = 3;

function fitted(context, name, room, size) {
  const text = safe(name).slice(0, 160);
  const wide = textWidth(context, text, size);

  if (wide <= room) {
    return text;
  }
  const letters = Math.floor(text.length * (room - textWidth(context, '\u2026', size)) / wide);

  return letters < LETTERS_LEAST ? '' : text.slice(0, letters) + '\u2026';
}

/* Three significant figures, as in report.txt. */
function figures(value) {
  if (value === 0) {
    return '0';
  }
  const digits = Math.floor(Math.log10(Math.abs(value))) + 1;

  return digits >= 3 ? String(Math.round(value)) : value.toFixed(3 - Math.max(digits, 1));
}

const TIMES = [[1e9, 's'], [1e6, 'ms'], [1e3, 'us'], [1, 'ns']];
const BYTES = [[1e12, 'TB'], [1e9, 'GB'], [1e6, 'MB'], [1e3, 'kB'], [1, 'B']];

function scaled(value, units) {
  if (value === null || value === undefined || Number.isNaN(value)) {
    return '-';
  }
  /* 999.6 ms are 1.00 s. */
  const [unit, name] = units.find(([least]) => Math.abs(value) >= 0.9995 * least) ||
    units[units.length - 1];

  return figures(value / unit) + ' ' + name;
}

const time = ns => scaled(ns, TIMES);
const bytes = count => scaled(count, BYTES);
const count = value =>
  value === null || value === undefined ? '-' : value.toLocaleString('en-US');
const percent = (part, whole) =>
  whole > 0 ? (100 * part / whole).toFixed(1) + ' %' : '-';
const number = value => value === null || value === undefined ? '-' : Number.isInteger(value) ? count(value) : figures(value);

/* "train.c:212", or the function, or "-". */
function place(of) {
  if (!of) {
    return '-';
  }
  if (of.file) {
    return of.file.slice(of.file.lastIndexOf('/') + 1) + ':' + of.line;
  }
  return of.function || '-';
}

/* "MPI_Recv (ring.c:40)", as the items of such calls are named in the timeline. */
const placed = (name, of) => name + ' (' + place(of) + ')';

/* What a thread did, as the report's "host": "MPI_Recv (ring.c:40)". */
function activity(did) {
  const at = did && did.sampled && !did.call ? did.sampled : did;
  const name = at && (at.call || at.function);

  if (!name) {
    const after = did && did.after && did.after.call ? did.after : null;

    return after ? 'after ' + after.call + (after.file ? ' (' + place(after) + ')' : '') : '-';
  }
  return at.file ? name + ' (' + place(at) + ')' : name;
}

/* What an expression is run on: the time of some grows with a power of the length. */
const MATCHED_LONGEST = 1000;
const EXPRESSION = /^\/(.+)\/$/;

/* Which names a text finds: "/re/" and a text ignore case, a text in quotes is the
 * whole name; null = none, or it is no expression. `isHeld`: an expression is a text. */
function nameMatcher(text, isHeld = false) {
  const expression = isHeld ? null : EXPRESSION.exec(text), whole = /^"(.+)"$/s.exec(text);
  const low = text.toLowerCase();

  if (text === '') {
    return null;
  }
  if (expression) {
    try {
      const re = new RegExp(expression[1], 'i');

      return name => re.test(name.slice(0, MATCHED_LONGEST));
    } catch {
      return null;
    }
  }
  return whole ? name => name === whole[1] : name => name.toLowerCase().includes(low);
}

/* FNV-1a of a text. */
function hashOfName(name) {
  let hash = 2166136261;

  for (let i = 0; i < name.length; i++) {
    hash = Math.imul(hash ^ name.charCodeAt(i), 16777619) >>> 0;
  }
  return hash;
}

/* The report of this page, once it is read. */
let theReport = null;

const rankName = rank => rank === null || rank === undefined ? '-' : 'rank ' + rank;

/* A view: `render(report, body)` fills the element `body`. It returns
 * undefined, or a sentence with the reason why this run has nothing to show. */
const views = [];

function view(id, title, render) {
  views.push({id, title, render});
}
