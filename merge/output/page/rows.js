/* rows.js - view 6: tables of what ran
 *
 * SPDX-License-Identifier: Apache-2.0
 */
const sumOf = (rows, value) => rows.reduce((sum, row) => sum + (value(row) || 0), 0);
const shareColumn = (title, value, whole) => ({title, value: row => value(row) / whole, number: true,
  text: part => percent(part, 1)});

function kernelColumns(rows) {
  const busy = sumOf(rows, row => row.busy_ns);

  return [headColumn('kernel', row => row.name), countColumn('calls', row => row.calls),
    timeColumn('busy', row => row.busy_ns, true), shareColumn('share', row => row.busy_ns, busy),
    timeColumn('median', row => row.median_ns), timeColumn('longest', row => row.max_ns),
    textColumn('ranks', row => row.rank_list || '-')];
}

const copyColumns = () => [headColumn('copy', row => row.name), textColumn('launched by', place),
  countColumn('how many', row => row.calls), bytesColumn('bytes', row => row.bytes),
  timeColumn('time', row => row.total_ns, true), numberColumn('GB/s', row => row.gb_per_s)];

const lineColumns = () => [headColumn('line', place), textColumn('kernel', row => row.kernel),
  countColumn('launches', row => row.calls), timeColumn('device busy', row => row.busy_ns, true),
  timeColumn('in the launching calls', row => row.launch_ns)];

const callColumns = () => [headColumn('call', row => row.name), textColumn('called from', place),
  countColumn('calls', row => row.calls), timeColumn('time', row => row.total_ns, true),
  timeColumn('longest', row => row.max_ns), bytesColumn('sent', row => (row.sent || {}).bytes),
  bytesColumn('received', row => (row.received || {}).bytes), countColumn('ranks', row => row.ranks)];

const rangeColumns = () => [headColumn('range', row => row.name), countColumn('times', row => row.calls),
  timeColumn('time', row => row.total_ns, true), timeColumn('median', row => row.median_ns),
  timeColumn('longest', row => row.max_ns), ...((theReport.devices || []).length > 0 ? [timeColumn('devices busy meanwhile', row => row.device_busy_ns),
    timeColumn('devices idle meanwhile', row => row.idle_ns)] : []), countColumn('ranks', row => row.ranks)];

/* Instances of one template have one name as people read it, and are others. */
const instanceName = row => row.function + (row.instance || '');

const hotColumns = () => [headColumn('function', instanceName), textColumn('hottest line', row => (row.file ? place(row) : '-')),
  timeColumn('CPU time', row => row.ns, true), timeColumn('in that line', row => row.line_ns),
  countColumn('ranks', row => row.ranks), textColumn('most on', row => rankName(row.rank))];

const callerColumns = () => [headColumn('function', instanceName), textColumn('file', row => row.file || ''),
  timeColumn('CPU time with what it calls', row => row.total_ns, true), timeColumn('in itself', row => row.self_ns),
  textColumn('most below it', row => (row.leaf.function ? row.leaf.function + ' ' : '') + place(row.leaf)),
  timeColumn('there', row => row.leaf_ns)];

const libcColumns = () => [headColumn('function', row => row.name), textColumn('for', row => row.group),
  countColumn('calls', row => row.calls), timeColumn('time', row => row.total_ns, true),
  bytesColumn('bytes', row => row.bytes), countColumn('threads', row => row.threads), countColumn('ranks', row => row.ranks)];

/* Is anything known of the rank's time in and outside MPI? */
const hasMpi = rank => rank.mpi_calls > 0 || rank.useful_ns > 0;
/* Ranks wait for each other in sockets, too. */
const hasWaits = rank => hasMpi(rank) || rank.waited_ns > 0 || rank.caused_ns > 0;

