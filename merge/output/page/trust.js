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

/* Behind what C has written. */
function dressTrust(report) {
  const rows = unknownTimes(report);
  const section = document.getElementById('view-trust');

  if (rows.length === 0 || !section) {
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
