/* planted.js - each planted event among many has a filled pixel, at any zoom
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * planted.js PAGE_FOLDER [ITEMS]: the timeline's own code (lanes.js, drawRow and
 * drawItems of timeline.js) draws items of 0.2 to 2 us, among them 100 of 1 us to 1 ms, on a
 * canvas that notes which pixels are filled: 20 levels of zoom at three widths, as
 * rectangles alone and with lines of a picture.
 */
'use strict';
const fs = require('fs');
const path = require('path');
const vm = require('vm');

const folder = process.argv[2];
const ITEMS = Number(process.argv[3] || 200000);
const PLANTED = 100, PLAIN = 1, OTHER = 7;
const WIDTHS = [700, 1280, 1920], ZOOMS = 20;

function drawing() {
  const lanes = fs.readFileSync(path.join(folder, 'lanes.js'), 'utf8');
  const timeline = fs.readFileSync(path.join(folder, 'timeline.js'), 'utf8');
  const methods = ['drawRow(context, row, y)', 'drawItems(context, row, y, level, [left, right])', 'drawBoxes(context, row, y, boxes)',
    'drawCells(context, row, y)', 'pixels(count)']
    .map(head => timeline.slice(timeline.indexOf(`\n  ${head} {`)))
    .map(text => text.slice(0, text.indexOf('\n  }\n') + 5));

  return vm.runInNewContext(lanes + `
    const RUNS_MOST = 100;
    const isRankSelected = () => true;
    class Drawing { ${methods.join('')} gutter = 0; details = []; used = new Set(); drawLabel() {} drawNames() {} colourOf(kind) { return kind; } }
    ({levelOf, Lane, Drawing})`);
}

/* Numbers that are the same each time. */
let state = 12345;

function below(limit) {
  state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
  return Math.floor(state / 0x80000000 * limit);
}

function world(levelOf) {
  const level = levelOf(ITEMS);
  const planted = [];
  let at = 0;

  for (let i = 0; i < ITEMS; i++) {
    const isPlanted = i % (ITEMS / PLANTED) === ITEMS / PLANTED / 2;
    const length = isPlanted ? Math.round(1000 * 1000 ** (planted.length / (PLANTED - 1))) : 200 + below(1800);

    at += below(500);
    level.start[i] = at;
    level.end[i] = at += length;
    level.busy[i] = level.longest[i] = length;
    level.many[i] = 1;
    level.kind[i] = isPlanted ? OTHER : PLAIN;
    if (isPlanted) {
      planted.push([level.start[i], at]);
    }
  }
  level.count = ITEMS;
  return {level, planted, end: at};
}

/* Is some pixel that the event touches filled? */
function isDrawn(drawing, lane, span, [start, end], hasStrips) {
  const {width} = drawing;
  const filled = new Uint8Array(width);
  const pixel = (span[1] - span[0]) / width;
  const first = Math.max(0, Math.floor((start - span[0]) / pixel));
  const last = Math.min(width - 1, Math.floor((end - span[0]) / pixel - 1e-9));

  drawing.span = span;
  drawing.strips = hasStrips ? {add: cells => filled.forEach((_, x) => { filled[x] |= cells[x] > 0 ? 1 : 0; })} : null;
  drawing.drawRow({fillRect: (x, y, w) => filled.fill(1, Math.max(0, x), Math.min(width, x + w))}, {lane, height: 10}, 0);
  for (let x = first; x <= Math.max(first, last); x++) {
    if (filled[x] === 1) {
      return true;
    }
  }
  return false;
}

const {levelOf, Lane, Drawing} = drawing();
const {level, planted, end} = world(levelOf);
const lane = new Lane({rank: 0, kind: 'calls', depth: 0}, null, 0);
let missed = 0;

lane.levels = [{w: 0, level}];
for (const width of WIDTHS) {
  for (let zoom = 0; zoom < ZOOMS; zoom++) {
    const length = end / 2 ** zoom;

    for (const event of planted) {
      const from = Math.max(0, Math.min(end - length, (event[0] + event[1]) / 2 - length * 0.37));

      for (const hasStrips of width === 1280 ? [false, true] : [false]) {
        missed += !isDrawn(Object.assign(new Drawing(), {width}), lane, [from, from + length], event, hasStrips);
      }
    }
  }
}
console.log(`${planted.length} events among ${ITEMS} items, ${ZOOMS} zooms, ${WIDTHS.length} widths: ${missed} without a pixel`);
process.exitCode = missed > 0 || planted.length !== PLANTED ? 1 : 0;