/* What no rank has is left out, and what one lacks is not 0. */
const rankColumns = rows => {
  const mpi = name => row => (hasMpi(row) ? row[name] : null), waits = name => row => (hasWaits(row) ? row[name] : null), steps = name => row => (row.steps > 0 ? row[name] : null);

  return [headColumn('rank', row => row.rank), textColumn('host', row => row.host), textColumn('end', row => row.end),
    ...(rows.some(hasMpi) ? [timeColumn('outside MPI', mpi('useful_ns'), true)] : []),
    ...(rows.some(hasWaits) ? [timeColumn('waited', waits('waited_ns'), true), timeColumn('others waited for it', waits('caused_ns'), true)] : []),
    ...(rows.some(hasMpi) ? [timeColumn('in MPI', mpi('mpi_ns'))] : []),
    ...(rows.some(row => row.steps > 0) ? [countColumn('steps', row => row.steps), timeColumn('median step', steps('step_median_ns')),
      timeColumn('longest step', steps('step_max_ns'))] : [])];
};

const functionAt = row => (row.function && row.file ? instanceName(row) + ' ' : '') + place(row) + (row.file ? '' : row.instance || '');
const lastOf = row => (row.last ? (row.last.rank === null ? '' : row.last.rank + '.') + row.last.thread + ': ' +
  count(row.last.count) + ' of ' + count(row.last.of) : '-');

const regionColumns = () => [headColumn('region', functionAt), countColumn('times', row => row.count),
  countColumn('threads', row => row.threads), timeColumn('time', row => row.wall_ns),
  ...[['work', 'work_ns'], ['until the last thread', 'imbalance_ns'], ['barriers', 'barrier_ns'], ['locks', 'lock_ns'],
    ['tasks', 'tasks_ns']].map(([title, state]) => timeColumn(title, row => row.states[state], true)),
  textColumn('last thread (rank.thread)', lastOf),
  textColumn('it computed', row => (row.last_was_in ? functionAt(row.last_was_in) : '-'))];

const teamWaitColumns = () => [headColumn('wait', row => row.what), textColumn('at', functionAt),
  countColumn('waits', row => row.count), timeColumn('time', row => row.ns, true),
  timeColumn('longest', row => row.longest_ns), textColumn('last thread (rank.thread)', lastOf)];

const lockColumns = () => [headColumn('lock', row => row.address), textColumn('call', row => row.call),
  textColumn('at', functionAt), countColumn('threads', row => row.threads), countColumn('waits', row => row.count),
  timeColumn('waited', row => row.ns, true), timeColumn('all but one waited', row => row.serial_ns, true),
  textColumn('holders computed', row => (row.holders_were_in ? functionAt(row.holders_were_in) : '-'))];

const threadColumns = () => [headColumn('thread', row => row.tid), textColumn('rank', row => rankName(row.rank)),
  textColumn('name', row => row.name || '-'), timeColumn('on a CPU', row => row.cpu_ns, true),
  timeColumn('ready', row => row.ready_ns, true), timeColumn('blocked', row => row.blocked_ns, true),
  timeColumn('waited for its team', row => row.team_wait_ns, true), timeColumn('for locks', row => row.lock_wait_ns, true),
  textColumn('most for', row => (row.waited_most_for ? row.waited_most_for.what + ' ' + functionAt(row.waited_most_for) : '-'))];

const memoryColumns = () => [headColumn('rank', row => row.rank), bytesColumn('peak', row => row.peak_bytes),
  timeColumn('peak at', row => row.peak_rel_ns), countColumn('in step', row => row.peak_step),
  bytesColumn('at first', row => row.first_bytes), bytesColumn('at last', row => row.last_bytes),
  {title: 'growth', value: row => (row.growth && row.growth.steady ? row.growth.bytes_per_second : null), number: true,
    text: value => (value ? bytes(value) + '/s' : '-')},
  countColumn('page faults', row => row.minor_faults), countColumn('that read', row => row.major_faults),
  {title: 'of CPU time in faults', value: row => (row.sampled_ns > 0 ? row.faulting_ns / row.sampled_ns : null), number: true,
    text: part => (part === null ? '-' : percent(part, 1))}];

