/* raster.js - every rank of a large job over the run, as one picture
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * merge/output/lanes/rasterblock.h has the format. A pixel has the class with the
 * largest share of the cells that it shows; marks are drawn last, so that what is
 * rare or long has its pixel.
 */
const RASTER_CELLS_MOST = 1 << 22;
const RASTER_MARKS_MOST = 1 << 16;
const RASTER_TALLEST = 1400; /* pixels; more ranks share them */
const RASTER_LISTED = 200;
const SHARE_WHOLE = 15;

function rasterOf(index, data) {
  const count = (value, most, what) => checkedCount(value, most, what + ' of its ranks');

  if (!index || index.version !== 1 || !Array.isArray(index.ranks) || !Array.isArray(index.classes) || !(index.cell_ns >= 1) ||
      !Number.isFinite(index.start_ns)) {
    throw new Error('its picture of all ranks is of another version');
  }
  const columns = count(index.columns, RASTER_CELLS_MOST, 'columns');
  const cells = count(index.ranks.length * columns, RASTER_CELLS_MOST, 'cells');
  const marks = count(index.marks, RASTER_MARKS_MOST, 'marks');

  if (cells * 2 > data.length) {
    throw new Error('the cells of its ranks are cut off');
  }
  const numbers = new Numbers(data, 2 * cells, data.length);
  const [kind, rank, first, many] = [index.classes.length, index.ranks.length, columns, columns + 1]
    .map(most => checkedColumn(numbers, marks, most, 'mark of its ranks'));

  return {index, columns, ranks: index.ranks.map(Number), classes: index.classes.map(String), kinds: data.subarray(0, cells),
    shares: data.subarray(cells, 2 * cells), marks: {count: marks, kind, rank, first, many}};
}

class Raster {
  constructor(raster) {
    this.raster = raster;
    this.at = [0, 0]; /* rank's index, column */
    this.canvas = el('canvas', {tabindex: 0, role: 'img', 'aria-label':
      'all ranks over the run, one line each; arrow keys move, Enter shows that rank and time in the timeline'});
    this.tip = el('p', {class: 'quiet tip', 'aria-live': 'polite'}, 'Down: ranks. Across: the run. A colour is what took most of that time. Click: show that rank then.');
    this.legend = el('ul', {class: 'legend'});
    this.box = el('div', {class: 'raster'}, this.canvas);
    this.node = el('div', null, el('h3', null, 'All ' + count(raster.ranks.length) + ' ranks'), this.legend, this.box, this.tip,
      this.list());
    this.listen();
  }

  /* Pixels of the picture: [across, down], and a rank's height. */
  size() {
    const ranks = this.raster.ranks.length;
    const high = Math.max(1, Math.min(4, Math.floor(320 / ranks)));

    return [Math.max(100, Math.floor(this.box.clientWidth)), Math.min(RASTER_TALLEST, ranks * high)];
  }

  /* The first cell of so many in a row that a pixel shows, and the one behind. */
  cellsOf(pixel, pixels, cells) {
    const first = Math.floor(pixel * cells / pixels);

    return [first, Math.max(first + 1, Math.floor((pixel + 1) * cells / pixels))];
  }

  /* The cell with the largest share of those that a pixel shows. */
  largest([firstRank, behindRank], [first, behind]) {
    const {columns, shares} = this.raster;
    let best = firstRank * columns + first;

    for (let rank = firstRank; rank < behindRank; rank++) {
      for (let cell = rank * columns + first; cell < rank * columns + behind; cell++) {
        best = shares[cell] > shares[best] ? cell : best;
      }
    }
    return best;
  }

  draw() {
    if (this.node.isConnected) {
      const [wide, high] = this.size();

      Object.assign(this.canvas, {width: wide, height: high});
      this.paint(this.canvas.getContext('2d'), wide, high);
    }
  }

  paint(context, wide, high) {
    const colours = palette();
    const {kinds, shares, classes, ranks, columns} = this.raster;
    const [ground, ...known] = [colours.colour('ground'), ...classes.map(name => colours.of(name))].map(pictureColour);
    const picture = context.createImageData(wide, high);
    const pixels = new Uint32Array(picture.data.buffer);
    const across = Array.from({length: wide}, (_, x) => this.cellsOf(x, wide, columns));

    for (let y = 0, at = 0; y < high; y++) {
      const down = this.cellsOf(y, high, ranks.length);

      for (let x = 0; x < wide; x++) {
        const cell = this.largest(down, across[x]);

        pixels[at++] = kinds[cell] === 0 ? ground : mixed(ground, known[kinds[cell] - 1], shares[cell] / SHARE_WHOLE);
      }
    }
    this.paintMarks(pixels, wide, high, known);
    context.putImageData(picture, 0, 0);
    this.paintChoice(context, wide, high, colours);
    this.showLegend();
  }

  paintMarks(pixels, wide, high, known) {
    const {marks, ranks, columns} = this.raster;

    for (let i = 0; i < marks.count; i++) {
      const y = Math.floor(marks.rank[i] * high / ranks.length);
      const tall = Math.max(1, Math.floor(high / ranks.length));
      const from = Math.floor(marks.first[i] * wide / columns);
      const to = Math.min(wide, Math.max(from + 1, Math.floor((marks.first[i] + marks.many[i]) * wide / columns)));

      for (let line = y; line < Math.min(high, y + tall); line++) {
        pixels.fill(known[marks.kind[i]], line * wide + from, line * wide + to);
      }
    }
  }

