/* live.js - the page of a running job asks whether there is a newer one
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Only the page that `ckagg --http` serves does: its root element shows it, and
 * no other page's policy allows it. The page of the N-th merge is at .../N/;
 * loaded anew it is the newest one, with the selection in its address.
 */
const LIVE_PERIOD = 2000;
/* A user who used the page so lately reads in it. */
const LIVE_QUIET = 5000;

const live = {touched: 0, follows: true, newer: false};

const liveNumber = () => Number(location.pathname.split('/').slice(-2)[0]);

/* Would a new page disturb? */
function isInUse() {
  return document.hidden || document.querySelector('dialog[open]') !== null || isTyping(document.activeElement) ||
    Date.now() - live.touched < LIVE_QUIET;
}

/* The window keeps its name when it loads another page. */
function loadNewer() {
  window.name = 'ck-live ' + (live.follows ? 'follows ' : 'stays ') + Math.round(window.scrollY);
  location.reload();
}

function beforeLoad() {
  const found = /^ck-live (follows|stays) (\d{1,7})$/.exec(window.name);

  window.name = '';
  return {follows: !found || found[1] === 'follows', scroll: found ? Number(found[2]) : null};
}

/* What the page is of, in words. */
function liveText(state) {
  const ranks = state.ranks + (state.size ? ' of ' + state.size : '') + (state.ranks === 1 ? ' rank' : ' ranks');
  const share = state.wall_ns > 0 ? (100 * state.cpu_ns / state.wall_ns).toFixed(1) : '0.0';

  return 'The job is running: ' + ranks + ', ' + count(state.records) + ' records so far. ' +
    'The newest results are of what was stored ' + time(state.age_ns) + ' ago; merging took ' + share + ' % of one CPU.';
}

function showState(bar, state) {
  live.newer = state.state === 'done' || state.merge > liveNumber();
  bar.text.textContent = state.state === 'run' ? liveText(state) : 'The job has ended' +
    (state.state === 'done' ? '.' : ': its final report is being made.');
  bar.load.disabled = !live.newer;
  if (live.newer && live.follows && !isInUse()) {
    loadNewer();
  }
}

async function askState(bar) {
  try {
    const answer = await fetch('../state', {cache: 'no-store', credentials: 'omit', redirect: 'error'});

    if (!answer.ok) {
      throw new Error('status ' + answer.status);
    }
    showState(bar, await answer.json());
  } catch (error) {
    bar.text.textContent = 'ckagg does not answer (' + safe(error.message) + '): the job has ended, or the connection is cut. ' +
      'The final report is report.html in the run directory.';
  }
  setTimeout(() => askState(bar), LIVE_PERIOD);
}

function startLive() {
  if (!document.documentElement.dataset.live) {
    return;
  }
  const before = beforeLoad();
  const text = el('span', {role: 'status'}, 'The job is running.');
  const load = button('Show newer results', loadNewer, {disabled: ''});
  const follows = el('input', {type: 'checkbox', id: 'live-follows', 'aria-label': 'newer results automatically'});

  live.follows = before.follows;
  follows.checked = live.follows;
  follows.addEventListener('change', () => {
    live.follows = follows.checked;
  });
  for (const kind of ['pointerdown', 'wheel', 'keydown']) {
    window.addEventListener(kind, () => {
      live.touched = Date.now();
    }, {passive: true});
  }
  document.body.prepend(el('div', {class: 'live', id: 'live', role: 'region', 'aria-label': 'the running job'}, text, ' ', load, ' ',
    el('label', {for: 'live-follows'}, follows, ' automatically')));
  if (before.scroll !== null) {
    window.scrollTo(0, before.scroll);
  }
  askState({text, load});
}
