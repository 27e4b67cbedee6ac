/* steps.js - view 4: steps and ranks
 *
 * SPDX-License-Identifier: Apache-2.0
 */

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
  const ranks = (report.ranks || []).map(rank => rank.rank);

  if (rows.every(row => Array.isArray(row.rank_ns))) {
    return ranks.map((rank, i) => ({name: rankName(rank), rank, of: row => row.rank_ns[i]}));
  }
  return [{name: 'slowest rank', rank: null, of: row => row.longest_ns},
    {name: 'fastest rank', rank: null, of: row => row.shortest_ns}];
}

function stepGrid(report, rows, median) {
  const lanes = stepLanes(report, rows);

  return new HeatGrid({
    name: 'time of each step (across) on each rank (down)', rows: lanes.length, columns: rows.length,
    rowName: row => lanes[row].name, mark: column => (column === 0 ? 'step ' : '') + rows[column].number,
    hint: 'Across: steps. Down: ' + (lanes[0].rank === null ? lanes.map(lane => lane.name).join(', ') :
      ranksText(lanes.map(lane => lane.rank)) + ' (ranks)') + '. Click: select that step and rank.',
    part: (row, column) => {
      const ns = lanes[row].of(rows[column]);

      return ns === null || ns === undefined ? null : ns / median / STEP_DARKEST;
    },
    label: (row, column) => lanes[row].name + ', step ' + rows[column].number + ': ' +
      time(lanes[row].of(rows[column])) + ', median of the steps ' + time(median) + ', waited ' +
      time(rows[column].waited_ns) + (rows[column].worst_rank === null ? '' : ', mostly for ' + rankName(rows[column].worst_rank)),
    choose: (row, column) => selectStep(rows[column], lanes[row].rank === null ? [] : [lanes[row].rank]),
  }).node;
}

view('steps', 'Steps and ranks', (report, body) => {
  const steps = report.step_table || {};
  const rows = steps.rows || [];

  if (rows.length === 0) {
    return 'the program marks no steps, and no collective ends its loop in a rhythm';
  }
  body.append(el('p', null, count(steps.count) + ' steps, median of their slowest ranks ' + time(steps.median_ns) +
    ', ' + count(steps.outliers) + ' of 1.5 times that or more' +
    (steps.ended_by ? '. A step ends with ' + safe(steps.ended_by) + ' (' +
      place({file: steps.ended_in, line: steps.ended_line}) + ')' : '') + '.'),
  ...(rows.length < steps.count ? [el('p', {class: 'quiet'}, 'Shown are the first ' + count(rows.length) + ' steps.')] : []),
  heatLegend('0', 'twice the median or more'), stepGrid(report, rows, steps.median_ns || 1),
  el('details', null, el('summary', null, 'as a table'),
    table('steps', stepColumns(), rows, {choose: row => selectStep(row, [])})));
});
