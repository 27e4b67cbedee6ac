/* lanes.js - the items of the timeline: read, and folded as the page needs them
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * merge/output/lanes/laneblock.h has the format and lane.h the rule of folding.
 */
const LEVEL_STEP = 2;
const LEVEL_LEAST = 1000; /* items that are worth folding */
const PIXELS_LEAST = 200; /* of a picture of a whole lane */
const LEVEL_COLUMNS = ['start', 'end', 'busy', 'longest', 'kind', 'name', 'many'];

/* Unsigned LEB128 numbers; throws where the bytes end early. */
class Numbers {
  constructor(data, at, end) {
    this.data = data;
    this.at = at;
    this.end = Math.min(end, data.length);
  }

  /* Most numbers are one byte. One kind of array for all, which engines make
   * fast. */
  column(count) {
    const values = new Float64Array(count);
    const {data, end} = this;
    let {at} = this;

    for (let i = 0; i < values.length; i++) {
      let byte = data[at++];
      let value = byte & 0x7f;

      for (let scale = 128; byte >= 0x80 && at < end; scale *= 128) {
        byte = data[at++];
        value += (byte & 0x7f) * scale;
      }
      values[i] = value;
      if (byte >= 0x80) {
        at = end + 1;
      }
    }
    if (at > end) {
      throw new Error('the data of a lane are cut off');
    }
    this.at = at;
    return values;
  }

  /* Numbers below 128: the bytes themselves. */
  small(count) {
    const values = this.data.slice(this.at, this.at + count);
    let all = 0;

    for (let i = 0; i < values.length; i++) {
      all |= values[i];
    }
    if (this.at + count > this.end || all >= 0x80) {
      throw new Error('the data of a lane are cut off');
    }
    this.at += count;
    return values;
  }
}

/* Columns of one level: start, end, busy, longest in ns; kind: class; name;
 * many: how many items it is. Lengths have the seven digits of a float, and are
 * shown with three. Exact items have no busy and no longest: each is its length. */
function levelOf(count, Names = Uint32Array) {
  return {count: 0, start: new Float64Array(count), end: new Float64Array(count), busy: new Float32Array(count),
    longest: new Float32Array(count), kind: new Uint8Array(count), name: new Names(count), many: new Uint32Array(count), names: []};
}

const TWO_BYTES = 65536; /* numbers */

/* Numbers in two bytes each if they are small enough. */
function shortest(column) {
  const isShort = column.every(number => number < TWO_BYTES);

  return isShort ? new Uint16Array(column) : new Uint32Array(column);
}

/* How many items each of so many exact ones is: one column for all lanes. */
let ones = new Uint8Array(0);

function onesOf(items) {
  if (ones.length < items) {
    ones = new Uint8Array(items).fill(1);
  }
  return ones.subarray(0, items);
}

/* The time of the items that an item is. */
const busyOf = (level, i) => (level.busy === null ? level.end[i] - level.start[i] : level.busy[i]);

/* A column of ticks in ns. */
function inNs(column, tick) {
  for (let i = 0; i < column.length; i++) {
    column[i] *= tick;
  }
  return column;
}

/* The exact items, or what the page has instead of them. */
function readLevel(info, data, isFolded) {
  if (!(info.items >= 0) || info.items > info.bytes) {
    throw new Error('the number of items of a lane is wrong');
  }
  const numbers = new Numbers(data, info.offset, info.offset + info.bytes);
  const {items, tick_ns: tick} = info;
  const start = numbers.column(items), end = numbers.column(items);
  const kind = numbers.small(items), name = shortest(numbers.column(items));
  let at = 0;

  for (let i = 0; i < items; i++) {
    at += start[i];
    start[i] = at * tick;
    at += end[i];
    end[i] = at * tick;
  }
  const level = {count: items, start, end, kind, name, names: []};

  if (isFolded) {
    level.many = new Uint32Array(numbers.column(items));
    level.busy = new Float32Array(inNs(numbers.column(items), tick));
    level.longest = new Float32Array(inNs(numbers.column(items), tick));
  } else {
    level.many = onesOf(items);
    level.busy = level.longest = null;
  }
  return level;
}

