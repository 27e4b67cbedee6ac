/* timelinekeys.js - the timeline by keys: places to go to, marks, pins, who
 * waited for whom; and its parts in more detail, from other pages
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/* "12.5 s", "850us", "3" (seconds) in ns; null = it is no time. */
function timeOf(text) {
  const match = /^(\d+(?:\.\d+)?)\s*(ns|us|ms|s|m|)$/.exec(text.trim());
  const units = {ns: 1, us: 1e3, ms: 1e6, s: 1e9, m: 6e10, '': 1e9};

  return match ? Number(match[1]) * units[match[2]] : null;
}

/* The range that a text names: a time, "a - b", or "step 7"; null = none in this run. */
function placeOf(report, text) {
  const range = rangeNamed(report, text);

  return range && range[0] < report.whole.ns ? range : null;
}

function rangeNamed(report, text) {
  const step = /^step\s+(-?\d+)$/i.exec(text.trim());
  const ends = text.split('-').map(timeOf);

  if (step) {
    const row = ((report.step_table || {}).rows || []).find(one => one.number === Number(step[1]));

    return row ? [row.start_rel_ns, row.end_rel_ns] : null;
  }
  if (ends.length === 2 && ends.every(end => end !== null) && ends[0] < ends[1]) {
    return ends;
  }
  return ends.length === 1 && ends[0] !== null ? [ends[0], ends[0] + 1e6] : null;
}

/* A dialog that asks for a place. */
function goDialog(report, go) {
  const field = el('input', {type: 'text', id: 'go-to', 'aria-label': 'time, range or step', placeholder: '12.5 s, 1.2s-1.4s, step 7'});
  const note = el('p', {class: 'alarm-text', role: 'status'});
  const dialog = el('dialog', {'aria-label': 'go to a time or a step'});
  const act = () => {
    const range = placeOf(report, field.value);

    if (range) {
      dialog.close();
      go(range);
    } else {
      note.textContent = 'There is no such time or step in this run, which ends at ' + time(report.whole.ns) + '.';
    }
  };

  field.addEventListener('keydown', event => {
    if (event.key === 'Enter') {
      event.preventDefault();
      act();
    }
  });
  dialog.append(el('p', null, el('label', {for: 'go-to'}, 'Go to a time, a range or a step: '), field), note,
    el('p', {class: 'tools'}, button('Go', act), button('Close', () => dialog.close())));
  document.body.append(dialog);
  return {dialog, field, note};
}

/* The wait that is looked at: the longest one of what is selected. */
function waitInView(timeline) {
  const {waits} = timeline.index;
  const [from, to] = selection.range || timeline.span;
  let best = -1;

  for (let i = 0; i < waits.start.length; i++) {
    const isIn = waits.start[i] < to && waits.start[i] + waits.length[i] > from && isRankSelected(waits.rank[i]);

    if (isIn && waits.whom[i] >= 0 && (best < 0 || waits.length[i] > waits.length[best])) {
      best = i;
    }
  }
  return best;
}

/* The wait of the rank that was waited for, while it was: the longest one. */
function waitBehind(timeline, at) {
  const {waits} = timeline.index;
  const [from, to] = [waits.start[at], waits.start[at] + waits.length[at]];
  let best = -1;

  for (let i = 0; i < waits.start.length; i++) {
    const both = Math.min(to, waits.start[i] + waits.length[i]) - Math.max(from, waits.start[i]);

    if (i !== at && waits.rank[i] === waits.whom[at] && waits.whom[i] >= 0 && both > 0 &&
        (best < 0 || waits.length[i] > waits.length[best])) {
      best = i;
    }
  }
  return best;
}

function selectWait(timeline, i) {
  const {waits} = timeline.index;

  select({range: [waits.start[i], waits.start[i] + waits.length[i]],
    ranks: [...new Set([waits.rank[i], waits.whom[i]])].sort((a, b) => a - b)});
  timeline.tip.textContent = rankName(waits.rank[i]) + ' waited ' + time(waits.length[i]) + ' for ' + rankName(waits.whom[i]) +
    (waits.kind[i] ? ' (' + safe(waits.kind[i]) + ')' : '');
}

