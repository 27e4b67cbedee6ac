/* compare.js - view 10: this run beside another one
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/* Ranks that died, or ended with a status of failure. */
const failedRanks = report => (report.ranks || []).filter(rank =>
  rank.end === 'signal' || rank.end === 'killed' || (rank.end === 'exited' && rank.code !== 0)).length;

/* Both are reports of one run, wherever they are stored. */
const isOneRun = (report, other) => ['job', 'realtime_of_zero_ns', 'time_base_ns'].every(name => report[name] && other[name] === report[name]);

/* Why figures of the two must not be compared, as sentences; [] = they may. */
function obstacles(report, other) {
  const reasons = isOneRun(report, other) ? ['it is this run itself'] : [];
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

/* Rows of both: [what, here, there, row here, row there], by a key; of several rows with
 * one key the longest. `moved`: lines that are others there (movedPlaces): `what` has
 * both of them. */
function paired(here, there, key, value, moved = new Map()) {
  const rows = new Map();
  const add = (item, name, title, at) => {
    const row = rows.get(name) || [title, 0, 0, null, null];
    const ns = value(item) || 0;

    row[0] = title;
    row[at] += ns;
    if (row[at + 2] === null || ns > value(row[at + 2])) {
      row[at + 2] = item;
    }
    rows.set(name, row);
  };

  for (const item of here || []) {
    add(item, key(item), key(item), 1);
  }
  for (const item of there || []) {
    add(item, key(withLines(item, moved, lineHere)), key(withLines(item, moved, bothLines)), 2);
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

const orDash = shown => value => (value === null ? '-' : shown(value));

function differenceColumns(what, shown) {
  return [headColumn(what, row => row[0]),
    {title: 'here', value: row => (row[3] === null ? null : row[1]), number: true, text: orDash(shown)},
    {title: 'there', value: row => (row[4] === null ? null : row[2]), number: true, text: orDash(shown)},
    {title: 'change', value: row => row[1] - row[2], number: true, text: value => signed(value, shown)},
    {title: 'here / there', value: row => (row[1] > 0 && row[2] > 0 ? row[1] / row[2] : null), number: true,
      text: (value, row) => (value !== null ? value.toFixed(2) + ' x' : row[4] === null ? 'new' : row[3] === null ? 'gone' : '-')}];
}

/* "+2.00 ms (+10 %)" */
const changeText = (a, b, shown) => (a === null || b === null ? '-' :
  signed(a - b, shown) + (b > 0 ? ' (' + signed(100 * (a / b - 1), figures) + ' %)' : ''));
const medianStep = report => ((report.step_table || {}).count > 0 ? report.step_table.median_ns : null);

function summary(report, other) {
  const of = (name, value, shown) => [name, value(report), value(other), orDash(shown)];
  const ofDevices = name => r => ((r.devices || []).length > 0 && r.all_devices ? r.all_devices[name] : null);
  const rows = [
    of('region', r => r.region.ns, time),
    of('median step', medianStep, time),
    of('device time busy', ofDevices('busy_ns'), time),
    of('device time idle', ofDevices('idle_ns'), time),
    of('parallel efficiency', r => (r.efficiency || {}).parallel ?? null, figures),
    of('ranks waited', r => ((r.ranks || []).some(hasWaits) ? sumOf(r.ranks, rank => rank.waited_ns) : null), time)]
    .filter(row => row[1] !== null || row[2] !== null);

  return el('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'both runs in figures'}, el('table', {class: 'plain'}, el('thead', null, el('tr', null, ['figure', 'here', 'there', 'change'].map(text =>
    el('th', {scope: 'col', class: 'number'}, text)))), el('tbody', null, rows.map(([name, a, b, shown]) =>
    el('tr', null, el('th', {scope: 'row'}, name), el('td', {class: 'number'}, shown(a)), el('td', {class: 'number'}, shown(b)),
      el('td', {class: 'number'}, changeText(a, b, shown)))))));
}

const waitKey = row => rankName(row.rank) + (row.ranks > 1 ? ' and ' + (row.ranks - 1) + ' more' : '') + ' for ' + rankName(row.blamed_rank ?? row.last_rank) +
  ', ' + waitWords(row) + (activity(row.host) === '-' ? '' : ', in ' + activity(row.host));
const callKey = call => call.name + ' (' + place(call) + ')';
/* Of those, what a library called for itself, most of it in threads that wait all the time. */
const isLibrarys = call => call.mpi_own === true;

const LIBRARY_CALLS = 'Calls of the MPI library for itself';