const callerOf = row => (row.caller && row.caller.function) || '-';

const faultColumns = () => [headColumn('function', functionAt), textColumn('called by', callerOf), countColumn('page faults', row => row.minor),
  countColumn('that read', row => row.major), timeColumn('CPU time in them', row => row.faulting_ns, true),
  countColumn('ranks', row => row.ranks), textColumn('most on', row => rankName(row.rank))];

const allocationColumns = () => [headColumn('function', functionAt), textColumn('called by', callerOf),
  bytesColumn('at peak', row => row.peak_bytes), bytesColumn('+-', row => row.peak_bytes_error),
  bytesColumn('at end', row => row.last_bytes), bytesColumn('in all', row => row.bytes), countColumn('blocks', row => row.blocks),
  countColumn('ranks', row => row.ranks), textColumn('most on', row => rankName(row.rank))];

const blockedColumns = () => [headColumn('function', functionAt), textColumn('called by', callerOf), countColumn('waits', row => row.waits),
  timeColumn('blocked', row => row.ns, true), timeColumn('longest', row => row.longest_ns), countColumn('threads', row => row.threads),
  countColumn('ranks', row => row.ranks), textColumn('most on', row => rankName(row.rank))];

/* The program's own frames before those of libraries. */
const framesAt = row => [...row.frames.filter(frame => frame.users), ...row.frames.filter(frame => !frame.users)];

const deathColumns = () => [headColumn('thread', row => row.thread), textColumn('rank', row => (row.rank < 0 ? '-' : rankName(row.rank))),
  textColumn('name', row => row.name || '-'), textColumn('took the signal', row => (row.cause ? 'signal ' + row.signal : '-')),
  textColumn('was in', row => (row.frames.length > 0 ? functionAt(framesAt(row)[0]) : row.system_call || row.state || '-')),
  textColumn('called from', row => framesAt(row).slice(1, 4).map(functionAt).join(', ') || '-'),
  timeColumn('at', row => row.at_rel_ns)];

const launchColumns = () => [headColumn('work', row => row.work), textColumn('launched in', functionAt), textColumn('rank', row => rankName(row.rank)),
  timeColumn('device time', row => row.ns, true), countColumn('launches', row => row.launches),
  textColumn('stack, innermost first', row => [...row.stack].reverse().slice(0, 4).map(frame => frame.function || place(frame)).join(', ') || '-')];

const COUNTED_NS = new Set(['run-queue-wait', 'task-clock', 'cpu-clock', 'thread-cpu-time']);

const counterColumns = () => [headColumn('counter', row => row.name), {title: 'value', value: row => row.value, number: true, text: (value, row) => (COUNTED_NS.has(row.name) ? time(value) : number(value))},
  {title: 'counted', value: row => row.share_counted, number: true, text: part => percent(part, 1)},
  countColumn('ranks', row => row.ranks)];

/* What a click on a row of a list shows: the rank, the items of that name in the
 * timeline, or the function in the flame graph of a kind. */
const ofRank = {title: 'select the rank', of: row => row.rank, show: rank => select({ranks: [rank]})};
/* The calls of a row in the timeline: those from its place, or else all of that name. */
const callName = row => (theTimeline && theTimeline.labels.has(placed(row.name, row)) ? placed(row.name, row) : row.name);
/* The calls from a row's line; where the timeline has none of them, the work by its name. */
const lineName = name => row => (row.file && theTimeline && theTimeline.hasPlace(row) ? {end: '(' + place(row) + ')'} : name(row));
const named = of => ({title: 'show all of them in the timeline', of: row => theTimeline && of(row), show: showNamed});
const flamed = kind => ({title: 'find the function in the flame graph',
  of: row => (flameGraph && flameGraph.hasFrameOf(row.function, kind) ? row.function : null), show: name => flameGraph.lookFor(name, kind)});
