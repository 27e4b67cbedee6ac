/* waits.js - view 5: who waited for whom
 *
 * SPDX-License-Identifier: Apache-2.0
 */
const pairEnd = (pair, which) => pair[which] ?? pair[which + '_host'];

/* Pairs in which a rank waited: waiter, awaited, ns. `to` waited for `from`
 * to send, and `from` for `to` to receive. */
function waitPairs(report) {
  const sums = new Map();
  const add = (waiter, awaited, ns, row) => {
    if (ns > 0 && waiter !== null && awaited !== null && waiter !== undefined && awaited !== undefined) {
      const key = waiter + '\u0000' + awaited;
      const sum = sums.get(key) || {waiter, awaited, ns: 0, waits: 0};

      sum.ns += ns;
      sum.waits += row;
      sums.set(key, sum);
    }
  };

  for (const pair of (report.traffic || {}).pairs || []) {
    add(pairEnd(pair, 'to'), pairEnd(pair, 'from'), pair.waited_ns, pair.waits);
  }
  return [...sums.values()].sort((a, b) => b.ns - a.ns);
}

/* The waits of one rank for another, in the timeline; of hosts nothing. */
function selectPair(rank, whom) {
  const ranks = [rank, whom].filter(Number.isInteger).sort((a, b) => a - b);

  if (ranks.length === 2) {
    visit({ranks: [...new Set(ranks)], pair: [rank, whom]}, 'timeline');
  }
}

const endName = end => (typeof end === 'number' ? rankName(end) : safe(end));

/* The names beside a grid of ends. */
const endNames = ends => ({rowName: row => endName(ends[row]),
  columnName: column => (typeof ends[column] === 'number' ? String(ends[column]) : ends[column])});

function waitGrid(pairs) {
  const ends = [...new Set(pairs.flatMap(pair => [pair.waiter, pair.awaited]))].sort(compare);
  const at = new Map(pairs.map(pair => [pair.waiter + '\u0000' + pair.awaited, pair.ns]));
  const most = pairs[0].ns;
  const of = (row, column) => at.get(ends[row] + '\u0000' + ends[column]) ?? null;

  return new HeatGrid({
    name: 'who waited (down) for whom (across)', rows: ends.length, columns: ends.length,
    hint: 'Down: who waited. Across: for whom.' +
      (ends.every(Number.isInteger) ? ' Click: only the waits of these two, in the timeline.' : ' Pairs of ranks are below.'), ...endNames(ends),
    part: (row, column) => (of(row, column) === null ? 0 : of(row, column) / most),
    label: (row, column) => endName(ends[row]) + ' waited ' + time(of(row, column) || 0) + ' for ' + endName(ends[column]),
    choose: (row, column) => selectPair(ends[row], ends[column]), isLeaving: true,
  }).node;
}

/* Kinds of waits, in words. */
const WAIT_WORDS = {late_sender: 'late message', late_receiver: 'late receiver', wait_at_barrier: 'barrier', wait_at_nxn: 'collective',
  wait_at_neighbours: 'neighbours', wait_at_window: 'window', late_broadcast: 'late root', early_reduce: 'root waits', early_scan: 'ranks before it', late_data: 'late data',
  wait_at_init: 'MPI_Init', wait_at_finalize: 'MPI_Finalize', below_clock_resolution: 'below the clock error'};
const waitWords = row => WAIT_WORDS[row.wait || row.cause] || row.wait || row.cause;

/* Most of it was behind the end of the rank that was waited for. */
const hasEnded = row => (row.ended_ns || 0) * 2 > row.ns;

const waitColumns = report => [
  headColumn('who', row => row.ranks > 1 ? rankName(row.rank) + ' and ' + (row.ranks - 1) + ' more' : rankName(row.rank)),
  timeColumn('waited', row => row.ns, true),
  countColumn('times', row => row.count),
  textColumn('how', waitWords),
  textColumn('in', row => activity(row.host)),
  textColumn('for', row => rankName(row.blamed_rank ?? row.last_rank)),
  textColumn('late by', row => hasEnded(row) ? 'its end' : row.blamed_cause || '-'),
  textColumn('which was in', row => hasEnded(row) ? '-' : activity(row.blamed)),
  ...(report.clocks && report.clocks.length > 1 ? [timeColumn('+- clocks', row => row.error_ns || 0)] : [])];

