/* compare.js - view 10: this run beside another one
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/* Ranks that died, or ended with a status of failure. */
const failedRanks = report => (report.ranks || []).filter(rank =>
  rank.end === 'signal' || rank.end === 'killed' || (rank.end === 'exited' && rank.code !== 0)).length;

/* Why figures of the two must not be compared, as sentences; [] = they may. */
function obstacles(report, other) {
  const reasons = [];
  const differ = (what, a, b) => {
    if (a !== b) {
      reasons.push(what + ': ' + safe(a) + ' here, ' + safe(b) + ' there');
    }
  };

  differ('ranks', report.ranks_present, other.ranks_present);
  differ('region', (report.region || {}).kind, (other.region || {}).kind);
  differ('devices', (report.devices || []).length, (other.devices || []).length);
  differ('program', programOf(report), programOf(other));
  differ('ranks that did not end well', failedRanks(report), failedRanks(other));
  if (!report.complete) {
    reasons.push('this run is not complete');
  }
  if (!other.complete) {
    reasons.push('the other run is not complete');
  }
  if (report.selected_only || other.selected_only) {
    reasons.push('one of them is of selected ranks only');
  }
  return reasons;
}

const programOf = report => {
  const first = String(report.program || report.command || '').split(' ')[0];

  return first.slice(first.lastIndexOf('/') + 1);
};

/* Rows that both have: [what, here, there, row here, row there], by a key; of several
 * rows with one key the longest. */
function paired(here, there, key, value) {
  const rows = new Map();

  for (const [list, at] of [[here, 1], [there, 2]]) {
    for (const item of list || []) {
      const name = key(item);
      const row = rows.get(name) || [name, 0, 0, null, null];
      const ns = value(item) || 0;

      row[at] += ns;
      if (row[at + 2] === null || ns > value(row[at + 2])) {
        row[at + 2] = item;
      }
      rows.set(name, row);
    }
  }
  return [...rows.values()].filter(row => row[1] !== row[2])
    .sort((a, b) => Math.abs(b[1] - b[2]) - Math.abs(a[1] - a[2]));
}

const causeKey = cause => cause.cause + (cause.blamed_rank === null || cause.blamed_rank === undefined ? '' :
  ' for ' + rankName(cause.blamed_rank)) + ' on ' + rankName(cause.rank) +
  (activity(cause.blamed || cause.host) === '-' ? '' : ', ' + activity(cause.blamed || cause.host));

function signed(value, shown) {
  return (value > 0 ? '+' : value < 0 ? '-' : '') + shown(Math.abs(value));
}

function differenceColumns(what, shown) {
  return [headColumn(what, row => row[0]),
    {title: 'here', value: row => row[1], number: true, text: shown}, {title: 'there', value: row => row[2], number: true, text: shown},
    {title: 'change', value: row => row[1] - row[2], number: true, text: value => signed(value, shown)},
    {title: 'here / there', value: row => (row[2] > 0 ? row[1] / row[2] : null), number: true,
      text: value => (value === null ? 'new' : value === 0 ? 'gone' : value.toFixed(2) + ' x')}];
}

function summary(report, other) {
  const of = (name, value, shown) => [name, value(report), value(other), shown];
  const rows = [
    of('region', r => r.region.ns, time),
    of('median step', r => (r.step_table || {}).median_ns || 0, time),
    of('device time busy', r => (r.all_devices ? r.all_devices.busy_ns : 0), time),
    of('device time idle', r => (r.all_devices ? r.all_devices.idle_ns : 0), time),
    of('parallel efficiency', r => (r.efficiency || {}).parallel || 0, figures),
    of('ranks waited', r => sumOf(r.ranks || [], rank => rank.waited_ns), time)]
    .filter(row => row[1] !== 0 || row[2] !== 0);

  return el('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'both runs in figures'}, el('table', {class: 'plain'}, el('thead', null, el('tr', null, ['figure', 'here', 'there', 'change'].map(text =>
    el('th', {scope: 'col', class: 'number'}, text)))), el('tbody', null, rows.map(([name, a, b, shown]) =>
    el('tr', null, el('th', {scope: 'row'}, name), el('td', {class: 'number'}, shown(a)), el('td', {class: 'number'}, shown(b)),
      el('td', {class: 'number'}, signed(a - b, shown) + (b > 0 ? ' (' + signed(100 * (a / b - 1), figures) + ' %)' : '')))))));
}

