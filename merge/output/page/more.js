/* more.js - view 12: what other programs read, and ranks in the heading
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/* All of launch/format.h but this page. */
const EXPORTS = [
  ['text', 'this report as text'],
  ['json', 'the figures of this page for a program'],
  ['csv=tables', 'the tables of this page, as files of a folder'],
  ['sqlite', 'every call, kernel, wait and idle time as rows'],
  ['perfetto', 'the timeline for ui.perfetto.dev'],
  ['chrome', 'the timeline for ui.perfetto.dev, chrome://tracing or speedscope'],
  ['speedscope', 'stacks of CPU samples for speedscope.app'],
  ['firefox', 'stacks of CPU samples for profiler.firefox.com'],
  ['folded', 'stacks of CPU samples, a line each, for other flame graphs'],
  ['folded-waits', 'the same of what ranks waited for'],
  ['folded-memory', 'stacks where memory was asked for, with bytes, for other flame graphs'],
  ['folded-device', 'stacks that launched device work, with its time, for other flame graphs'],
  ['folded-diff=diff.folded --baseline OTHER', 'the stacks of two runs, for a differential flame graph'],
  ['flamescope', 'CPU samples for FlameScope'],
  ['svg-ledger=ledger.svg', 'a picture of where the device time went'],
  ['svg-timeline=timeline.svg', 'a picture of the timeline'],
  ['svg-steps=steps.svg', 'a picture of steps and ranks'],
  ['svg-flame=flame.svg', 'a picture of the flame graph'],
  ['where', 'where each rank was when it was looked at last'],
  ['openmetrics', 'figures of the run for a monitoring system'],
];

/* Commands that make each other format of this run; a merge of profiles has no run
 * that is stored. */
function exportsOf(report) {
  const {run} = report;

  return run ? EXPORTS.map(([format, what]) => ({what, command: 'ckmerge --quiet --output ' + format + ' ' + shellWord(run)})) : [];
}

function showExports(report) {
  const rows = exportsOf(report), copied = el('span', {role: 'status'});

  if (rows.length > 0) {
    document.getElementById('absent').before(el('details', null, el('summary', null, 'other formats of this run, and their commands'),
      el('p', {class: 'quiet'}, 'Type them where the run directory is. A click on a row copies its command. ', copied),
      table('other formats', [{...headColumn('command', row => row.command), isWhole: true}, textColumn('writes', row => row.what)], rows,
        {title: 'copy the command', choose: row => copyText(row.command, copied)})));
  }
}

/* "ranks 0, 2-3" in the heading: a button that selects them. */
const RANKS_NAMED = /\branks? (\d+(?:-\d+)?(?:, \d+(?:-\d+)?)*)(?![\d.])/;

/* A rank that died, when it did; others whenever. */
function ranksChange(ranks) {
  const death = ranks.length === 1 ? deathsOf(theReport).find(({rank}) => rank === ranks[0]) : undefined;
  const whole = theReport.whole.ns;

  return {ranks, range: death ? [Math.max(0, Math.round(death.at - whole / 50)), death.at] : null};
}

function dressRanks(node) {
  const found = RANKS_NAMED.exec(node.data);

  if (found) {
    const named = node.splitText(found.index), rest = named.splitText(found[0].length);

    named.replaceWith(button(found[0], () => visit(ranksChange(ranksOf(found[1].replaceAll(' ', ''))), 'timeline', 'ledger', 'rows'),
      {class: 'inline', title: 'show in the timeline'}));
    dressRanks(rest);
  }
}

function dressHeading() {
  for (const item of document.querySelectorAll('header .alarm li, header .running li')) {
    [...item.childNodes].filter(node => node.nodeType === Node.TEXT_NODE).forEach(dressRanks);
  }
}
