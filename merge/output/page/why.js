/* why.js - view 1, why idle: buttons beside what C has written
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/* The cause, or the late rank, that a finding is about; null = a finding without
 * one. */
function causeOf(report, item) {
  const list = item.dataset.late === undefined ? report.causes : report.stragglers;

  return (list || [])[Number(item.dataset.late ?? item.dataset.cause)] || null;
}

/* The time that shows it best, or null: of a step its own, else its longest stretch, or
 * the part of the run in which most of it is. */
function exampleOf(cause, which = 'example') {
  const part = cause.start_rel_ns !== undefined ? cause : cause[which] || (cause.windows || [])[0] || cause.event || cause.median;

  return part && part.end_rel_ns > part.start_rel_ns ? [part.start_rel_ns, part.end_rel_ns] : null;
}

/* A name for a finding that does not depend on times: another merge, or another run
 * of the same program, gives it the same one. */
function findingName(cause) {
  const did = cause.blamed || cause.did || cause.host || {};
  const parts = [cause.cause, cause.rank, cause.blamed_rank, did.call || did.symbol || did.function, did.file, did.line];

  return hashOfName(parts.map(part => part ?? '').join('\u0000')).toString(16).padStart(8, '0');
}

const findingItems = () => [...document.querySelectorAll('#findings > li')];
const findingItem = name => findingItems().find(item => item.dataset.name === name) || null;

function findingTitle(name) {
  const item = findingItem(name);

  return item ? 'finding ' + item.dataset.finding : 'a finding that this run does not have';
}

/* Who waited longest for a rank that was late, then. */
function waiterFor(rank, range) {
  const waits = theTimeline ? theTimeline.index.waits : {start: []};
  let best = -1;

  for (let i = 0; i < waits.start.length; i++) {
    const isThen = range === null || (waits.start[i] < range[1] && waits.start[i] + waits.length[i] > range[0]);

    if (isThen && waits.whom[i] === rank && (best < 0 || waits.length[i] > waits.length[best])) {
      best = i;
    }
  }
  return best < 0 ? null : waits.rank[best];
}

/* Is there a stretch of usual length, which is another one than the longest? */
const hasTypical = cause => Boolean(cause && cause.typical && cause.example && cause.typical.start_rel_ns !== cause.example.start_rel_ns);

/* What the finding is about; {} = there is no such one. `which`: "example", the longest
 * stretch of it, or "typical", one of median length. */
function findingChange(name, which = 'example') {
  const item = findingItem(name);
  const cause = item && causeOf(theReport, item);

  if (!cause) {
    return {};
  }
  const ranks = new Set([cause[which] ? cause[which].rank : cause.rank, cause.blamed_rank ?? cause.last_rank]);

  if (item.dataset.late !== undefined) {
    ranks.add(waiterFor(cause.rank, exampleOf(cause)));
  }

  return {finding: name, cause: cause.cause || '', range: exampleOf(cause, which), find: '',
    ranks: [...ranks].filter(rank => Number.isInteger(rank)).sort((a, b) => a - b)};
}

/* The device of a stretch, where its rank has several. */
function deviceOf(part) {
  const devices = theReport.devices || [], device = devices[part.device];

  return device && devices.filter(one => one.ranks.includes(part.rank)).length > 1 ? ' (' + deviceName(device) + ')' : '';
}

/* What the timeline shows of it. */
function findingWords(name) {
  const item = findingItem(name), cause = item && causeOf(theReport, item);

  if (!cause) {
    return '';
  }
  const isTypical = hasTypical(cause) && selection.range !== null && selection.range[0] === cause.typical.start_rel_ns;
  const part = isTypical ? cause.typical : cause.example, range = exampleOf(cause, isTypical ? 'typical' : 'example');
  const rank = part ? part.rank : cause.rank, whom = cause.blamed_rank ?? cause.last_rank;

  return 'Finding ' + item.dataset.finding + ': ' + (part ? (isTypical ? 'a stretch of median length, ' : 'its longest stretch, ') + time(range[1] - range[0]) + ', on ' + rankName(rank) + deviceOf(part) :
    range ? 'where most of it is' : 'no single place shows it') + (Number.isInteger(whom) && whom !== rank ? ', because of ' + rankName(whom) : '') +
    '. ' + (range ? 'The marked time is what it is about.' : '') +
    (selection.ranks.length > 0 && selection.ranks.length < (theReport.ranks || []).length ? ' Other ranks are pale.' : '');
}

