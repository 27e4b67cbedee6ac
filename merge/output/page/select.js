/* select.js - what is selected: one object that all views follow, and the address
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * range: [from, to] in ns since the start of the run, or null; ranks: an array
 * of numbers, [] = all; cause: its name, or ''; finding: the name of a finding
 * (findingName), or ''; find: what names of items are looked for, or ''; pair:
 * [rank that waited, rank that it waited for], or null.
 */
const NOTHING = {range: null, ranks: [], cause: '', finding: '', find: '', pair: null};
const selection = {...NOTHING};
const followers = [];

/* The expression that an address brought: until the reader presses Enter it is a text,
 * for it may be one that never ends. '' = none. */
let heldExpression = '';

/* `follow(selection)` is called after each change, and at once for what was selected
 * before. */
function onSelect(follow) {
  followers.push(follow);
  if (JSON.stringify(selection) !== JSON.stringify(NOTHING)) {
    follow(selection);
  }
}

/* Change some of its members; false when nothing changed. Other ranks are of no
 * pair. */
function select(change) {
  const before = JSON.stringify(selection);

  Object.assign(selection, change.ranks ? {pair: null} : {}, change);
  if (JSON.stringify(selection) === before) {
    return false;
  }
  if (selection.find !== heldExpression) {
    heldExpression = '';
  }
  followers.forEach(follow => follow(selection));
  return true;
}

/* The view that was gone to last, for the address. */
let viewAt = '';

/* Scroll to a view; false = it is not there. */
function goToView(id) {
  const section = document.getElementById('view-' + id);

  if (section) {
    viewAt = id;
    section.scrollIntoView({block: 'start'});
    section.querySelector('h2').focus({preventScroll: true});
  }
  return section !== null;
}

/* The part of the address that the page itself put there, or has selected by. */
let writtenHash = location.hash;

function writeAddress(how) {
  history[how](null, '', hashOf());
  writtenHash = location.hash;
}

/* What is selected, in the address. Behind Back, Forward or a change by hand that is of
 * another place until the event of that comes: it is to be selected then, and not to be
 * written over. */
function keepAddress() {
  if (location.hash === writtenHash) {
    writeAddress('replaceState');
  }
}

/* Select and go there, so that the browser's Back leads to where one was. */
function visit(change, ...ids) {
  keepAddress();
  select(change);
  ids.find(goToView);
  writeAddress('pushState');
}

const isRankSelected = rank =>
  selection.ranks.length === 0 || selection.ranks.includes(rank);

/* "0,2-5" of [0, 2, 3, 4, 5], and back. */
function ranksText(ranks) {
  const parts = [];

  for (let i = 0; i < ranks.length; i++) {
    let last = i;

    while (last + 1 < ranks.length && ranks[last + 1] === ranks[last] + 1) {
      last++;
    }
    parts.push(last > i ? ranks[i] + '-' + ranks[last] : String(ranks[i]));
    i = last;
  }
  return parts.join(',');
}

const RANKS_MOST = 65536;

function ranksOf(text) {
  const ranks = [];

  for (const part of text.split(',')) {
    const match = /^(\d{1,7})(?:-(\d{1,7}))?$/.exec(part);

    for (let i = match ? Number(match[1]) : 1, last = match ? Number(match[2] || match[1]) : 0;
      i <= last && ranks.length < RANKS_MOST; i++) {
      ranks.push(i);
    }
  }
  return ranks;
}

const stepRows = () => ((theReport || {}).step_table || {}).rows || [];

/* "s=7" of a range that is a step, else "t=...". */
function rangeText([from, to]) {
  const step = stepRows().find(row => row.start_rel_ns === from && row.end_rel_ns === to);

  return step ? 's=' + step.number : 't=' + Math.round(from) + '-' + Math.round(to);
}

/* The names that an address may hold. A part of a name would find others: longer ones are
 * in none. */
const FIND_LONGEST = 4096;

