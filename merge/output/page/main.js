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
  const behind = views.slice(views.findIndex(one => one.id === id)).map(one => document.getElementById('view-' + one.id))
    .find(one => one);

  document.querySelector('main').insertBefore(section, behind || document.getElementById('view-trust'));
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
        keepAddress();
      }, 300);
    }
  });
  window.addEventListener('hashchange', () => {
    const view = selectHash(location.hash);

    if (view !== viewAt && !goToView(view)) {
      viewAt = '';
    }
  });
}

/* Pictures in light colours, as paper is. */
function paint(isPaper) {
  document.documentElement.classList.toggle('on-paper', isPaper);
  redrawAll();
  if (theTimeline) {
    theTimeline.draw(); /* now: paper does not wait for the next frame */
  }
}

/* On paper the tables and the causes are open. */
function openForPaper() {
  let opened = [];

  window.addEventListener('beforeprint', () => {
    opened = [...document.querySelectorAll('#view-tables details, #view-ledger details')].filter(node => !node.open);
    opened.forEach(node => {
      node.open = true;
    });
    paint(true);
  });
  window.addEventListener('afterprint', () => {
    opened.forEach(node => {
      node.open = false;
    });
    paint(false);
  });
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

/* The browser may draw, and take what a user types, before the script goes on. */
const pause = () => (window.scheduler && scheduler.yield ? scheduler.yield() : new Promise(done => setTimeout(done)));
const painted = () => new Promise(done => requestAnimationFrame(() => setTimeout(done)));

/* What the first screens need; the views behind the timeline are drawn once these
 * are seen. */
const FIRST_BLOCKS = ['report', 'cut', 'steps', 'step-numbers', 'lanes', 'items', 'raster', 'raster-cells'];
const isFirst = (one, i) => i <= views.findIndex(({id}) => id === 'timeline');

/* Reasons why some are not there; `between` is called behind each. */
async function showViews(list, report, between) {
  const reasons = [];

  for (const one of list) {
    const reason = await show(one, report);

    if (reason) {
      reasons.push(reason);
    }
    await between();
  }
  return reasons;
}

async function showFirst() {
  beginBlocks(FIRST_BLOCKS);
  const report = theReport = withPlainNames(await withSteps(await blockJson('report')));

  report.cut = await blockJson('cut') || {};
  const reasons = await showViews(views.filter(isFirst), report, () => {});

  dressFindings(report);
  navigation(); /* of what is there by now, so that nothing moves later */
  onSelect(showChips);
  keepHash();
  listenToKeys();
  openForPaper();
  const view = selectHash(location.hash);
  const isThere = goToView(view);

  document.documentElement.dataset.first = 'yes';
  await painted();
  return {report, reasons, view: isThere ? '' : view};
}

async function showRest({report, reasons, view}) {
  beginBlocks(['flames', 'stacks']);
  const all = [...reasons, ...await showViews(views.filter((one, i) => !isFirst(one, i)), report, pause)];

  dressTables();
  dressTrust(report);
  dressHeading();
  showExports(report);
  if (all.length > 0) {
    document.getElementById('absent').append(el('h3', null, 'Not shown'),
      el('ul', null, all.map(reason => el('li', null, reason))));
  }
  document.getElementById('absent').append(el('p', {class: 'paper'}, 'Pictures are as they were on the screen last. Not on paper: the comparison with ' +
    'another run, and what is beyond the first rows of a table.'));
  navigation();
  goToView(view);
  startLive();
  document.documentElement.dataset.ready = 'yes';
}

async function start() {
  await showRest(await showFirst());
  if (theTimeline) {
    await pause();
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