view('waits', 'Who waited for whom', (report, body) => {
  const pairs = waitPairs(report);
  const waits = report.waits || [];

  if (pairs.length === 0 && waits.length === 0) {
    return 'no rank waited for another one in MPI or for data on a socket';
  }
  if (pairs.length > 0) {
    body.append(heatLegend('0', time(pairs[0].ns)), waitGrid(pairs),
      el('details', null, el('summary', null, 'pairs as a table'), table('waits by pair', [
        headColumn('who waited', pair => endName(pair.waiter)), textColumn('for', pair => endName(pair.awaited)),
        timeColumn('time', pair => pair.ns, true), countColumn('times', pair => pair.waits)], pairs,
      {choose: pair => selectPair(pair.waiter, pair.awaited)})));
  }
  const ranks = (report.traffic || {}).rank_waits || [];

  if (ranks.length > 0) {
    const rest = report.traffic.rank_waits_left_out_ns;

    body.append(el('h3', null, 'Pairs of ranks'), table('waits by pair of ranks', [
      headColumn('who waited', pair => rankName(pair.rank)), textColumn('for', pair => rankName(pair.awaited_rank)),
      timeColumn('time', pair => pair.waited_ns, true), countColumn('times', pair => pair.waits)], ranks,
    {choose: pair => selectPair(pair.rank, pair.awaited_rank)}));
    if (rest > 0) {
      body.append(el('p', {class: 'quiet'}, 'All other pairs waited ' + time(rest) + '.'));
    }
  }
  if (waits.length > 0) {
    body.append(el('h3', null, 'Waits by place'), table('waits', waitColumns(report), waits,
      {choose: row => select({ranks: [row.rank, row.blamed_rank].filter(Number.isInteger).sort((a, b) => a - b)})}));
  }
  if ((report.edge_waits || []).length > 0) {
    body.append(el('details', null, el('summary', null, 'in MPI_Init and MPI_Finalize'),
      table('waits at start and end', waitColumns(report), report.edge_waits)));
  }
});

/* Bytes that went from one end to another: [from, to, messages, bytes]. */
const sentPairs = report => ((report.traffic || {}).pairs || [])
  .map(pair => ({from: pairEnd(pair, 'from'), to: pairEnd(pair, 'to'),
    messages: (pair.sent || {}).messages || 0, bytes: (pair.sent || {}).bytes || 0}))
  .filter(pair => pair.messages > 0 && pair.from !== null && pair.to !== null)
  .sort((a, b) => b.bytes - a.bytes);

function trafficGrid(pairs) {
  const ends = [...new Set(pairs.flatMap(pair => [pair.from, pair.to]))].sort(compare);
  const at = new Map(pairs.map(pair => [pair.from + '\u0000' + pair.to, pair]));
  const most = pairs[0].bytes || 1;
  const of = (row, column) => at.get(ends[row] + '\u0000' + ends[column]) || null;

  return new HeatGrid({
    name: 'bytes sent from each (down) to each (across)', rows: ends.length, columns: ends.length,
    hint: 'Down: who sent. Across: to whom.', ...endNames(ends),
    part: (row, column) => (of(row, column) === null ? 0 : of(row, column).bytes / most),
    label: (row, column) => {
      const pair = of(row, column);

      return endName(ends[row]) + ' sent ' + endName(ends[column]) + ' ' +
        (pair ? bytes(pair.bytes) + ' in ' + count(pair.messages) + ' messages' : 'nothing');
    },
    choose: (row, column) => select({ranks: [ends[row], ends[column]].filter(Number.isInteger).sort((a, b) => a - b)}),
  }).node;
}

view('traffic', 'Who sent to whom', (report, body) => {
  const pairs = sentPairs(report);

  if (pairs.length === 0) {
    return 'no rank sent another one a message (collectives are in Tables, Calls by place)';
  }
  body.append(heatLegend('0', bytes(pairs[0].bytes)), trafficGrid(pairs),
    el('details', null, el('summary', null, 'as a table'), table('messages by pair', [
      headColumn('from', pair => endName(pair.from)), textColumn('to', pair => endName(pair.to)),
      bytesColumn('bytes', pair => pair.bytes), countColumn('messages', pair => pair.messages)], pairs)));
  const rest = report.traffic.left_out || {};

  if (rest.messages > 0) {
    body.append(el('p', {class: 'quiet'}, count(rest.messages) + ' messages with ' + bytes(rest.bytes) +
      ' are of pairs that are not listed.'));
  }
  return undefined;
});
