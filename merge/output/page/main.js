/* main.js - put the views into the page
 *
 * SPDX-License-Identifier: Apache-2.0
 */
function sectionOf(id, title) {
  const there = document.getElementById('view-' + id);

  if (there) {
    return there;
  }
  const section = el('section', {id: 'view-' + id, 'aria-labelledby': 'title-' + id},
    el('h2', {id: 'title-' + id, tabindex: -1}, title));

  document.querySelector('main').insertBefore(section, document.getElementById('view-trust'));
  return section;
}

/* One view; why it is not there, or null. */
async function show(one, report) {
  const section = sectionOf(one.id, one.title);
  const body = el('div', {class: 'view'});
  let reason;

  section.append(body);
  try {
    reason = await one.render(report, body);
  } catch (error) {
    reason = 'this page could not draw it (' + error.message + ')';
    console.error(error);
  }
  if (reason) {
    body.remove();
    section.remove();
    return one.title + ': ' + reason + '.';
  }
  section.querySelectorAll('.without-script').forEach(node => node.remove());
  return null;
}

/* What a view is called where there is little room. */
const SHORT = {why: 'Why', ledger: 'Device time', rows: 'Ranks', timeline: 'Timeline', steps: 'Steps', waits: 'Waits',
  traffic: 'Messages', tables: 'Tables', efficiency: 'Efficiency', flames: 'Flame graphs', seconds: 'Bursts', compare: 'Compare', trust: 'Trust', more: 'More'};

function navigation() {
  const links = [...document.querySelectorAll('main > section > h2')].map((head, i) => {
    const name = SHORT[head.parentElement.id.replace('view-', '')] || head.textContent;

    return el('li', null, button((i < 9 ? i + 1 + ' ' : '') + name, () => goTo(i), {title: head.textContent}));
  });

  links.push(el('li', null, button('? Keys', () => keys.find(key => key.code === '?').act(), {title: 'what can be done by keys'})));
  document.getElementById('contents').replaceChildren(...links);
}

/* Changes come in bursts; browsers allow few entries a second. */
function keepHash() {
  let isDue = false;

  onSelect(() => {
    if (!isDue) {
      isDue = true;
      setTimeout(() => {
        isDue = false;
        history.replaceState(null, '', hashOf());
      }, 300);
    }
  });
  window.addEventListener('hashchange', () => selectHash(location.hash));
}

/* On paper the tables and the causes are open. */
function openForPaper() {
  let opened = [];

  window.addEventListener('beforeprint', () => {
    opened = [...document.querySelectorAll('#view-tables details, #view-ledger details')].filter(node => !node.open);
    opened.forEach(node => {
      node.open = true;
    });
  });
  window.addEventListener('afterprint', () => opened.forEach(node => {
    node.open = false;
  }));
}

/* The next time that the browser has nothing to do, as {timeRemaining()}. */
const idle = () => new Promise(done => (window.requestIdleCallback ? requestIdleCallback(done) :
  setTimeout(done, 50, {timeRemaining: () => 0})));
const FOLD_MS = 4; /* that folding a lane once may take */

/* The levels of the lanes that are shown, before a user zooms. An error in a lane
 * is shown where it is drawn. */
async function foldAhead(timeline) {
  const lanes = timeline.rows.flatMap(({lane}) => [lane, ...timeline.details.map(one => one.lanes.get(laneKey(lane.info)))]);
  let left = await idle();

  for (const lane of lanes) {
    while (lane && lane.foldNext()) {
      if (left.timeRemaining() < FOLD_MS) {
        left = await idle();
      }
    }
  }
}

async function start() {
  beginBlocks(['report', 'cut', 'lanes', 'items', 'flames', 'stacks']);
  const report = await blockJson('report');
  const reasons = [];

  report.cut = await blockJson('cut') || {};

  for (const one of views) {
    const reason = await show(one, report);

    if (reason) {
      reasons.push(reason);
    }
  }
  dressFindings(report);
  dressTrust(report);
  if (reasons.length > 0) {
    document.getElementById('absent').append(el('h3', null, 'Not shown'),
      el('ul', null, reasons.map(reason => el('li', null, reason))));
  }
  onSelect(showChips);
  keepHash();
  listenToKeys();
  openForPaper();
  navigation();
  selectHash(location.hash);
  startLive();
  document.documentElement.dataset.ready = 'yes';
  if (theTimeline) {
    /* The picture first. */
    await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
    await readFine(theTimeline);
    theTimeline.addCloseups(await readCloseups());
  }
  document.documentElement.dataset.fine = 'yes';
  if (theTimeline) {
    await foldAhead(theTimeline).catch(() => {});
  }
  document.documentElement.dataset.folded = 'yes';
}

if (typeof DecompressionStream === 'undefined') {
  document.getElementById('absent').append(el('p', null,
    'This browser cannot inflate the data of this page: what is above is all that it can show.'));
} else {
  start().catch(error => {
    console.error(error);
    document.getElementById('absent').append(el('p', {class: 'alarm-text'},
      'The data of this page could not be read (' + safe(error.message) + '): what is above is all that can be shown.'));
  });
}