const COMPARED = [
  ['Causes of idle time', 'causes', causeKey, cause => cause.ns],
  ['Kernels', 'kernels', kernel => kernel.name, kernel => kernel.busy_ns],
  ['Calls by place', 'calls', call => call.name + ' (' + place(call) + ')', call => call.total_ns],
  ['Functions that computed', 'hot_spots', hot => hot.function + ' (' + place(hot) + ')', hot => hot.ns],
  ['Lines that launched device work', 'lines', line => place(line) + ' ' + (line.kernel || ''), line => line.busy_ns],
];

/* Steps whose number both runs have. */
const comparedSteps = (report, other) => paired(...[report, other].map(one => (one.step_table || {}).rows), step => 'step ' + step.number,
  step => step.longest_ns).filter(row => row[3] && row[4]);

/* What the items of a row are called in a timeline; a function that computed has none. */
const itemName = item => item.name || item.kernel || '';

/* The same as the items of a timeline are named: calls have their place. */
const itemLabel = (item, {labels}) => (item.name && labels.has(placed(item.name, item)) ? placed(item.name, item) : itemName(item));
const isInTimelines = row => row.slice(3).some(item => item && (itemName(item) !== '' || exampleOf(item) !== null));

/* The timelines of both runs below each other, and what a row of a table shows in
 * them: a cause its example, anything else all items of its name. */
class BothTimelines {
  constructor(report, other, data) {
    this.here = new Timeline(report, {index: theTimeline.index, lanes: theTimeline.lanes, names: theTimeline.names}, false);
    this.there = new Timeline(other, data, false);
    this.note = el('p', {class: 'quiet', role: 'status'}, 'A click on a cause, a kernel, a call or a line with a kernel above shows it in both.');
    this.node = el('div', null, el('h3', {tabindex: -1}, 'Both timelines'), this.note, el('h4', null, 'Here'), this.here.node,
      el('h4', null, 'There'), this.there.node);
  }

  show(row) {
    const [name, , , ...rows] = row, ofName = rows.find(one => one && itemName(one) !== '');

    [this.here, this.there].forEach((timeline, i) => {
      timeline.look(ofName ? '"' + itemLabel(rows[i] || ofName, timeline) + '"' : '');
      timeline.showPart(rows[i] && !ofName ? exampleOf(rows[i]) : null);
    });
    this.note.textContent = safe(name) + (rows.includes(null) ? ': only ' + (rows[0] ? 'here' : 'there') : '');
    this.node.scrollIntoView({block: 'start'});
  }

  draw() {
    this.here.draw();
    this.there.draw();
  }
}

/* Where the other run has no timeline that is here: the example in this one. */
function showHere(row) {
  const item = row[3];

  if (item && itemName(item) !== '') {
    showNamed(itemLabel(item, theTimeline));
  } else if (item) {
    visit({range: exampleOf(item), ranks: [item.rank, item.blamed_rank].filter(Number.isInteger).sort((a, b) => a - b)}, 'timeline');
  }
}

