/* efficiency.js - view 7: efficiencies, each with its formula
 *
 * SPDX-License-Identifier: Apache-2.0
 */
const EFFICIENCIES = {key: 'parallel', title: 'parallel efficiency', formula: 'load balance x communication', parts: [
  {key: 'load_balance', title: 'load balance', formula: 'mean / longest time outside MPI', parts: []},
  {key: 'communication', title: 'communication', formula: 'serialisation x transfer', parts: [
    {key: 'serialisation', title: 'serialisation', formula: 'longest time outside MPI / region on an ideal network', parts: []},
    {key: 'transfer', title: 'transfer', formula: 'region on an ideal network / region', parts: []}]}]};
const DEVICE_EFFICIENCIES = {key: 'device_parallel', title: 'device efficiency',
  formula: 'load balance x communication x orchestration', parts: [
    {key: 'device_load_balance', title: 'load balance', formula: 'mean / longest computing time of a device', parts: []},
    {key: 'device_communication', title: 'communication', formula: 'longest computing time / longest active time', parts: []},
    {key: 'device_orchestration', title: 'orchestration', formula: 'longest active time of a device / region', parts: []}]};

const weakest = (node, of) => node.parts.reduce((low, part) =>
  (low === null || of[part.key] < of[low.key] ? part : low), null);

/* Serialisation and transfer are shown apart only where enough was replayed. */
function partsOf(node, of) {
  return node.key === 'communication' && of.transfer_known === false ? [] : node.parts;
}

function branch(node, of) {
  const value = of[node.key];
  const parts = partsOf(node, of);
  const low = weakest({parts}, of);
  const line = el('span', null, el('b', null, value.toFixed(3)), ' ' + node.title,
    el('span', {class: 'meter', role: 'presentation'}, el('span', {style: {width: Math.min(100, 100 * value).toFixed(1) + '%'}})),
    el('span', {class: 'quiet'}, ' = ' + node.formula + (parts.length < node.parts.length ? ', each of them not known' : '')));

  if (parts.length === 0) {
    return el('li', null, line);
  }
  return el('li', null, el('details', {open: ''}, el('summary', null, line),
    el('ul', null, parts.map(part => {
      const item = branch(part, of);

      item.classList.toggle('weakest', part === low && of[part.key] < 0.95);
      return item;
    }))));
}

/* The ranks that are furthest from the mean of the time outside MPI. */
function pulling(report) {
  const ranks = (report.ranks || []).filter(rank => rank.useful_ns > 0);
  const mean = sumOf(ranks, rank => rank.useful_ns) / ranks.length;

  return [...ranks].sort((a, b) => b.useful_ns - a.useful_ns).slice(0, 3).filter(rank => rank.useful_ns > 1.02 * mean)
    .map(rank => rankName(rank.rank) + ', ' + time(rank.useful_ns) + ' (mean ' + time(mean) + ')');
}

/* The figures that the formulas are made of. */
function inputs(of) {
  const rows = [['ranks', of.ranks, count], ['region', of.region_ns, time], ['mean time outside MPI', of.ranks > 0 ? of.useful_ns / of.ranks : 0, time],
    ['longest time outside MPI', of.useful_max_ns, time], ['region on an ideal network', of.ideal_ns, time],
    ['of it not replayed', of.ideal_unknown_ns, time], ['devices', of.devices, count]].filter(row => row[1] > 0);

  return el('details', null, el('summary', null, 'what it is made of'), el('table', {class: 'plain'}, el('tbody', null,
    rows.map(([name, value, shown]) => el('tr', null, el('th', {scope: 'row'}, name), el('td', {class: 'number'}, shown(value)))))));
}

view('efficiency', 'Efficiency', (report, body) => {
  const of = report.efficiency || {};
  const list = el('ul', {class: 'tree'});

  if (Number.isFinite(of.parallel)) {
    list.append(branch(EFFICIENCIES, of));
  }
  if (Number.isFinite(of.device_parallel)) {
    list.append(branch(DEVICE_EFFICIENCIES, of));
  }
  if (list.children.length === 0) {
    return 'no rank called MPI and no device worked, so no efficiency is defined';
  }
  body.append(el('p', {class: 'quiet'}, '1 = nothing is lost. In red the smallest of the factors beside it: the place to begin.'), list);
  const longest = pulling(report);

  if (longest.length > 0) {
    body.append(el('p', null, 'Longest outside MPI: ' + longest.join('; ') + '.'));
  }
  body.append(inputs(of));
  return undefined;
});