/* FOLD(w) of a finer level. */
function foldLevel(from, w) {
  const {start, end, busy, longest, kind, name, many, count: all} = from;
  const to = levelOf(all, name.constructor);
  const half = w / 2;
  let last = -1, isRun = false;

  for (let i = 0; i < all; i++) {
    const length = end[i] - start[i], isOwn = many[i] === 1 && length >= half;
    const spent = busy === null ? length : busy[i], most = longest === null ? length : longest[i];

    if (isRun && !isOwn && start[i] - to.end[last] < w && to.end[last] - to.start[last] < w) {
      to.end[last] = Math.max(to.end[last], end[i]);
      if (kind[i] !== to.kind[last] && spent > to.busy[last]) {
        to.kind[last] = kind[i];
      }
      to.busy[last] += spent;
      to.many[last] += many[i];
      if (most > to.longest[last]) {
        to.longest[last] = most;
        to.name[last] = name[i];
      }
      continue;
    }
    last++;
    isRun = !isOwn;
    to.start[last] = start[i];
    to.end[last] = end[i];
    to.busy[last] = spent;
    to.longest[last] = most;
    to.kind[last] = kind[i];
    to.name[last] = name[i];
    to.many[last] = many[i];
  }
  for (const column of LEVEL_COLUMNS) {
    to[column] = to[column].slice(0, last + 1);
  }
  to.many = shortest(to.many);
  to.count = last + 1;
  to.names = from.names;
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
      this.data = null; /* what all lanes were read from is let go with the last */
    }
    return this.levels[0].level;
  }

  /* The first level that leaves something out: of items that are 1 us apart that
   * is no level of 64 ns. */
  firstWidth() {
    const {count: items, start, end} = this.levels[0].level;
    const apart = items > 0 ? (end[items - 1] - start[0]) / items : 0;

    return 64 * LEVEL_STEP ** Math.max(0, Math.ceil(Math.log(apart / 64) / Math.log(LEVEL_STEP)));
  }

  /* Widths of levels: from the first one on, LEVEL_STEP times each. */
  widthFor(pixel) {
    const first = this.w === 0 ? this.firstWidth() : this.w * LEVEL_STEP;

    return first > pixel ? 0 : first * LEVEL_STEP ** Math.floor(Math.log(pixel / first) / Math.log(LEVEL_STEP) + 1e-9);
  }

  /* The coarsest level with w <= pixel, in ns; one that is missing is folded from
   * the next finer one that is there. */
  at(pixel) {
    this.finest();
    const w = this.widthFor(pixel);
    const i = this.levels.findLastIndex(one => one.w <= w);
    const from = this.levels[Math.max(i, 0)];

    if (w <= from.w || from.level.count < LEVEL_LEAST) {
      return from.level;
    }
    const made = {w, level: foldLevel(from.level, w)};

    this.levels.splice(i + 1, 0, made);
    return made.level;
  }

  /* One level more than there is; false = no picture needs another one. */
  foldNext() {
    const all = this.finest();
    const {w: before, level: from} = this.levels[this.levels.length - 1];
    const w = before === 0 ? this.firstWidth() : before * LEVEL_STEP;

    if (from.count < LEVEL_LEAST || w > (all.end[all.count - 1] - all.start[0]) / PIXELS_LEAST) {
      return false;
    }
    this.levels.push({w, level: foldLevel(from, w)});
    return true;
  }
}

const LANE_KINDS = ['idle', 'queue', 'steps', 'ranges', 'calls', 'offcpu'];
const NAMES_MOST = 1 << 20;
const TICK_LONGEST = 1e15;

/* Facts of a lane, checked: the page may be another user's. */
function checkedLane(info, bytes) {
  const isCount = value => Number.isInteger(value) && value >= 0;

  if (!info || !LANE_KINDS.includes(info.kind) || !Number.isInteger(info.rank) || !isCount(info.items) || !isCount(info.depth) ||
      !isCount(info.offset) || !isCount(info.bytes) || info.offset + info.bytes > bytes || info.items > info.bytes ||
      !(info.tick_ns >= 1 && info.tick_ns <= TICK_LONGEST)) {
    throw new Error('a lane of its timeline is not as it says');
  }
  return {...info, title: String(info.title)};
}

/* A name of items: alone, and as it is shown, which of calls has the place that they
 * were called from. */
function namesOf({names, places}) {
  const at = i => (Array.isArray(places) && places[i] ? {line: Number(places[i].line),
    ...(places[i].file ? {file: String(places[i].file)} : {function: String(places[i].function)})} : null);

  return names.map((name, i) => ({alone: String(name), label: at(i) ? placed(name, at(i)) : String(name)}));
}

/* The lanes of the two blocks; throws where they do not fit together. */
function lanesOf(index, data) {
  if (!index || index.version !== 1 || !Array.isArray(index.lanes) || !Array.isArray(index.names) ||
      !Array.isArray(index.classes) || index.names.length > NAMES_MOST || !(index.level_ns >= 0) || !(index.length_ns >= 0)) {
    throw new Error('its timeline is of another version');
  }
  const names = namesOf(index);

  return {index, names, lanes: index.lanes.map(info => new Lane(checkedLane(info, data.length), data, index.level_ns, names))};
}

/* What the page has of a timeline; null = nothing. Of a long run that is a coarse
 * copy, and all items are "fine". */
async function readLanes(isFine) {
  const index = await blockJson(isFine ? 'fine' : 'lanes');
  const data = await block(isFine ? 'fine-items' : 'items');

  return index && data ? lanesOf(index, data) : null;
}

/* Close looks at parts of a long run, as details of its timeline. */
async function readCloseups() {
  const index = await blockJson('closeups');
  const data = await block('closeup-items');

  if (!index || !data) {
    return [];
  }
  const {lanes} = lanesOf(index, data);

  return index.closeups.map((part, i) => {
    const own = lanes.filter(lane => lane.info.closeup === i);

    return {from: part.start_ns, to: part.end_ns, level: 0, ranks: [...new Set(own.map(lane => lane.info.rank))].sort((a, b) => a - b),
      lanes: new Map(own.map(lane => [laneKey(lane.info), lane]))};
  });
}