/* The address of this page with the finding selected. */
function findingLink(name) {
  return location.href.split('#')[0] + '#v=timeline&f=' + name;
}

/* Names of findings, each once: of two with the same one the later counts on. */
function nameFindings(report) {
  const taken = new Set();

  for (const item of findingItems()) {
    let name = findingName(causeOf(report, item) || {});

    while (taken.has(name)) {
      name = ((parseInt(name, 16) + 1) >>> 0).toString(16).padStart(8, '0');
    }
    taken.add(name);
    item.dataset.name = name;
  }
}

/* What comes behind the others, though it may be longer. */
const isOnce = cause => cause.at_start === true || ['startup', 'end_of_work', 'unfinished'].includes(cause.cause);

const KINDS_SHOWN = 3;

/* Where no single place is worth a finding, as in a large job whose ranks are all alike:
 * the largest causes of all devices together. */
function largestCauses(report) {
  const {ledger, wall_ns: wall} = report.all_devices || {};
  const rows = ledger ? ledgerRows(ledger).filter(([group]) => !BUSY.has(group)).sort((a, b) => b[2] - a[2]).slice(0, KINDS_SHOWN) : [];

  return rows.length === 0 ? null : el('ul', {id: 'kinds'}, rows.map(([, name, ns]) => el('li', null, el('b', null, percent(ns, wall) + ' of all device time'),
    ' (' + time(ns) + ' of ' + time(wall) + '): ' + name + ' (' + meaning(name) + '), on all devices together. ',
    button('Show', () => visit({...NOTHING, cause: name}, 'timeline', 'ledger'), {'aria-label': 'show ' + name, title: 'select all of it in the timeline'}))));
}

function dressFindings(report) {
  if (findingItems().length === 0 && (report.devices || []).length > 0) {
    document.getElementById('view-why').append(largestCauses(report) || '');
  }
  document.querySelectorAll('#view-why .without-script').forEach(node => node.remove());
  nameFindings(report);
  for (const item of findingItems()) {
    const text = item.querySelector('.words').textContent;
    const cause = causeOf(report, item);
    const {name} = item.dataset;

    if (cause && isOnce(cause) && !document.querySelector('#findings .once')) {
      item.prepend(el('p', {class: 'quiet once'}, 'Only once, at the start or the end, however long the run is:'));
    }
    item.querySelector('.tools').append(
      button('Show', () => visit(findingChange(name), 'timeline', 'ledger'),
        {title: 'select the ranks and the time of its longest stretch'}),
      ...(hasTypical(cause) ? [button('Show typical', () => visit(findingChange(name, 'typical'), 'timeline', 'ledger'),
        {title: 'select a stretch of it that has median length'})] : []),
      button('Copy', event => copyText(text, event.currentTarget), {title: 'copy this text'}),
      button('Link', event => copyText(findingLink(name), event.currentTarget), {title: 'copy the address of this page with this finding selected'}));
  }
  onSelect(() => {
    for (const item of findingItems()) {
      item.classList.toggle('chosen', item.dataset.name === selection.finding);
    }
  });
}

/* Copy to the clipboard; the button shows whether that worked. */
async function copyText(text, from) {
  const before = from.textContent;

  try {
    await navigator.clipboard.writeText(text);
    from.textContent = 'Copied';
  } catch {
    const field = el('textarea', {class: 'hidden'});

    field.value = text;
    document.body.append(field);
    field.select();
    from.textContent = document.execCommand('copy') ? 'Copied' : 'Not copied';
    field.remove();
  }
  setTimeout(() => {
    from.textContent = before;
  }, 1500);
}