/* A text for an address; '' = it is too long. Half a letter has no code there. */
const encoded = text => (text.length <= FIND_LONGEST ? encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\ufffd')) : '');

/* The selection as the address has it, so that a link leads to what was seen. */
function hashOf(of = selection) {
  const parts = [viewAt && 'v=' + viewAt, of.range && rangeText(of.range), of.ranks.length > 0 && 'r=' + ranksText(of.ranks),
    of.pair && 'w=' + of.pair.join('-'), of.cause && 'c=' + encodeURIComponent(of.cause), of.finding && 'f=' + of.finding,
    of.find && encoded(of.find) && 'q=' + encoded(of.find)];

  return '#' + parts.filter(part => part).join('&');
}

/* A text of an address; '' = it is none, or too long. */
function decoded(text) {
  try {
    const all = decodeURIComponent(text);

    return all.length <= FIND_LONGEST ? all : '';
  } catch {
    return '';
  }
}

/* Those that the run has; all of them where the page does not have the whole list. */
function knownRanks(ranks) {
  const {ranks: rows, cut} = theReport || {};

  return !rows || rows.length === 0 || (cut && cut.ranks) ? ranks : ranks.filter(rank => rows.some(row => row.rank === rank));
}

/* What each letter of an address selects; null = nothing. */
const HASH_PARTS = {
  t: value => {
    const range = /^(-?\d{1,16})-(-?\d{1,16})$/.exec(value);

    return range && Number(range[1]) < Number(range[2]) ? {range: [Number(range[1]), Number(range[2])]} : null;
  },
  s: value => {
    const row = stepRows().find(one => String(one.number) === value);

    return row ? {range: [row.start_rel_ns, row.end_rel_ns]} : null;
  },
  r: value => ({ranks: knownRanks(ranksOf(value))}),
  w: value => {
    const pair = /^(\d{1,7})-(\d{1,7})$/.exec(value);

    return pair && knownRanks(pair.slice(1).map(Number)).length === 2 ? {pair: [Number(pair[1]), Number(pair[2])]} : null;
  },
  c: value => (/^[a-z0-9_]{1,40}$/.test(value) ? {cause: value} : null),
  f: value => (/^[0-9a-f]{8}$/.test(value) ? {finding: value} : null),
  q: value => ({find: decoded(value)}),
};

/* A finding alone is all that its button selects. */
function selectHash(hash) {
  const parts = hash.replace(/^#/, '').split('&').map(part => [part.slice(0, 1), part.slice(2), part[1] === '=']);
  const change = {...NOTHING};

  writtenHash = hash;
  for (const [key, value, isOne] of parts) {
    if (isOne && Object.hasOwn(HASH_PARTS, key)) {
      Object.assign(change, HASH_PARTS[key](value));
    }
  }
  if (change.finding && !change.range && change.ranks.length === 0) {
    Object.assign(change, findingChange(change.finding));
  }
  if (change.find !== selection.find) {
    heldExpression = EXPRESSION.test(change.find) ? change.find : '';
  }
  select(change);
  const view = parts.find(([key]) => key === 'v');

  return view && /^[a-z]{1,20}$/.test(view[1]) ? view[1] : '';
}

/* "1.2341 s to 1.2344 s": with the digits in which both ends differ. */
function timesText([from, to]) {
  return [from, to].map(at => mark(at, (to - from) / 100)).join(' to ');
}

function chip(text, clear) {
  return el('li', null, text + ' ',
    button('\u00d7', clear, {'aria-label': 'remove ' + safe(text)}));
}

const READ_AFTER_MS = 400; /* a range that is dragged changes all the time */
let readTimer = null;

/* What is selected, for screen readers. */
function readSelection(chips) {
  const words = document.getElementById('selected-words') || el('p', {id: 'selected-words', class: 'hidden', role: 'status'});

  if (!words.isConnected) {
    document.querySelector('nav').append(words);
  }
  clearTimeout(readTimer);
  readTimer = setTimeout(() => {
    words.textContent = chips.length > 0 ? 'Selected: ' + chips.map(one => one.firstChild.data.trim()).join(', ') : 'Nothing is selected.';
  }, READ_AFTER_MS);
}

/* What is selected, in words, each part with a button that removes it. */
function showChips() {
  const list = document.getElementById('chips');
  const chips = [];

  if (selection.range) {
    chips.push(chip('from ' + timesText(selection.range),
      () => select({range: null})));
  }
  if (selection.ranks.length > 0) {
    chips.push(chip((selection.ranks.length > 1 ? 'ranks ' : 'rank ') + ranksText(selection.ranks), () => select({ranks: []})));
  }
  if (selection.pair) {
    chips.push(chip('waits of ' + rankName(selection.pair[0]) + ' for ' + rankName(selection.pair[1]), () => select({pair: null})));
  }
  if (selection.cause) {
    chips.push(chip(selection.cause, () => select({cause: ''})));
  }
  if (selection.finding) {
    chips.push(chip(findingTitle(selection.finding), () => select({finding: ''})));
  }
  if (selection.find) {
    chips.push(chip('named ' + selection.find, () => select({find: ''})));
  }
  list.replaceChildren(...chips);
  list.hidden = chips.length === 0;
  readSelection(chips);
  if (chips.length === 0) {
    pickRow(null, null);
  }
}
