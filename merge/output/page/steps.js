/* steps.js - view 4: steps and ranks
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/* The rows of the table as report.json has them, out of the blocks that
 * stepblock.h describes; throws where these do not fit together. */
const STEP_ROWS_MOST = 1 << 16;
const STEP_NUMBERS_MOST = 1 << 24;
const STEP_FIGURES = ['number', 'start', 'length', 'ranks', 'shortest', 'longest', 'longestRank', 'launches', 'syncs', 'copies',
  'collectives', 'waited', 'error', 'worst', 'worstNs', 'outlier'];
const unfolded = value => (value % 2 === 1 ? -(value + 1) / 2 : value / 2);
const orNone = value => (value === 0 ? null : value - 1);

function stepColumnsOf(index, data) {
  const rows = checkedCount(index.rows, STEP_ROWS_MOST, 'steps');
  const lengths = checkedCount(index.lengths, STEP_NUMBERS_MOST / Math.max(rows, 1), 'ranks of a step');
  const numbers = new Numbers(data, 0, data.length);
  const columns = Object.fromEntries(STEP_FIGURES.map(name => [name, numbers.column(rows)]));

  return {rows, ...columns, idle: index.causes.map(cause => [String(cause), numbers.column(rows)]),
    lengths: Array.from({length: lengths}, () => numbers.column(rows))};
}

/* `base`: what its times are relative to, in ns since the axis' zero; as a text,
 * for it may be more than numbers of scripts hold exactly. */
function stepRow(columns, i, {number, start}, ofRanks, base) {
  const length = unfolded(columns.length[i]), worst = orNone(columns.worst[i]);
  const shortest = unfolded(columns.shortest[i]);
  const absolute = rel => Number(BigInt(base) + BigInt(rel));

  return {number, start_rel_ns: start, end_rel_ns: start + length, start_ns: absolute(start), end_ns: absolute(start + length),
    ranks: columns.ranks[i], of_ranks: ofRanks, shortest_ns: shortest, longest_ns: shortest + unfolded(columns.longest[i]),
    longest_rank: unfolded(columns.longestRank[i]), launches: columns.launches[i], syncs: columns.syncs[i],
    copies: columns.copies[i], collectives: columns.collectives[i], waited_ns: unfolded(columns.waited[i]),
    ...(columns.error[i] > 0 ? {waited_error_ns: columns.error[i]} : {}), worst_rank: worst,
    ...(worst === null ? {} : {worst_ns: unfolded(columns.worstNs[i])}), outlier: columns.outlier[i] === 1,
    rank_ns: columns.lengths.length > 0 ? columns.lengths.map(column => orNone(column[i])) : null,
    idle: Object.fromEntries(columns.idle.filter(([, column]) => column[i] > 0).map(([cause, column]) => [cause, unfolded(column[i])]))};
}

function stepRowsOf(index, data, base) {
  if (!index || index.version !== 1 || !Array.isArray(index.causes) || !data) {
    throw new Error('its steps are of another version');
  }
  const columns = stepColumnsOf(index, data);
  const at = {number: 0, start: 0};

  return Array.from({length: columns.rows}, (_, i) => {
    at.number += unfolded(columns.number[i]);
    at.start += unfolded(columns.start[i]);
    return stepRow(columns, i, at, index.of_ranks, base);
  });
}

/* The report of this page, with its steps. */
async function withSteps(report) {
  const index = await blockJson('steps');

  if (index) {
    report.step_table.rows = stepRowsOf(index, await block('step-numbers'), report.time_base_ns);
  }
  return report;
}

/* Longest, of the median, that has the darkest colour. */
const STEP_DARKEST = 2;

const idleOfStep = row => Object.entries(row.idle || {}).sort((a, b) => b[1] - a[1])[0];

const stepColumns = () => [
  {title: 'step', value: row => row.number, number: true, isHead: true},
  timeColumn('from', row => row.start_rel_ns),
  timeColumn('slowest rank', row => row.longest_ns, true),
  timeColumn('fastest rank', row => row.shortest_ns),
  textColumn('slowest is', row => rankName(row.longest_rank)),
  timeColumn('ranks waited', row => row.waited_ns),
  textColumn('mostly for', row => rankName(row.worst_rank)),
  textColumn('devices idle mostly by', row => (idleOfStep(row) || ['-'])[0]),
  countColumn('launches', row => row.launches),
  countColumn('collectives', row => row.collectives)];

const selectStep = (row, ranks) => select({range: [row.start_rel_ns, row.end_rel_ns], ranks});

/* What the rows of the grid are: each rank, or of a larger job the slowest and
 * the fastest one. */
function stepLanes(report, rows) {
  const ranks = report.ranks || [];

  if (rows.every(row => Array.isArray(row.rank_ns))) {
    return ranks.map((rank, i) => ({name: rankName(rank.rank), rank: rank.rank, host: rank.host || '', caused: rank.caused_ns || 0,
      of: row => row.rank_ns[i]}));
  }
  return [{name: 'slowest rank', rank: null, of: row => row.longest_ns},
    {name: 'fastest rank', rank: null, of: row => row.shortest_ns}];
}

const STEP_ORDERS = [['by rank', (a, b) => a.rank - b.rank], ['by host', (a, b) => compare(a.host, b.host) || a.rank - b.rank],
  ['those that others waited for first', (a, b) => b.caused - a.caused || a.rank - b.rank]];

const stepPart = rows => (first, last) => select({range: [rows[first].start_rel_ns, rows[last].end_rel_ns]});
const stepMark = rows => column => (column === 0 ? 'step ' : '') + rows[column].number;

