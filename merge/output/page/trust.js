/* trust.js - view 11: what is not known, and when that was
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/* Causes that mean that something is not known. */
const NOT_KNOWN = {lost_data: 'records are missing', unfinished: 'work that never ended', no_host_data: 'the host was not recorded',
  unattributed: 'what happened is not known any more', below_clock_resolution: 'the clocks do not tell who waited for whom',
  host_stopped: 'the host did not run', profiler: 'a tracer worked'};

/* {what, rank, from, to, ns} of each time that the report cannot explain. */
function unknownTimes(report) {
  const end = (report.whole || {}).ns || 0;
  const aways = ((report.trust || {}).away || []).map(one => ({what: 'no collector ran', rank: one.rank, from: one.from_rel_ns,
    to: one.to_rel_ns ?? end, ns: (one.to_rel_ns ?? end) - one.from_rel_ns}));
  const causes = (report.causes || []).filter(cause => cause.cause in NOT_KNOWN && cause.example)
    .map(cause => ({what: NOT_KNOWN[cause.cause] + ' (' + cause.cause + ', the longest time)', rank: cause.example.rank,
      from: cause.example.start_rel_ns, to: cause.example.end_rel_ns, ns: cause.ns}));

  return [...aways, ...causes];
}

/* ---- how well clocks are known over time --------------------------------- */

/* A host may have several clocks, as of containers with times of their own. */
function clockName(clocks, i) {
  const {host} = clocks[i];
  const isOne = host && clocks.every((clock, k) => k === i || clock.host !== host);

  return isOne ? host : (host ? host + ', ' : '') + 'clock ' + (i + 1);
}

/* [from, to] of the i-th of so many parts of the region. */
function regionPart(report, i, parts) {
  const {start_rel_ns: start, end_rel_ns: end} = report.region;
  const at = k => Math.round(start + (end - start) * k / parts);

  return [at(i), at(i + 1)];
}

/* {clock, from, to, ns: null = not known} of each clock and part of the region. */
function clockParts(report, clocks) {
  return clocks.flatMap((clock, i) => clock.bound_parts_ns.map((ns, k) => {
    const [from, to] = regionPart(report, k, clock.bound_parts_ns.length);

    return {clock: clockName(clocks, i), from, to, ns};
  }));
}

/* The bounds of clocks as a grid, and as a table; [] = there is one clock, or they are
 * too many. */
function clockBounds(report) {
  const clocks = (report.clocks || []).filter(clock => Array.isArray(clock.bound_parts_ns));
  const parts = clockParts(report, clocks), most = parts.reduce((largest, part) => Math.max(largest, part.ns || 0), 0);

  if (most === 0 && parts.every(part => part.ns === 0)) {
    return [];
  }
  const columns = clocks[0].bound_parts_ns.length, of = (row, column) => parts[row * columns + column];
  const pick = part => select({range: [part.from, part.to]});
  const grid = new HeatGrid({
    name: 'how exactly each clock is known (down) over the region (across)', rows: clocks.length, columns,
    rowName: row => of(row, 0).clock, mark: column => time(of(0, column).from),
    hint: 'Times of different hosts are comparable within these bounds, and a wait that is shorter is attributed to no rank. Click: select that time.',
    part: (row, column) => (of(row, column).ns === null ? null : of(row, column).ns / (most || 1)),
    label: (row, column) => {
      const part = of(row, column);

      return part.clock + ', ' + time(part.from) + ' to ' + time(part.to) + ': ' + (part.ns === null ? 'not known' : '+- ' + time(part.ns));
    },
    choose: (row, column) => pick(of(row, column))});

  return [el('h3', null, 'How exactly the clocks are known, over the region'),
    heatLegend('0', '+- ' + time(most), parts.some(part => part.ns === null) ? 'not known' : undefined), grid.node,
    el('details', null, el('summary', null, 'as a table'), table('bounds of clocks', [headColumn('clock', part => part.clock),
      timeColumn('from', part => part.from), timeColumn('to', part => part.to), timeColumn('+-', part => part.ns, true)],
    parts, {title: 'select that time', choose: pick}))];
}

/* Behind what C has written. */
function dressTrust(report) {
  const rows = unknownTimes(report);
  const section = document.getElementById('view-trust');

  if (!section) {
    return;
  }
  section.append(...clockBounds(report));
  if (rows.length === 0) {
    return;
  }
  section.append(el('h3', null, 'When'), table('times that are not known', [headColumn('what', row => row.what),
    textColumn('rank', row => rankName(row.rank)), timeColumn('from', row => row.from), timeColumn('length', row => row.to - row.from),
    timeColumn('in all', row => row.ns, true)], rows, {choose: row => {
    select({range: [row.from, row.to], ranks: Number.isInteger(row.rank) ? [row.rank] : []});
    const to = document.getElementById('view-timeline');

    if (to) {
      to.scrollIntoView({block: 'start'});
    }
  }}));
}