const CHOICES = {ranks: ofRank, memory: ofRank, threads: ofRank, deaths: ofRank, kernels: named(row => row.name), lines: named(lineName(row => row.kernel)),
  calls: named(callName), ranges: named(row => row.name), libc: named(row => row.name), copy_places: named(lineName(() => 'copy_only')),
  hot_spots: flamed('cpu'), hot_callers: flamed('cpu'), blocked_places: flamed('offcpu')};

/* Options of a table; a row whose target this page lacks is no choice. */
function choiceOf(member) {
  const choice = CHOICES[member];

  return choice && {title: choice.title, choose: row => choice.show(choice.of(row)),
    isChoice: row => !['', null, undefined].includes(choice.of(row))};
}

/* Tables with rows that lead to the flame graph, which is drawn behind them. */
const beforeFlames = [];

function dressTables() {
  beforeFlames.forEach(one => one.draw());
}

/* [title, member of the report, columns of its rows]. */
const TABLES = [
  ['Threads when a signal ended them', 'deaths', deathColumns], ['Ranks', 'ranks', rankColumns], ['Kernels', 'kernels', kernelColumns], ['Copies', 'copy_places', copyColumns],
  ['Lines that launched device work', 'lines', lineColumns], ['Functions that computed', 'hot_spots', hotColumns],
  ['Functions with what they call', 'hot_callers', callerColumns],
  ['Where threads were blocked', 'blocked_places', blockedColumns],
  ['Device work by the stack that launched it', 'launch_stacks.rows', launchColumns],
  ['Calls by place', 'calls', callColumns], ['Ranges of the program', 'ranges', rangeColumns],
  ['Parallel regions', 'openmp.regions', regionColumns], ['Waits in parallel regions', 'openmp.waits', teamWaitColumns],
  ['Locks that threads waited for', 'lock_waits', lockColumns], ['Threads', 'threads', threadColumns],
  ['Memory', 'memory', memoryColumns], ['Places of page faults', 'fault_places', faultColumns],
  ['Where memory came from', 'allocations.places', allocationColumns], ['Device memory', 'device_memory.places', allocationColumns],
  ['Files, locks, sleep', 'libc', libcColumns], ['Counters', 'counters', counterColumns],
];

/* What a page had no room for. */
const cutNote = (report, member, rows) => (report.cut && report.cut[member] > rows.length
  ? el('p', {class: 'quiet'}, 'The longest ' + count(rows.length) + ' of ' + count(report.cut[member]) +
    ' rows: the others are in report.json.') : null);

/* Of nothing in the region. */
const isOutside = row => row.calls === 0 && row.calls_in_run > 0;

/* Rows that are left out for that. */
function outsideNote(rows) {
  const many = rows.filter(isOutside).length;

  return many > 0 ? el('p', {class: 'quiet'}, 'Figures are of the region: ' + count(many) +
    (many > 1 ? ' more were' : ' more was') + ' called before or after it only, and not in it (report.json has ' + (many > 1 ? 'them).' : 'it).')) : null;
}

view('tables', 'Tables', (report, body) => {
  const missing = [];

  for (const [title, member, columns] of TABLES) {
    const rows = [...member.split('.').reduce((part, name) => (part || {})[name], report) || []];

    if (member === 'deaths') {
      rows.sort((a, b) => Number(b.cause) - Number(a.cause));
    }
    if (rows.length === 0 || (member === 'ranks' && rows.every(row => row.end === 'profile'))) {
      missing.push(title.toLowerCase());
    } else {
      const inside = rows.filter(row => !isOutside(row));
      const shown = new Table(title, columns(rows), inside, choiceOf(member));

      beforeFlames.push(shown);
      body.append(el('details', {open: body.querySelector('details') ? null : ''},
        el('summary', null, title + ' (' + count(inside.length) + ')'), shown.node,
        cutNote(report, member, rows), outsideNote(rows)));
    }
  }
  if (missing.length > 0) {
    body.append(el('p', {class: 'quiet'}, 'Not in this run: ', missing.map((title, i) => (i > 0 ? ', ' : '') + title), '.'));
  }
  return undefined;
});
