/* lanes.js - the items of the timeline: read, and folded as the page needs them
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * merge/output/lanes/laneblock.h has the format and lane.h the rule of folding.
 */
const LEVEL_STEP = 4;

/* Unsigned LEB128 numbers; throws where the bytes end early. */
class Numbers {
  constructor(data, at, end) {
    this.data = data;
    this.at = at;
    this.end = Math.min(end, data.length);
  }

  next() {
    let value = 0, scale = 1;

    for (;;) {
      if (this.at >= this.end) {
        throw new Error('the data of a lane are cut off');
      }
      const byte = this.data[this.at++];

      value += (byte & 0x7f) * scale;
      if (byte < 0x80) {
        return value;
      }
      scale *= 128;
    }
  }

  column(count, Type) {
    const values = new Type(count);

    for (let i = 0; i < count; i++) {
      values[i] = this.next();
    }
    return values;
  }
}

/* Columns of one level: start, end, busy, longest in ns; kind: class; name;
 * many: how many items it is. */
function levelOf(count) {
  return {count: 0, start: new Float64Array(count), end: new Float64Array(count), busy: new Float64Array(count),
    longest: new Float64Array(count), kind: new Uint8Array(count), name: new Uint32Array(count), many: new Uint32Array(count), names: []};
}

/* The exact items, or what the page has instead of them. */
function readLevel(info, data, isFolded) {
  if (!(info.items >= 0) || info.items > info.bytes) {
    throw new Error('the number of items of a lane is wrong');
  }
  const numbers = new Numbers(data, info.offset, info.offset + info.bytes);
  const level = levelOf(info.items);
  const tick = info.tick_ns;

  level.count = info.items;
  const gaps = numbers.column(info.items, Float64Array);
  let at = 0;

  for (let i = 0; i < info.items; i++) {
    level.start[i] = (at + gaps[i]) * tick;
    at += gaps[i] + (level.end[i] = numbers.next());
    level.end[i] = at * tick;
  }
  level.kind = numbers.column(info.items, Uint8Array);
  level.name = numbers.column(info.items, Uint32Array);
  if (isFolded) {
    level.many = numbers.column(info.items, Uint32Array);
    level.busy = numbers.column(info.items, Float64Array).map(value => value * tick);
    level.longest = numbers.column(info.items, Float64Array).map(value => value * tick);
  } else {
    for (let i = 0; i < info.items; i++) {
      level.many[i] = 1;
      level.busy[i] = level.longest[i] = level.end[i] - level.start[i];
    }
  }
  return level;
}

const isKept = (level, i, w) => level.many[i] === 1 && level.end[i] - level.start[i] >= w / 2;

/* FOLD(w) of a finer level. */
function foldLevel(from, w) {
  const to = levelOf(from.count);
  let last = -1;

  to.names = from.names;

  for (let i = 0; i < from.count; i++) {
    if (last >= 0 && !isKept(to, last, w) && !isKept(from, i, w) &&
        from.start[i] - to.end[last] < w && to.end[last] - to.start[last] < w) {
      to.end[last] = Math.max(to.end[last], from.end[i]);
      if (from.kind[i] !== to.kind[last] && from.busy[i] > to.busy[last]) {
        to.kind[last] = from.kind[i];
      }
      to.busy[last] += from.busy[i];
      to.many[last] += from.many[i];
      if (from.longest[i] > to.longest[last]) {
        to.longest[last] = from.longest[i];
        to.name[last] = from.name[i];
      }
      continue;
    }
    last++;
    for (const column of ['start', 'end', 'busy', 'longest', 'kind', 'name', 'many']) {
      to[column][last] = from[column][i];
    }
  }
  to.count = last + 1;
  return to;
}

/* The first item of a level that ends behind a time. */
function firstBehind(level, time) {
  let low = 0, high = level.count;

  while (low < high) {
    const middle = (low + high) >> 1;

    if (level.end[middle] > time) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/* A lane, decoded when it is first drawn. */
class Lane {
  constructor(info, data, level, names) {
    this.info = info;
    this.data = data;
    this.names = names;
    this.w = level; /* of what is stored; 0 = exact */
    this.levels = [];
  }

  finest() {
    if (this.levels.length === 0) {
      this.levels.push({w: this.w, level: readLevel(this.info, this.data, this.w > 0)});
      this.levels[0].level.names = this.names;
    }
    return this.levels[0].level;
  }

  /* The coarsest level with w <= pixel, in ns; folds what is missing. */
  at(pixel) {
    this.finest();
    for (;;) {
      const last = this.levels[this.levels.length - 1];
      const w = last.w === 0 ? 64 : last.w * LEVEL_STEP;

      if (w > pixel || last.level.count < 1000) {
        break;
      }
      this.levels.push({w, level: foldLevel(last.level, w)});
    }
    for (let i = this.levels.length - 1; i >= 0; i--) {
      if (i === 0 || this.levels[i].w <= pixel) {
        return this.levels[i].level;
      }
    }
    return this.levels[0].level;
  }
}

const LANE_KINDS = ['idle', 'queue', 'steps', 'ranges', 'calls'];
const NAMES_MOST = 1 << 20;
const TICK_LONGEST = 1e15;

/* What is said of a lane, checked: it may be a stranger's. */
function checkedLane(info, bytes) {
  const isCount = value => Number.isInteger(value) && value >= 0;

  if (!info || !LANE_KINDS.includes(info.kind) || !Number.isInteger(info.rank) || !isCount(info.items) || !isCount(info.depth) ||
      !isCount(info.offset) || !isCount(info.bytes) || info.offset + info.bytes > bytes || info.items > info.bytes ||
      !(info.tick_ns >= 1 && info.tick_ns <= TICK_LONGEST)) {
    throw new Error('a lane of its timeline is not as it says');
  }
  return {...info, title: String(info.title)};
}

/* The lanes of the two blocks; throws where they do not fit together. */
function lanesOf(index, data) {
  if (!index || index.version !== 1 || !Array.isArray(index.lanes) || !Array.isArray(index.names) ||
      !Array.isArray(index.classes) || index.names.length > NAMES_MOST || !(index.level_ns >= 0) || !(index.length_ns >= 0)) {
    throw new Error('its timeline is of another version');
  }
  const names = index.names.map(String);

  return {index, lanes: index.lanes.map(info => new Lane(checkedLane(info, data.length), data, index.level_ns, names))};
}

/* What the page has of a timeline; null = nothing. */
async function readLanes() {
  const index = await blockJson('lanes');
  const data = await block('items');

  return index && data ? lanesOf(index, data) : null;
}