/* One step along the chain of who waited for whom; back with `isBack`. */
function followChain(timeline, isBack) {
  const chain = timeline.chain;

  if (isBack) {
    chain.pop();
  } else {
    const next = chain.length === 0 ? waitInView(timeline) : waitBehind(timeline, chain[chain.length - 1]);

    if (next < 0) {
      timeline.tip.textContent = chain.length === 0 ? 'No wait for another rank is in what is selected.' :
        'That rank waited for nobody then: look at what it did.';
      return;
    }
    chain.push(next);
  }
  if (chain.length > 0) {
    selectWait(timeline, chain[chain.length - 1]);
  }
}

/* The next item on the lane of the one that was chosen, or the one before. */
function nextItem(timeline, by) {
  const {picked} = timeline;
  const level = picked ? timeline.levelAt(picked.row.lane, picked.at) : null;

  if (!level) {
    timeline.tip.textContent = 'Choose an item first: click it.';
    return;
  }
  const i = firstBehind(level, picked.at) + by;

  if (i >= 0 && i < level.count) {
    picked.at = level.start[i];
    timeline.choose(level.start[i], level.end[i]);
    timeline.tip.textContent = timeline.describe({row: picked.row, level, i});
  }
}

function listenToTimelineKeys(timeline) {
  let go = null;

  onKey('KeyG', 'g', 'timeline: go to a time or a step', () => {
    go = go || goDialog(timeline.report, range => select({range}));
    go.note.textContent = '';
    go.dialog.showModal();
  });
  onKey('KeyM', 'm', 'timeline: mark what is selected', () => timeline.mark(false));
  onKey('Shift+KeyM', 'Shift+m', 'timeline: keep the mark beside others', () => timeline.mark(true));
  onKey('KeyP', 'p', 'timeline: keep the rank under the cursor at the top, or no more', () => timeline.pin());
  onKey('KeyQ', 'q', 'timeline: what is in view as a table, or no more', () => {
    timeline.listed.details.open = !timeline.listed.details.open;
  });
  onKey('BracketLeft', '[', 'timeline: the wait, then what the rank waited for that was waited for', () => followChain(timeline, false));
  onKey('BracketRight', ']', 'timeline: back along these waits', () => followChain(timeline, true));
  onKey('Comma', ',', 'timeline: the item before on its lane', () => nextItem(timeline, -1));
  onKey('Period', '.', 'timeline: the next item on its lane', () => nextItem(timeline, 1));
}

/* ---- more detail --------------------------------------------------------- */

const laneKey = info => [info.kind, info.rank, info.title, info.depth].join('\u0000');

/* Is the other report of the same run, and of a part of it? */
const isSameRun = (report, other) => other.run === report.run && other.realtime_of_zero_ns === report.realtime_of_zero_ns &&
  other.time_base_ns === report.time_base_ns;
const isPart = other => ['given', 'range'].includes((other.region || {}).kind);

/* What a page of the same run shows in more detail than this one: one of a part of
 * it, or a larger one of all of it; null = nothing. */
async function moreDetail(report, other, text) {
  const detail = theTimeline && isSameRun(report, other) ? await detailOf(text) : null;

  return detail && (isPart(other) || detail.level < theTimeline.level()) ? detail : null;
}

/* Lanes that show more than the page's own. */
const detailFrom = ({index, lanes}) => ({from: Math.max(0, Number(index.start_ns) || 0), to: Number(index.length_ns), level: index.level_ns,
  lanes: new Map(lanes.map(lane => [laneKey(lane.info), lane]))});

/* The lanes in the text of a page, `isFine` = all items if it has them; null = it has
 * none. */
async function lanesOfPage(text, isFine) {
  const fine = isFine ? await blockOf(text, 'fine') : null;
  const index = fine || await blockOf(text, 'lanes');
  const data = await blockOf(text, fine ? 'fine-items' : 'items');

  if (!index || !data) {
    return null;
  }
  const read = lanesOf(JSON.parse(new TextDecoder().decode(index)), data);

  /* What is wrong with them is found now, and not while they are drawn. */
  read.lanes.forEach(lane => lane.finest());
  return read;
}

/* The lanes of another page of the same run, for what they show in more detail. */
async function detailOf(text) {
  const read = await lanesOfPage(text, true);

  return read && detailFrom(read);
}

/* All items of a long run, behind the first picture. */
async function readFine(timeline) {
  const read = await readLanes(true);

  if (read) {
    timeline.addFine(detailFrom(read));
  }
}
