/* flames.js - stacks over time: read, added up, and laid out as a flame graph
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * merge/output/flames/flameblock.h has the format.
 */
const FLAME_DEPTH_MOST = 1000;
const FLAME_NODES_MOST = 4 << 20;
const FLAME_CELLS_MOST = 1 << 22;
const FLAME_SUMS_MOST = 1 << 22;
const FLAME_KINDS = {cpu: 'CPU', offcpu: 'Off-CPU', device: 'Device', idle: 'Idle by cause'};
const FLAME_WORDS = {cpu: 'CPU time of samples', offcpu: 'time off the CPU',
  device: 'device time, lengths added up', idle: 'idle time of devices'};

/* A count that a stranger's file gives. */
function checkedCount(value, most, what) {
  if (!Number.isInteger(value) || value < 0 || value > most) {
    throw new Error('the number of ' + what + ' is wrong');
  }
  return value;
}

/* Numbers below `most`, or the file is damaged. */
function checkedColumn(numbers, count, most, what) {
  const column = numbers.column(count);

  let largest = 0;

  for (let i = 0; i < count; i++) {
    largest = Math.max(largest, column[i]);
  }
  if (count > 0 && largest >= most) {
    throw new Error('a ' + what + ' is out of its range');
  }
  return column;
}

/* The frames of each node's path, the outermost one first. */
function nodePaths(numbers, index) {
  const count = checkedCount(index.nodes, FLAME_NODES_MOST, 'nodes');
  const steps = numbers.column(count);
  const frames = checkedColumn(numbers, count, index.frames.length, 'frame');
  const above = new Int32Array(count);
  const depth = new Uint16Array(count);

  for (let i = 0; i < count; i++) {
    if (!(steps[i] >= 1 && steps[i] <= i + 1)) {
      throw new Error('a node of a stack is out of its range');
    }
    above[i] = i - steps[i];
    depth[i] = above[i] < 0 ? 0 : depth[above[i]] + 1;
    if (depth[i] > FLAME_DEPTH_MOST) {
      throw new Error('a stack is too deep');
    }
  }
  return {above, frames};
}

/* One kind: {name, total, largest, nodes: of each path, shades: of each cell,
 * cell, path, ns: of each sum}. */
function readKind(info, index, numbers, nodes) {
  if (!Object.hasOwn(FLAME_KINDS, info.name)) {
    throw new Error('its stacks are of an unknown kind');
  }
  const paths = checkedCount(info.paths, FLAME_NODES_MOST, 'stacks');
  const sums = checkedCount(info.sums, FLAME_SUMS_MOST, 'sums');
  const kind = {name: String(info.name), total: Number(info.total_ns), largest: Number(info.largest_ns), left: Number(info.paths_left)};

  kind.nodes = checkedColumn(numbers, paths, nodes, 'stack');
  kind.shades = info.largest_ns > 0 ? checkedColumn(numbers, index.cells, 256, 'cell') : null;
  kind.cell = numbers.column(sums);
  for (let i = 1; i < sums; i++) {
    kind.cell[i] += kind.cell[i - 1];
  }
  kind.path = checkedColumn(numbers, sums, paths, 'stack');
  kind.ns = numbers.column(sums);
  return kind;
}

/* What the two blocks hold; throws where they do not fit together. */
function flamesOf(index, bytes) {
  if (!index || index.version !== 1 || !Array.isArray(index.frames) || !Array.isArray(index.kinds)) {
    throw new Error('its stacks are of another version');
  }
  checkedCount(index.cells, FLAME_CELLS_MOST, 'cells');
  if (!(index.width_ns >= 1 && index.column_ns >= 1 && index.wide >= 1 && Number.isFinite(index.start_ns))) {
    throw new Error('the cells of its stacks are not as it says');
  }
  const numbers = new Numbers(bytes, 0, bytes.length);
  const nodes = nodePaths(numbers, index);
  const kinds = index.kinds.map(info => readKind(info, index, numbers, nodes.above.length));

  return {index, nodes, kinds, frames: index.frames.map(String)};
}

async function readFlames() {
  const index = await blockJson('flames');
  const bytes = await block('stacks');

  return index && bytes ? flamesOf(index, bytes) : null;
}

/* Time of each path between two times (ns of the run), null = all. A cell is in
 * the range when its middle is. */
function pathTimes(flames, kind, range) {
  const {start_ns: start, width_ns: width, wide} = flames.index;
  const times = new Float64Array(kind.nodes.length);
  const length = width * wide;
  const [from, to] = range || [-Infinity, Infinity];
  const isIn = cell => range === null || (start + cell * length < to && start + (cell + 1) * length > from);

  for (let i = 0; i < kind.cell.length; i++) {
    if (isIn(kind.cell[i])) {
      times[kind.path[i]] += kind.ns[i];
    }
  }
  return times;
}

