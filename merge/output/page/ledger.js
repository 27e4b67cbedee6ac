/* ledger.js - view 2: each device's time by cause, as one bar
 *
 * SPDX-License-Identifier: Apache-2.0
 */
const GROUPS = [
  ['compute', 'compute', ['compute']],
  ['comm', 'communication', ['comm_transfer', 'comm_wait']],
  ['copy', 'copies', ['copy_only']],
  ['peer', 'waits for peers', ['mpi_wait', 'mpi_transfer', 'mpi_call', 'below_clock_resolution']],
  ['launch', 'launching', ['kernel_gap', 'launch_latency', 'dep_remote', 'dep_event', 'gpu_sync',
    'gpu_api', 'h2d', 'd2h', 'mem_mgmt']],
  ['host', 'the host', ['host_compute', 'offcpu_runnable', 'offcpu_blocked', 'lock', 'sleep']],
  ['io', 'I/O', ['io']],
  ['other', 'start, end, stopped', ['startup', 'end_of_work', 'host_stopped', 'profiler']],
  ['unknown', 'not known', ['lost_data', 'unfinished', 'no_host_data', 'unattributed']],
];
const BUSY = new Set(['compute', 'comm', 'copy']);

/* [group, row, ns] of a ledger in the order of GROUPS; a row that GROUPS does
 * not know is not known to this page, and shown as such. */
function ledgerRows(ledger) {
  const known = new Set(GROUPS.flatMap(group => group[2]));
  const rows = GROUPS.flatMap(([group, , names]) =>
    names.map(name => [group, name, ledger[name] || 0]));

  for (const [name, ns] of Object.entries(ledger)) {
    if (!known.has(name)) {
      rows.push(['unknown', name, ns]);
    }
  }
  return rows.filter(row => row[2] > 0);
}

const deviceName = device => device.name +
  (device.number === null || device.number === undefined ? '' : ' #' + device.number);
const deviceLabel = device => (device.ranks.length > 0 ? 'rank ' + ranksText(device.ranks) + ' ' : '') +
  deviceName(device);

/* What a row of the ledger means: the words at the page's end have the causes. */
const BUSY_WORDS = {compute: 'it computed', comm_transfer: 'kernels of communication ran and no others',
  comm_wait: 'the same, until the last device had begun', copy_only: 'copies ran and no kernel'};
let causeWords = null;

function meaning(name) {
  causeWords = causeWords || new Map([...document.querySelectorAll('#cause-words dt')]
    .map(node => [node.textContent, node.nextElementSibling.textContent]));
  return BUSY_WORDS[name] || causeWords.get(name) || '';
}

const LABEL_LETTERS = 85; /* of a name that fill a bar, about */

function segment(device, group, name, ns) {
  const text = deviceLabel(device) + ': ' + name + ' (' + meaning(name) + ') ' + time(ns) + ', ' +
    percent(ns, device.wall_ns) + ' of the region';
  const part = button('', () => select({ranks: device.ranks.slice(), cause: BUSY.has(group) ? '' : name}),
    {class: 'segment g-' + group + ' c-' + name, title: safe(text), 'aria-label': safe(text), 'data-cause': name});

  part.style.flexGrow = String(ns / device.wall_ns);
  if (ns * LABEL_LETTERS >= name.length * device.wall_ns) {
    part.append(el('span', {class: 'g-' + group, 'aria-hidden': 'true'}, name));
  }
  return part;
}

function ledgerBar(device) {
  return el('tr', {'data-ranks': device.ranks.join(' ')},
    el('th', {scope: 'row', title: safe(deviceLabel(device))}, deviceLabel(device)),
    el('td', {class: 'number'}, percent(device.busy_ns, device.wall_ns)),
    el('td', {class: 'wide'}, el('div', {class: 'bar'},
      ledgerRows(device.ledger).map(([group, name, ns]) => segment(device, group, name, ns)))));
}

const BARS_MOST = 64;
const STRIP_HIGH = 60;

/* Each device as one column of pixels, those that were idle most first. */
class LedgerStrip {
  constructor(devices) {
    this.devices = [...devices].sort((a, b) => b.idle_ns - a.idle_ns);
    this.wide = Math.max(1, Math.min(4, Math.floor(1000 / devices.length)));
    this.canvas = el('canvas', {width: this.wide * devices.length, height: STRIP_HIGH, role: 'img',
      'aria-label': 'all ' + count(devices.length) + ' devices, one column each, idle most first; below is their table'});
    this.tip = el('p', {class: 'quiet tip', 'aria-live': 'polite'}, 'Each column is a device, those that were idle most first. Click: select its ranks.');
    this.canvas.addEventListener('mousemove', event => {
      const device = this.deviceAt(event);

      this.tip.textContent = safe(deviceLabel(device)) + ': busy ' + percent(device.busy_ns, device.wall_ns);
    });
    this.canvas.addEventListener('click', event => select({ranks: this.deviceAt(event).ranks.slice()}));
    onScheme(this);
    this.draw();
  }

