/* select.js - what is selected: one object that all views follow
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * range: [from, to] in ns since the start of the run, or null; ranks: an array
 * of numbers, [] = all; cause: its name, or ''; finding: the number of a
 * finding as in the list of causes, or 0.
 */
const selection = {range: null, ranks: [], cause: '', finding: 0};
const followers = [];

const isAnySelected = () => selection.range !== null || selection.ranks.length > 0 || selection.cause !== '' || selection.finding !== 0;

/* `follow(selection)` is called after each change, and at once for what was selected
 * before. */
function onSelect(follow) {
  followers.push(follow);
  if (isAnySelected()) {
    follow(selection);
  }
}

/* Change some of its members; false when nothing changed. */
function select(change) {
  const before = JSON.stringify(selection);

  Object.assign(selection, change);
  if (JSON.stringify(selection) === before) {
    return false;
  }
  followers.forEach(follow => follow(selection));
  return true;
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

/* The selection in the address, so that a link leads to what was seen. */
function hashOf() {
  const parts = [];

  if (selection.range) {
    parts.push('t=' + selection.range.map(Math.round).join('-'));
  }
  if (selection.ranks.length > 0) {
    parts.push('r=' + ranksText(selection.ranks));
  }
  if (selection.cause) {
    parts.push('c=' + encodeURIComponent(selection.cause));
  }
  if (selection.finding) {
    parts.push('f=' + selection.finding);
  }
  return parts.length > 0 ? '#' + parts.join('&') : '#';
}

function selectHash(hash) {
  const change = {range: null, ranks: [], cause: '', finding: 0};

  for (const part of hash.replace(/^#/, '').split('&')) {
    const [key, ...rest] = part.split('=');
    const value = rest.join('=');
    const range = /^(-?\d{1,16})-(-?\d{1,16})$/.exec(value);

    if (key === 't' && range && Number(range[1]) < Number(range[2])) {
      change.range = [Number(range[1]), Number(range[2])];
    } else if (key === 'r') {
      change.ranks = ranksOf(value);
    } else if (key === 'c' && /^[a-z0-9_]{1,40}$/.test(value)) {
      change.cause = value;
    } else if (key === 'f' && /^\d{1,3}$/.test(value)) {
      change.finding = Number(value);
    }
  }
  select(change);
}

function chip(text, clear) {
  return el('li', null, text + ' ',
    button('\u00d7', clear, {'aria-label': 'remove ' + safe(text)}));
}

/* What is selected, in words, each part with a button that removes it. */
function showChips() {
  const list = document.getElementById('chips');
  const chips = [];

  if (selection.range) {
    chips.push(chip('from ' + time(selection.range[0]) + ' to ' + time(selection.range[1]),
      () => select({range: null})));
  }
  if (selection.ranks.length > 0) {
    chips.push(chip('ranks ' + ranksText(selection.ranks), () => select({ranks: []})));
  }
  if (selection.cause) {
    chips.push(chip(selection.cause, () => select({cause: ''})));
  }
  if (selection.finding) {
    chips.push(chip('finding ' + selection.finding, () => select({finding: 0})));
  }
  list.replaceChildren(...chips);
  list.hidden = chips.length === 0;
}