/* What may have changed a run first, and what follows from it. */
const COMPARED = [
  ['Causes of idle time', report => report.causes, causeKey, cause => cause.ns],
  ['Ranks that others waited for', report => report.stragglers, row => rankName(row.rank), row => row.caused_ns],
  ['Waits by place', report => report.waits, waitKey, row => row.ns],
  ['Functions that computed', report => report.hot_spots, hot => hot.function + ' (' + place(hot) + ')', hot => hot.ns],
  ['Lines that launched device work', report => report.lines, line => place(line) + ' ' + (line.kernel || ''), line => line.busy_ns],
  ['Kernels', report => report.kernels, kernel => kernel.name, kernel => kernel.busy_ns],
  ['Calls by place', report => (report.calls || []).filter(call => !isLibrarys(call)), callKey, call => call.total_ns],
  [LIBRARY_CALLS, report => (report.calls || []).filter(isLibrarys), callKey, call => call.total_ns],
];

/* [title, rows] of what is compared and differs. */
function comparedParts(report, other) {
  const places = [report, other].map(one => placesIn(['calls', 'lines', 'causes', 'waits', 'hot_spots'].map(name => one[name])));
  const moved = movedPlaces(...places);

  return [...COMPARED.map(([title, of, key, value]) => [title, paired(of(report), of(other), key, value, moved)]),
    ['Steps, by their slowest rank', comparedSteps(report, other)]].filter(([, rows]) => rows.length > 0);
}

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

/* " of 2026-11-24 20:15 UTC" */
const begunText = report => (report.realtime_of_zero_ns > 0 ?
  ' of ' + new Date(report.realtime_of_zero_ns / 1e6).toISOString().slice(0, 16).replace('T', ' ') + ' UTC' : '');

/* [title of its table, the row that changed most]; the row is null where there is none. */
function mostChanged(parts) {
  const change = row => (row ? Math.abs(row[1] - row[2]) : -1);

  return parts.filter(([title]) => title !== LIBRARY_CALLS).flatMap(([title, rows]) => rows.map(row => [title, row]))
    .reduce((most, one) => (change(one[1]) > change(most[1]) ? one : most), ['', null]);
}

/* Near the first sentence of the page what the comparison below comes to. */
function announce(report, other, parts) {
  const reasons = obstacles(report, other), steps = [report, other].map(medianStep);
  const [title, row] = mostChanged(parts);
  const [what, here, there] = steps.includes(null) ? ['region', report.region.ns, other.region.ns] : ['median step', ...steps];
  const said = [...reasons.slice(0, 1).map(reason => 'not comparable (' + reason + (reasons.length > 1 ? ', and ' + (reasons.length - 1) + ' more' : '') + ')'),
    what + ' ' + time(here) + ', there ' + time(there) + ', ' + changeText(here, there, time),
    ...(row ? [title.charAt(0).toLowerCase() + title.slice(1) + ': most changed ' + row[0] + ', ' + signed(row[1] - row[2], time)] : [])];
  const line = el('p', {id: 'compared'}, 'Compared with ' + safe(other.run || 'another run') + begunText(other) + ': ' + said.join('; ') + '. ',
    button('Compare', () => visit({}, 'compare'), {title: 'all that differs'}));
  const before = document.getElementById('compared');

  if (before) {
    before.remove();
  }
  document.querySelector('#view-why h2').after(line);
}

function comparison(report, other, name, both) {
  const reasons = obstacles(report, other), compared = comparedParts(report, other);
  const parts = [el('p', null, 'Here: ' + safe(report.run) + '. There: ' + safe(name) + ' (' + safe(other.run) + ').')];

  if (reasons.length > 0) {
    parts.push(el('div', {class: 'alarm', role: 'alert'}, el('b', null, 'Not comparable because'),
      el('ul', null, reasons.map(reason => el('li', null, reason)))));
  }
  parts.push(summary(report, other));
  if (compared.some(([, rows]) => rows.some(([title]) => /:\d+ -> \d/.test(title)))) {
    parts.push(el('p', {class: 'quiet'}, 'Where two lines are shown, as in "job.c:9 -> 10", the first one is the line there and the second one the line here.'));
  }
  for (const [title, rows] of compared) {
    parts.push(el('h3', null, title), table(title + ', compared', differenceColumns('what', time), rows,
      {title: 'show it in the timeline', choose: row => (both ? both.show(row) : showHere(row)),
        isChoice: row => isInTimelines(both ? row : row.slice(0, 4)) && (both || theTimeline) !== null}));
  }
  announce(report, other, compared);
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