/* Both timelines of a run that was dropped as a page; null = it is no page, or has none. */
async function bothOf(report, other, text) {
  const detail = theTimeline && !/^\s*\{/.test(text) ? await lanesOfPage(text, false) : null;

  return detail ? new BothTimelines(report, other, detail) : null;
}

function comparison(report, other, name, both) {
  const reasons = obstacles(report, other);
  const parts = [el('p', null, 'Here: ' + safe(report.run) + '. There: ' + safe(name) + ' (' + safe(other.run) + ').')];

  if (reasons.length > 0) {
    parts.push(el('div', {class: 'alarm', role: 'alert'}, el('b', null, 'Not comparable because'),
      el('ul', null, reasons.map(reason => el('li', null, reason)))));
  }
  parts.push(summary(report, other));
  for (const [title, rows] of [...COMPARED.map(([name, member, key, value]) => [name, paired(report[member], other[member], key, value)]),
    ['Steps, by their slowest rank', comparedSteps(report, other)]]) {
    if (rows.length > 0) {
      parts.push(el('h3', null, title), table(title + ', compared', differenceColumns('what', time), rows,
        {title: 'show it in the timeline', choose: row => (both ? both.show(row) : showHere(row)),
          isChoice: row => isInTimelines(both ? row : row.slice(0, 4)) && (both || theTimeline) !== null}));
    }
  }
  if (both) {
    parts.push(both.node);
  }
  return parts;
}

/* Stacks of another page beside those of this one; returns what came of it, in
 * words. `lacking`: where there are none. */
function compareStacks(index, bytes, lacking) {
  if (!flameGraph || !index || !bytes) {
    if (flameGraph && flameGraph.other) {
      flameGraph.compareWith(null); /* no longer with those of the run that was there before */
    }
    return el('p', {class: 'quiet'}, 'The flame graphs are not compared: ' + (flameGraph ? lacking : 'this page has none.'));
  }
  flameGraph.compareWith(flamesOf(JSON.parse(new TextDecoder().decode(index)), bytes));
  return el('p', null, button('Show the difference of the flame graphs', () =>
    document.getElementById('view-flames').scrollIntoView({block: 'start'})));
}

const compareFlames = async text => compareStacks(...(/^\s*\{/.test(text) ? [null, null] :
  [await blockOf(text, 'flames'), await blockOf(text, 'stacks')]), 'what was dropped has no stacks (a report.html of ck has them).');

const compareBaselineFlames = async () => compareStacks(await block('baseline-flames'), await block('baseline-stacks'),
  'the baseline was given without its report.html, which has its stacks, or that has more of them than a page takes.');

/* Files that are dropped anywhere on the page, or chosen. */
async function compareWith(report, files, into, note) {
  for (const file of files) {
    try {
      const text = await file.text();
      const other = await reportOf(text);
      const detail = await moreDetail(report, other, text);

      if (detail) {
        theTimeline.addDetail(detail);
        document.getElementById('view-timeline').scrollIntoView({block: 'start'});
        continue;
      }
      const both = await bothOf(report, other, text);

      into.replaceChildren(...comparison(report, other, file.name, both), await compareFlames(text));
      if (both) {
        both.draw();
      }
      note.textContent = '';
      document.getElementById('view-compare').scrollIntoView({block: 'start'});
    } catch (error) {
      note.textContent = safe(file.name) + ': ' + safe(error.message);
    }
  }
}

/* Others that want files which are dropped on the page: {wants(file),
 * take(file)}. */
const takers = [];

function takeDropped(report, into, note) {
  document.addEventListener('dragover', event => event.preventDefault());
  document.addEventListener('drop', event => {
    event.preventDefault();
    const files = [...event.dataTransfer.files];

    for (const taker of takers) {
      files.filter(taker.wants).forEach(taker.take);
    }
    void compareWith(report, files.filter(file => !takers.some(taker => taker.wants(file))), into, note);
  });
}

view('compare', 'Compare with another run', async (report, body) => {
  const into = el('div');
  const note = el('p', {class: 'alarm-text', role: 'status'});
  const chosen = el('input', {type: 'file', accept: '.json,.html', 'aria-label': 'report to compare with'});

  chosen.addEventListener('change', () => void compareWith(report, chosen.files, into, note));
  body.append(el('p', {class: 'drop'}, 'Drop the report.json or report.html of another run anywhere on this page, or choose it: ', chosen,
    el('span', {class: 'quiet'}, ' A page that has it already is made by: ',
      el('code', null, commandText('ckmerge --baseline OTHER ' + shellWord(report.run || 'RUN'))))),
    note, into);
  takeDropped(report, into, note);
  try {
    const baseline = withPlainNames(await blockJson('baseline'));

    if (baseline) {
      into.append(...comparison(report, baseline, 'the baseline', null), await compareBaselineFlames());
    }
  } catch (error) {
    note.textContent = 'the baseline in this page: ' + safe(error.message);
  }
});