  /* A frame around the selected time. */
  paintChoice(context, wide, high, colours) {
    if (selection.range) {
      const {index, columns} = this.raster;
      const [from, to] = selection.range.map(ns => (ns - index.start_ns) / index.cell_ns / columns * wide);

      context.strokeStyle = colours.colour('text');
      context.strokeRect(from - 1, 0.5, Math.max(3, to - from + 2), high - 1);
    }
  }

  showLegend() {
    const {kinds, marks, classes} = this.raster;
    const used = new Set(marks.kind);

    if (this.legend.children.length === 0) {
      kinds.forEach(kind => used.add(kind - 1));
      const groups = new Set([...used].filter(kind => kind >= 0).map(kind => groupOfClass.get(classes[kind]) || 'other'));

      this.legend.append(...GROUPS.filter(([group]) => groups.has(group)).map(([group, title]) =>
        el('li', null, el('span', {class: 'swatch g-' + group}), title)));
    }
  }

  say() {
    const [rank, column] = this.at;
    const {index, columns, ranks, kinds, shares, classes} = this.raster;
    const cell = rank * columns + column, from = index.start_ns + column * index.cell_ns;

    this.tip.textContent = rankName(ranks[rank]) + ', from ' + time(Math.max(0, from)) + ' for ' + time(index.cell_ns) + ': ' +
      (kinds[cell] === 0 ? 'nothing' : (shares[cell] === SHARE_WHOLE ? 'all of it ' : 'about ' + percent(shares[cell], SHARE_WHOLE) + ' of it ') +
        safe(classes[kinds[cell] - 1]));
  }

  /* The rank in the timeline, and that time with as much on each side. */
  choose() {
    const [rank, column] = this.at;
    const {index, ranks} = this.raster;
    const from = index.start_ns + column * index.cell_ns;

    select({ranks: [ranks[rank]], range: [Math.max(0, from - index.cell_ns), from + 2 * index.cell_ns]});
  }

  atEvent(event) {
    const box = this.canvas.getBoundingClientRect();
    const clamp = (part, most) => Math.min(most - 1, Math.max(0, Math.floor(part * most)));

    this.at = [clamp((event.clientY - box.top) / box.height, this.raster.ranks.length),
      clamp((event.clientX - box.left) / box.width, this.raster.columns)];
  }

  move(ranks, columns) {
    this.at = [Math.min(this.raster.ranks.length - 1, Math.max(0, this.at[0] + ranks)),
      Math.min(this.raster.columns - 1, Math.max(0, this.at[1] + columns))];
    this.say();
  }

  listen() {
    const moves = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]};

    this.canvas.addEventListener('mousemove', event => {
      this.atEvent(event);
      this.say();
    });
    this.canvas.addEventListener('click', event => {
      this.atEvent(event);
      this.choose();
    });
    this.canvas.addEventListener('keydown', event => {
      if (moves[event.key] && !event.ctrlKey && !event.metaKey && !event.altKey) {
        this.move(...moves[event.key]);
        event.preventDefault();
      } else if (event.key === 'Enter') {
        this.choose();
      }
    });
    new ResizeObserver(() => {
      if (this.box.clientWidth > 0 && this.canvas.width !== this.size()[0]) {
        this.draw();
      }
    }).observe(this.box);
    onScheme(this);
    onSelect(() => this.draw());
  }

  /* What each rank did most, for those who do not see the picture. */
  rows() {
    const {ranks, columns, kinds, shares, classes} = this.raster;

    return ranks.map((rank, i) => {
      const sums = new Float64Array(classes.length + 1);

      for (let cell = i * columns; cell < (i + 1) * columns; cell++) {
        sums[kinds[cell]] += shares[cell];
      }
      const most = sums.reduce((best, sum, kind) => (sum > sums[best] ? kind : best), 0);

      return {rank, most: most === 0 ? '-' : classes[most - 1], share: sums[most] / columns / SHARE_WHOLE};
    });
  }

  list() {
    const body = el('div');
    const details = el('details', null, el('summary', null, 'what each rank did most, as a table'), body);

    details.addEventListener('toggle', () => body.replaceChildren(table('ranks by what they did most', [
      headColumn('rank', row => row.rank), textColumn('most of its time', row => row.most),
      {title: 'about', value: row => row.share, number: true, text: part => percent(part, 1)}], this.rows(),
    {choose: row => select({ranks: [row.rank]})})), {once: true});
    return details;
  }
}

/* A colour of a picture, so much of it over the ground; some of it is always seen. */
function mixed(ground, colour, part) {
  const weight = Math.round(256 * (0.35 + 0.65 * part));
  const mix = shift => (((colour >>> shift & 255) * weight + (ground >>> shift & 255) * (256 - weight)) >>> 8) << shift;

  return (mix(0) | mix(8) | mix(16) | 255 << 24) >>> 0;
}

async function readRaster() {
  const index = await blockJson('raster');
  const data = await block('raster-cells');

  return index && data ? rasterOf(index, data) : null;
}