function stepGrid(lanes, rows, median) {
  return new HeatGrid({
    name: 'time of each step (across) on each rank (down)', rows: lanes.length, columns: rows.length,
    rowName: row => lanes[row].name, mark: stepMark(rows),
    hint: 'Across: steps. Down: ' + (lanes[0].rank === null ? lanes.map(lane => lane.name).join(', ') : 'ranks') +
      '. Click: select that step and rank. Drag: select several steps.',
    part: (row, column) => {
      const ns = lanes[row].of(rows[column]);

      return ns === null || ns === undefined ? null : ns / median / STEP_DARKEST;
    },
    label: (row, column) => lanes[row].name + ', step ' + rows[column].number + ': ' +
      time(lanes[row].of(rows[column])) + ', median of the steps ' + time(median) + ', waited ' +
      time(rows[column].waited_ns) + (rows[column].worst_rank === null ? '' : ', mostly for ' + rankName(rows[column].worst_rank)),
    choose: (row, column) => selectStep(rows[column], lanes[row].rank === null ? [] : [lanes[row].rank]),
    choosePart: stepPart(rows),
  }).node;
}

/* The grid, and buttons for the order of its rows. */
function orderedSteps(report, rows, median) {
  const lanes = stepLanes(report, rows), into = el('div');
  const hosts = new Set(lanes.map(lane => lane.host)), orders = STEP_ORDERS.filter((one, i) => i !== 1 || hosts.size > 1);
  const buttons = orders.map(([title, order], i) => button(title, () => {
    into.replaceChildren(stepGrid([...lanes].sort(order), rows, median));
    buttons.forEach((one, k) => one.setAttribute('aria-pressed', String(k === i)));
  }));

  if (lanes[0].rank === null || lanes.length < 2) {
    return [stepGrid(lanes, rows, median)];
  }
  buttons[0].click();
  return [el('div', {class: 'tools', role: 'toolbar', 'aria-label': 'order of the ranks'}, buttons), into];
}

const CAUSES_OF_STEPS = 6; /* rows of the second grid, at most */

/* A time that has the darkest colour, and whether there are longer ones: one long
 * step alone does not make all others pale. */
const STEP_FEW = 0.05; /* of the times may be above it */
const STEP_ABOVE = 2; /* times the longest of the others */

function darkestOf(times) {
  const above = times.filter(ns => ns > 0).sort((a, b) => b - a);
  const most = above[0] || 1, usual = above[Math.floor(above.length * STEP_FEW)] * STEP_ABOVE;

  return usual < most ? {ns: usual, isPassed: true} : {ns: most, isPassed: false};
}

/* What ranks waited and what devices were idle for, step by step. */
function stepWaits(rows) {
  const causes = new Map();

  rows.forEach(row => Object.entries(row.idle || {}).forEach(([name, ns]) => causes.set(name, (causes.get(name) || 0) + ns)));
  const lanes = [{name: 'ranks waited', what: 'the ranks waited', of: row => row.waited_ns || 0},
    ...[...causes].sort((a, b) => b[1] - a[1]).slice(0, CAUSES_OF_STEPS).map(([name]) =>
      ({name, what: 'devices were idle because of ' + name, of: row => (row.idle || {})[name] || 0}))];
  const shown = lanes.filter(lane => rows.some(row => lane.of(row) > 0));
  const darkest = darkestOf(shown.flatMap(lane => rows.map(lane.of)));

  return shown.length === 0 ? [] : [el('h3', null, 'Waits and idle time of each step, all ranks added up'),
    heatLegend('0', time(darkest.ns) + (darkest.isPassed ? ' or more' : '')), new HeatGrid({
    name: 'waits and idle time (down) of each step (across)', rows: shown.length, columns: rows.length, rowName: row => shown[row].name, mark: stepMark(rows),
    hint: 'Click: select that step.' + (shown[0].name !== 'ranks waited' ? ' Rows: why devices were idle.' :
      shown.length > 1 ? ' Below the first row: why devices were idle.' : ''),
    part: (row, column) => shown[row].of(rows[column]) / darkest.ns,
    label: (row, column) => 'step ' + rows[column].number + ': ' + shown[row].what + ', ' + time(shown[row].of(rows[column])) +
      (row === 0 && Number.isInteger(rows[column].worst_rank) ? ', mostly for ' + rankName(rows[column].worst_rank) : ''),
    choose: (row, column) => selectStep(rows[column], []), choosePart: stepPart(rows),
  }).node];
}

view('steps', 'Steps and ranks', (report, body) => {
  const steps = report.step_table || {};
  const rows = steps.rows || [];

  if (rows.length === 0) {
    return 'the program marks no steps, and no collective ends its loop in a rhythm';
  }
  body.append(el('p', null, count(steps.count) + (steps.count === 1 ? ' step' : ' steps') + ', median of their slowest ranks ' + time(steps.median_ns) +
    ', ' + count(steps.outliers) + ' of 1.5 times that or more' +
    (steps.ended_by ? '. A step ends with ' + safe(steps.ended_by) + ' (' +
      place({file: steps.ended_in, line: steps.ended_line}) + ')' : '') + '.'),
  ...(rows.length < steps.count ? [el('p', {class: 'quiet'}, 'Shown are the first ' + count(rows.length) + ' steps.')] : []),
  heatLegend('0', 'twice the median or more', rows.some(row => (row.rank_ns || []).includes(null)) ? 'the rank did not take part' : undefined), ...orderedSteps(report, rows, steps.median_ns || 1), ...stepWaits(rows),
  el('details', null, el('summary', null, 'as a table'),
    table('steps', stepColumns(), rows, {choose: row => selectStep(row, [])})));
});