  deviceAt(event) {
    const x = event.clientX - this.canvas.getBoundingClientRect().left;

    return this.devices[Math.min(this.devices.length - 1, Math.max(0, Math.floor(x / this.wide)))];
  }

  draw() {
    const context = this.canvas.getContext('2d'), colours = palette();

    this.devices.forEach((device, i) => {
      let y = STRIP_HIGH;

      for (const [group, , ns] of ledgerRows(device.ledger)) {
        const high = ns / device.wall_ns * STRIP_HIGH;

        context.fillStyle = colours.colour(group);
        context.fillRect(i * this.wide, y - high, this.wide, high);
        y -= high;
      }
    });
  }
}

/* The bars by a column of their head. */
function sortable(title, attributes, bars, order) {
  const head = el('th', {scope: 'col', 'aria-sort': 'none', ...attributes}, button(title, () => {
    const isUp = head.getAttribute('aria-sort') !== 'ascending';

    head.closest('tr').querySelectorAll('th').forEach(one => one.setAttribute('aria-sort', 'none'));
    head.setAttribute('aria-sort', isUp ? 'ascending' : 'descending');
    [...bars].sort((a, b) => (isUp ? 1 : -1) * order(a.device, b.device)).forEach(({row}) => row.parentElement.append(row));
  }, {title: 'sort by ' + title}));

  return head;
}

/* All devices, or of many the worst 20, the median and the best 3. */
function ledgerChoice(devices) {
  if (devices.length <= BARS_MOST) {
    return devices;
  }
  const sorted = [...devices].sort((a, b) => b.idle_ns - a.idle_ns);

  return [...sorted.slice(0, 20), sorted[sorted.length >> 1], ...sorted.slice(-3)];
}

function legend(ledger) {
  const sums = new Map();

  for (const [group, , ns] of ledgerRows(ledger)) {
    sums.set(group, (sums.get(group) || 0) + ns);
  }
  return el('ul', {class: 'legend'}, GROUPS.filter(([group]) => sums.has(group)).map(([group, title]) =>
    el('li', null, el('span', {class: 'swatch g-' + group}), title)));
}

const ledgerColumns = wall => [
  textColumn('', row => (BUSY.has(row[0]) ? 'busy' : 'idle')),
  headColumn('what', row => row[1]), textColumn('because', row => meaning(row[1])),
  timeColumn('time', row => row[2], true),
  {title: 'of all device time', value: row => row[2] / wall, number: true, text: value => percent(value, 1)}];

view('ledger', 'Where the device time went', (report, body) => {
  const devices = report.devices || [];

  if (devices.length === 0) {
    return 'no device worked in this run';
  }
  const all = {...report.all_devices, name: devices.length + ' devices', ranks: [], number: null};
  const shown = ledgerChoice(devices);
  const rows = shown.map(ledgerBar), bars = shown.map((device, i) => ({device, row: rows[i]}));

  body.append(legend(all.ledger), el('p', {class: 'quiet'}, 'Each bar is a device: the time it worked, then why it did not. Point at a part for its cause; click it to select it everywhere.'),
    el('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'device time by cause'},
      el('table', {class: 'bars'}, el('thead', null, el('tr', null,
        sortable('device', {}, bars, (a, b) => compare(a.ranks[0], b.ranks[0]) || compare(deviceName(a), deviceName(b))),
        sortable('busy', {class: 'number'}, bars, (a, b) => a.busy_ns / a.wall_ns - b.busy_ns / b.wall_ns),
        el('th', {scope: 'col'}, 'share of the region'))),
      el('tbody', null, devices.length > 1 ? ledgerBar(all) : null, rows))));
  if (shown.length < devices.length) {
    body.append(el('p', {class: 'quiet'}, count(devices.length) +
      ' devices: the 20 that were idle most, the median and the 3 that were busy most are shown. Below all of them:'));
    const strip = new LedgerStrip(devices);

    body.append(el('div', {class: 'scroll'}, strip.canvas), strip.tip, el('details', null, el('summary', null, 'all devices, as a table'),
      table('devices', [headColumn('device', deviceLabel), {title: 'busy', value: row => row.busy_ns / row.wall_ns, number: true, text: part => percent(part, 1)},
        timeColumn('idle', row => row.idle_ns, true)], strip.devices, {title: 'select its ranks', choose: row => select({ranks: row.ranks.slice()})})));
  }
  body.append(el('details', null, el('summary', null, 'as a table, all devices added up'),
    table('ledger of all devices', ledgerColumns(all.wall_ns), ledgerRows(all.ledger))));
  onSelect(() => {
    for (const row of rows) {
      const ranks = row.dataset.ranks === '' ? [] : row.dataset.ranks.split(' ').map(Number);

      row.classList.toggle('dim', selection.ranks.length > 0 && !ranks.some(isRankSelected));
    }
    for (const part of body.querySelectorAll('.segment')) {
      part.classList.toggle('dim', selection.cause !== '' && part.dataset.cause !== selection.cause);
    }
  });
});