/* The texts of the frames of a path. */
function framesOf(flames, kind, path) {
  const frames = [];

  for (let node = kind.nodes[path]; node >= 0; node = flames.nodes.above[node]) {
    frames.push(flames.frames[flames.nodes.frames[node]]);
  }
  return frames.reverse();
}

/* The names of all frames of a kind; a frame that was seen has had those around it. */
function namesOfKind(flames, name) {
  const kind = flames.kinds.find(one => one.name === name), seen = new Set();

  for (let path = 0; kind && path < kind.nodes.length; path++) {
    for (let node = kind.nodes[path]; node >= 0 && !seen.has(node); node = flames.nodes.above[node]) {
      seen.add(node);
    }
  }
  return new Set([...seen].map(node => flames.frames[flames.nodes.frames[node]]));
}

const RANK_FRAME = /^(rank \d+|no rank)$/;
const rankOfFrame = frame => (/^rank \d+$/.test(frame) ? Number(frame.slice(5)) : -1);

const newNode = (name, above) => ({name, above, ns: 0, own: 0, was: 0, wasOwn: 0, below: new Map(), depth: above ? above.depth + 1 : 0});

/* Add the time of one stack; `isWas`: to that of the other run. */
function stackAdd(root, frames, ns, isWas) {
  const [all, own] = isWas ? ['was', 'wasOwn'] : ['ns', 'own'];
  let node = root;

  node[all] += ns;
  for (const frame of frames) {
    let next = node.below.get(frame);

    if (!next) {
      next = newNode(frame, node);
      node.below.set(frame, next);
    }
    next[all] += ns;
    node = next;
  }
  node[own] += ns;
}

/* The stacks of a kind as [frames, ns], those of the ranks and the time that
 * are chosen. */
function stacksOf(flames, name, choice) {
  const kind = flames.kinds.find(one => one.name === name);
  const stacks = [];

  if (!kind) {
    return stacks;
  }
  pathTimes(flames, kind, choice.range).forEach((ns, path) => {
    if (ns > 0) {
      const frames = framesOf(flames, kind, path);
      const hasRank = RANK_FRAME.test(frames[0]);

      if (choice.ranks.length === 0 || !hasRank || choice.ranks.includes(rankOfFrame(frames[0]))) {
        stacks.push([choice.areRanksOne && hasRank ? frames.slice(1) : frames, ns]);
      }
    }
  });
  return stacks;
}

/* All ways to a function (upside down) and all from it on. */
function sandwichStacks(stacks, name) {
  const callers = [], callees = [];

  for (const [frames, ns] of stacks) {
    const first = frames.indexOf(name), last = frames.lastIndexOf(name);

    if (first >= 0) {
      callers.push([frames.slice(0, last + 1).reverse(), ns]);
      callees.push([frames.slice(first), ns]);
    }
  }
  return [callers, callees];
}

function treeOf(name, stacks, others) {
  const root = newNode(name, null);

  stacks.forEach(([frames, ns]) => stackAdd(root, frames, ns, false));
  (others || []).forEach(([frames, ns]) => stackAdd(root, frames, ns, true));
  return root;
}

/* Frames that are wider than `least` of the whole: [{node, from, wide}] by
 * depth; the width of a node is the larger one of both runs'. */
function layOutFlames(root, least) {
  const rows = [];
  const widthOf = node => Math.max(node.ns, node.was);
  const place = (node, from, wide) => {
    const row = rows[node.depth] || (rows[node.depth] = []);
    const parts = [...node.below.values()].sort((a, b) => widthOf(b) - widthOf(a));
    const sum = parts.reduce((all, part) => all + widthOf(part), 0);
    /* Larger sides of two runs may add up to more than the whole. */
    const scale = sum > 0 ? Math.min(1, widthOf(node) / sum) * wide / (widthOf(node) || 1) : 0;
    let at = from;

    row.push({node, from, wide});
    for (const part of parts) {
      const partWide = widthOf(part) * scale;

      if (partWide >= least) {
        place(part, at, partWide);
      }
      at += partWide;
    }
  };

  place(root, 0, 1);
  return rows;
}

/* Time below the first frame of each stack that matches, each counted once. */
function matchedTime(node, matches) {
  if (node.above && matches(node.name)) {
    return node.ns;
  }
  let sum = 0;

  for (const part of node.below.values()) {
    sum += matchedTime(part, matches);
  }
  return sum;
}
