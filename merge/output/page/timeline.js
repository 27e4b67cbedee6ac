/* timeline.js - view 3: every rank over time, and who waited for whom
 *
 * SPDX-License-Identifier: Apache-2.0
 */
const GUTTER = 190; /* pixels of the names, at most */
const GUTTER_PART = 0.32; /* of a narrow window */
const RULER = 22;
const NAME_SIZE = 11;
const HEIGHTS = {idle: 16, queue: 12, steps: 9, ranges: 11, calls: 13, offcpu: 9};
const KIND_ORDER = ['steps', 'idle', 'queue', 'ranges', 'calls', 'offcpu'];
const KIND_TITLES = {idle: 'idle because', queue: 'device', steps: 'steps', ranges: 'ranges', calls: 'calls',
  offcpu: 'off the CPU'};
const RANKS_OPEN = 16; /* of more, only selected ones are shown in full */
const VIEW_TALLEST = 560;
const LABEL_APART = 12; /* pixels between the names of two ranks, at least */
const ARROWS_MOST = 200;
const ITEMS_LISTED = 200;
const NOTE_AFTER_MS = 150;
const PAGE_BYTES_ITEM = 10; /* that a page needs for an item, about */
const RUNS_MOST = 100; /* rectangles of narrow items in a row */
const ROWS_OTHER = 32768; /* lanes.c: a run with so many has no room for further threads */

const groupOfClass = new Map(GROUPS.flatMap(([group, , names]) => names.map(name => [name, group])));

const LIGHT_HALF = 0.179; /* luminance on which black and white have one contrast */

/* Black or white, whichever is read better on a colour "#rrggbb". */
function textOn(colour) {
  const [red, green, blue] = [1, 3, 5].map(at => parseInt(colour.slice(at, at + 2), 16) / 255)
    .map(part => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));

  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > LIGHT_HALF ? '#000000' : '#ffffff';
}

/* Colours of the style sheet, as the canvas wants them; each is looked up once. */
function palette() {
  const style = getComputedStyle(document.documentElement);
  const known = new Map();
  const colour = name => {
    if (!known.has(name)) {
      known.set(name, style.getPropertyValue('--' + name).trim());
    }
    return known.get(name);
  };

  return {colour, on: textOn, of: name => (name === 'step' ? colour('line') : name === 'range' ? colour('bar') :
    colour(groupOfClass.get(name) || 'other'))};
}

/* One, two or five times a power of ten that gives some ten marks. */
function rulerStep(length, width) {
  const least = length * 90 / width;
  const power = 10 ** Math.floor(Math.log10(least));

  return [1, 2, 5, 10].map(factor => factor * power).find(step => step >= least);
}

/* A mark of the ruler, with enough digits to differ from its neighbours. */
function mark(at, step) {
  const [unit, name] = TIMES.find(([least]) => at >= least) || TIMES[TIMES.length - 1];

  return (at / unit).toFixed(Math.max(0, Math.ceil(Math.log10(unit / step)))) + ' ' + name;
}

/* A colour "#rrggbb" as the bytes of a picture; 0 = another one. */
function pictureColour(text) {
  const [red, green, blue] = [1, 3, 5].map(at => parseInt(text.slice(at, at + 2), 16));

  return new Uint32Array(Uint8Array.of(red, green, blue, 255).buffer)[0] || 0;
}

/* Rows of the timeline as lines of one picture: rectangles cost more than pixels. */
class Strips {
  constructor(width, lines) {
    this.canvas = new OffscreenCanvas(width, lines);
    this.context = this.canvas.getContext('2d');
    this.picture = this.context.createImageData(width, lines);
    this.pixels = new Uint32Array(this.picture.data.buffer);
    this.rows = [];
  }

  add(cells, colourOf, row) {
    const colours = [0]; /* of each class and 1 */
    const {width} = this.canvas;
    let at = this.rows.length * width;

    for (let x = 0; x < width; x++) {
      const cell = cells[x];

      if (colours[cell] === undefined) {
        colours[cell] = pictureColour(colourOf(cell - 1));
      }
      this.pixels[at++] = colours[cell];
    }
    this.rows.push(row);
  }

  draw(context, left) {
    const {width} = this.canvas;

    if (this.rows.length > 0) {
      this.context.putImageData(this.picture, 0, 0, 0, 0, width, this.rows.length);
      context.imageSmoothingEnabled = false;
      this.rows.forEach(({y, height, alpha}, line) => {
        context.globalAlpha = alpha;
        context.drawImage(this.canvas, 0, line, width, 1, left, y, width, height);
      });
      context.globalAlpha = 1;
    }
    this.rows = [];
  }
}

/* How ranks ended that did not end well: {rank, at, word} of those whose end has a time. */
function deathsOf(report) {
  const wordOf = rank => (rank.end === 'signal' ? (rank.asked_signal === rank.code ? 'ended: signal ' : 'died: signal ') + rank.code :
    rank.end === 'killed' ? 'killed' : rank.end === 'exited' && rank.code !== 0 ? 'ended: status ' + rank.code : '');

  return (report.ranks || []).map(rank => ({rank: rank.rank, at: rank.end_time_ns - report.whole.start_ns, word: wordOf(rank)}))
    .filter(({at, word}) => word !== '' && at > 0);
}

/* `isOfPage`: the one that the selection and keys move; others are for
 * themselves alone. */
class Timeline {
  constructor(report, data, isOfPage) {
    this.report = report;
    this.isOfPage = isOfPage;
    this.range = null; /* marked, where it is another run's */
    this.index = data.index;
    this.gutter = GUTTER;
    this.names = data.names;
    this.labels = new Set(data.names.map(({label}) => label));
    this.lanes = data.lanes.filter(lane => lane.info.items > 0);
    this.withMain = new Set(this.lanes.filter(lane => lane.info.main).map(lane => lane.info.rank));
    this.lanesOfRank = grouped(this.lanes, lane => lane.info.rank);
    this.whole = [0, data.index.length_ns];
    this.span = this.firstSpan();
    this.top = 0;
    this.cursor = null;
    this.areAllThreads = false;
    this.drag = null;
    this.isOwn = false; /* the selection is changed from here */
    this.marks = []; /* [from, to] of each; the first one is replaced by the next */
    this.pinned = [];
    this.findingPinned = ''; /* words of the one whose ranks come first */
    this.chain = []; /* numbers of waits, from the one that was looked at on */
    this.picked = null; /* {row, at}: the item that was chosen */
    this.deaths = deathsOf(report);
    this.search = null; /* names that are looked for */
    this.found = null; /* the item that was gone to last */
    this.details = []; /* all items of a long run; those of other pages of this run */
    this.hasFine = isOfPage && document.getElementById('block-fine') !== null;
    this.fineLevel = 0; /* until they are read */
    this.canvas = el('canvas', {tabindex: 0, role: 'img', 'aria-label':
      'timeline of all ranks; keys w and s zoom, a and d move, 0 shows all; below it is a table of what is in view'});
    this.used = new Set(); /* numbers of the classes that were drawn */
    this.legend = el('ul', {class: 'legend'});
    this.spacer = el('div', {class: 'spacer'});
    this.box = el('div', {class: 'lanes'}, this.canvas, this.spacer);
    this.tip = el('p', {class: 'quiet tip', 'aria-live': 'polite'});
    this.note = el('p', {class: 'quiet'});
    this.node = el('div', {class: 'timeline'}, this.tools(), this.legend, this.box, this.tip, this.note, this.list());
    this.colours = palette();
    this.layOut();
    this.listen();
  }

  /* The region of the report, with a little of what is around it. */
  firstSpan() {
    const region = this.report.region || {};
    const [from, to] = [region.start_rel_ns, region.end_rel_ns];
    const rim = (to - from) / 50;

    return to > from ? [Math.max(0, from - rim), Math.min(this.whole[1], to + rim)] : [...this.whole];
  }

  zoomTools() {
    return [button('+', () => this.zoom(0.5), {'aria-label': 'zoom in'}), button('\u2212', () => this.zoom(2), {'aria-label': 'zoom out'}),
      button('all', () => this.show(...this.whole)), button('region', () => this.show(...this.firstSpan()))];
  }

  tools() {
    if (!this.isOfPage) {
      return el('div', {class: 'tools'}, this.zoomTools());
    }
    const threads = el('input', {type: 'checkbox', id: 'all-threads', 'aria-label': 'all threads'});

    threads.addEventListener('change', () => {
      this.areAllThreads = threads.checked;
      this.layOut();
      this.soon();
    });
    this.field = searchField(this);
    return el('div', {class: 'tools'}, this.field, this.zoomTools(), button('selected', () => this.fit()),
      button('Go to', () => keys.find(key => key.code === 'KeyG').act(), {title: 'go to a time or a step (key g)'}),
      ...pictureButtons('timeline', () => this),
      el('label', {for: 'all-threads', class: 'quiet'}, threads, ' all threads'));
  }

  /* The groups of colours that were drawn so far. */
  showLegend() {
    const names = [...this.used].map(kind => this.index.classes[kind]).filter(name => name !== 'step' && name !== 'range');
    const groups = new Set(names.map(name => groupOfClass.get(name) || 'other'));

    if (groups.size !== this.groups) {
      this.groups = groups.size;
      this.legend.replaceChildren(...GROUPS.filter(([group]) => groups.has(group)).map(([group, title]) =>
        el('li', null, el('span', {class: 'swatch g-' + group}), title)));
    }
  }

  list() {
    const body = el('div');
    const details = el('details', null, el('summary', null, 'what is in view, longest first, as a table'), body);

    details.addEventListener('toggle', () => this.listView());
    this.listed = {details, body, table: null, of: []};
    return details;
  }

  /* The table, once it is open, of what is in view by now. */
  listView() {
    const of = [...this.span, this.rows, this.details.length, this.fineLevel];

    if (!this.listed.details.open || of.every((one, i) => one === this.listed.of[i])) {
      return;
    }
    this.listed.of = of;
    if (this.listed.table) {
      this.listed.table.show(this.itemsInView());
    } else {
      this.listed.table = this.table();
      this.listed.body.replaceChildren(this.listed.table.node);
    }
  }

  /* Which lanes are shown, and where. */
  layOut() {
    const place = rank => (this.pinned.includes(rank) ? this.pinned.indexOf(rank) - this.pinned.length : 0);
    const ranks = [...this.lanesOfRank.keys()].sort((a, b) => place(a) - place(b) || a - b);
    const isSmall = ranks.length <= RANKS_OPEN;

    this.rows = [];
    this.rankAt = new Map();
    this.rankEnds = new Map(); /* [top, bottom] of each */
    let y = RULER + 4, named = -LABEL_APART;

    for (const rank of ranks) {
      const isOpen = isSmall || selection.ranks.includes(rank) || this.pinned.includes(rank);
      const own = this.lanesOfRank.get(rank).filter(lane => this.isShown(lane, isOpen))
        .sort((a, b) => KIND_ORDER.indexOf(a.info.kind) - KIND_ORDER.indexOf(b.info.kind) ||
          Number(b.info.main) - Number(a.info.main) || compare(a.info.title, b.info.title) || a.info.depth - b.info.depth);
      const first = y, isNamed = y - named >= LABEL_APART;

      named = isNamed && own.length > 0 ? y : named;
      own.forEach((lane, i) => {
        const height = isOpen ? HEIGHTS[lane.info.kind] : 8;

        this.rows.push({lane, y, height, bound: isOpen && i === 1 ? this.boundText(rank) : '', label: i === 0 && isNamed ? (rank < 0 ? 'no rank' : (this.pinned.includes(rank) ? '\u2191 ' : '') + rankName(rank)) : '', isOpen});
        y += height + 2;
      });
      this.rankAt.set(rank, (first + y) / 2);
      this.rankEnds.set(rank, [first, y - 2]);
      y += own.length > 0 && isOpen ? 6 : 0;
    }
    this.height = y + 4;
    this.spacer.style.height = Math.max(0, this.height - VIEW_TALLEST) + 'px';
    this.box.style.height = Math.min(this.height, VIEW_TALLEST) + 'px';
  }

  /* How exactly the clock of a rank is known; '' = all ranks have one. Of a host with
   * several clocks it is the least exact one. */
  boundText(rank) {
    const {clocks, ranks} = this.report;

    if (!clocks || clocks.length < 2) {
      return '';
    }
    this.hosts = this.hosts || new Map((ranks || []).map(one => [one.rank, one.host]));
    const bounds = clocks.filter(clock => clock.host === this.hosts.get(rank) && Number.isFinite(clock.bound_max_ns)).map(clock => clock.bound_max_ns);

    return bounds.length > 0 ? '\u00b1 ' + time(Math.max(...bounds)) : '';
  }

  isShown(lane, isOpen) {
    const {kind, main, rank} = lane.info;

    if (!isOpen) {
      return lane === this.shortLane(rank);
    }
    return kind === 'idle' || kind === 'queue' || main || this.areAllThreads || !this.withMain.has(rank);
  }

  /* The one lane of a rank among many: why its device was idle, else calls, of
   * the first thread if that has some. */
  shortLane(rank) {
    if (!this.short) {
      const worth = ({kind, main}) => (kind === 'idle' ? 3 : kind === 'calls' ? 1 + Number(main) : 0);

      this.short = new Map();
      for (const lane of this.lanes.filter(one => one.info.depth === 0)) {
        const best = this.short.get(lane.info.rank);

        if (!best || worth(lane.info) > worth(best.info)) {
          this.short.set(lane.info.rank, lane);
        }
      }
    }
    return this.short.get(rank);
  }

  x(ns) {
    return this.gutter + (ns - this.span[0]) / (this.span[1] - this.span[0]) * (this.width - this.gutter);
  }

  ns(x) {
    return this.span[0] + (x - this.gutter) / (this.width - this.gutter) * (this.span[1] - this.span[0]);
  }

  show(from, to) {
    const least = 100;
    const length = Math.min(Math.max(to - from, least), this.whole[1]);
    const start = Math.min(Math.max(0, from), this.whole[1] - length);

    this.span = [start, start + length];
    this.soon();
  }

  zoom(factor, at) {
    const middle = at ?? (this.cursor ? this.ns(this.cursor[0]) : (this.span[0] + this.span[1]) / 2);

    this.show(middle - (middle - this.span[0]) * factor, middle + (this.span[1] - middle) * factor);
  }

  move(part) {
    const by = part * (this.span[1] - this.span[0]);

    this.show(this.span[0] + by, this.span[1] + by);
  }

  chosenRange() {
    return this.isOfPage ? selection.range : this.range;
  }

  /* The selected range in four fifths of the width. */
  fit() {
    const range = this.chosenRange();

    if (range) {
      const [from, to] = range;

      this.show(from - (to - from) / 8, to + (to - from) / 8);
    }
  }

  soon() {
    if (!this.isDue) {
      this.isDue = true;
      requestAnimationFrame(() => {
        this.isDue = false;
        this.draw();
      });
    }
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    const width = this.box.clientWidth, height = Math.min(this.height, VIEW_TALLEST);

    if (this.width !== width || this.tall !== height || this.ratio !== ratio) {
      Object.assign(this, {width, tall: height, ratio, gutter: Math.round(Math.min(GUTTER, GUTTER_PART * width))});
      this.canvas.width = width * ratio;
      this.canvas.height = height * ratio;
      this.canvas.style.width = width + 'px';
      this.canvas.style.height = height + 'px';
    }
  }

  draw() {
    this.resize();
    if (this.width <= this.gutter) {
      return;
    }
    this.paint(this.canvas.getContext('2d'));
    this.noteSoon();
  }

  /* What is below the picture, once it does not move: another text there makes
   * the browser lay out the page again, which takes as long as a frame. */
  noteSoon() {
    if (this.note.childNodes.length === 0) {
      this.drawnote();
    }
    clearTimeout(this.noteTimer);
    this.noteTimer = setTimeout(() => {
      this.drawnote();
      this.listView();
    }, NOTE_AFTER_MS);
  }

  paint(context) {
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.clearRect(0, 0, this.width, this.tall);
    context.font = NAME_SIZE + 'px system-ui, sans-serif';
    context.textBaseline = 'middle';
    this.drawSelection(context);
    const rows = this.rows.filter(row => row.y - this.top + row.height > RULER && row.y - this.top < this.tall);

    this.strips = context.drawImage ? this.stripsFor(rows.length) : null;
    rows.forEach(row => this.drawRow(context, row, row.y - this.top));
    if (this.strips) {
      this.strips.draw(context, this.gutter);
    }
    if (this.search) {
      rows.forEach(row => drawFound(this, context, row, row.y - this.top));
    }
    this.drawArrows(context);
    this.drawDeaths(context);
    this.drawRuler(context);
    this.drawMarks(context);
  }

  /* Room for so many rows as pictures. */
  stripsFor(rows) {
    const width = Math.ceil(this.width - this.gutter);
    const known = this.knownStrips;

    if (!known || known.canvas.width !== width || known.canvas.height < rows) {
      this.knownStrips = new Strips(width, Math.max(1, rows));
    }
    return this.knownStrips;
  }

  /* Marked times with their lengths, over the ruler. */
  drawMarks(context) {
    context.fillStyle = context.strokeStyle = this.colours.colour('link');
    for (const [from, to] of this.marks) {
      if (to > this.span[0] && from < this.span[1]) {
        const [left, right] = [from, to].map(ns => Math.min(Math.max(this.x(ns), this.gutter), this.width));

        context.globalAlpha = 0.5;
        context.fillRect(left, RULER - 3, Math.max(1, right - left), 3);
        context.fillRect(left, RULER, 1, this.tall);
        context.fillRect(right, RULER, 1, this.tall);
        context.globalAlpha = 1;
        context.fillText(time(to - from), left + 3, RULER + 7);
      }
    }
  }

  drawRuler(context) {
    const {colour} = this.colours;
    const step = rulerStep(this.span[1] - this.span[0], this.width - this.gutter);

    context.fillStyle = colour('ground');
    context.fillRect(0, 0, this.width, RULER);
    context.fillStyle = colour('muted');
    for (let at = Math.ceil(this.span[0] / step) * step; at <= this.span[1]; at += step) {
      const text = mark(at, step);

      context.fillRect(this.x(at), RULER - 6, 1, 5);
      if (this.x(at) + 3 + textWidth(context, text, NAME_SIZE) <= this.width) {
        context.fillText(text, this.x(at) + 3, RULER / 2);
      }
    }
  }

  drawSelection(context) {
    const range = this.chosenRange();

    if (range) {
      const [from, to] = range.map(ns => Math.min(Math.max(this.x(ns), this.gutter), this.width));

      context.fillStyle = this.colours.colour('chosen');
      context.fillRect(from, RULER, Math.max(1, to - from), this.tall);
    }
  }

  /* The class with most time in each pixel, so that no item is left out. */
  drawRow(context, row, y) {
    const pixel = (this.span[1] - this.span[0]) / (this.width - this.gutter);
    const width = Math.ceil(this.width - this.gutter);

    context.globalAlpha = isRankSelected(row.lane.info.rank) ? 1 : 0.3;
    this.drawLabel(context, row, y);
    context.globalAlpha *= this.search ? 0.25 : 1;
    this.pixels(width + 1);
    const first = this.details.findLastIndex(one => one.from <= this.span[0] && one.to >= this.span[1] &&
      this.detailLevel(one, row.lane, pixel));

    /* What covers all that is in view needs nothing below it. */
    this.drawItems(context, row, y, first < 0 ? row.lane.at(pixel) : this.detailLevel(this.details[first], row.lane, pixel), [0, width]);
    for (const detail of this.details.slice(first + 1)) {
      const level = this.detailLevel(detail, row.lane, pixel);

      if (level && detail.to > this.span[0] && detail.from < this.span[1]) {
        this.drawDetail(context, row, y, level, [this.x(Math.max(detail.from, this.span[0])), this.x(Math.min(detail.to, this.span[1]))]);
      }
    }
    this.drawCells(context, row, y);
    context.globalAlpha = 1;
  }

  /* A part of the row anew, by a level that is finer there. */
  drawDetail(context, row, y, level, [from, to]) {
    const part = [Math.floor(from) - this.gutter, Math.ceil(to) - this.gutter];

    context.save();
    context.beginPath();
    context.rect(from, y, to - from, row.height);
    context.clip();
    context.fillStyle = this.colours.colour('ground');
    context.fillRect(from, y, to - from, row.height);
    this.room.cells.fill(0, ...part);
    this.drawItems(context, row, y, level, part);
    context.restore();
  }

  /* What a page of a part of this run has of the lane; null = nothing better. */
  detailLevel(detail, lane, pixel) {
    const other = detail.lanes.get(laneKey(lane.info));

    return other && other.w < lane.w && pixel < lane.w ? other.at(pixel) : null;
  }

  /* The items of a lane as they are drawn at that time. */
  levelAt(lane, ns, pixel = (this.span[1] - this.span[0]) / (this.width - this.gutter)) {
    const detail = this.details.findLast(one => ns >= one.from && ns <= one.to && this.detailLevel(one, lane, pixel));

    return detail ? this.detailLevel(detail, lane, pixel) : lane.at(pixel);
  }

  /* All that the page has of the whole lane. */
  wholeLevel(lane) {
    const detail = this.details.find(one => one.from <= this.whole[0] && one.to >= this.whole[1] && one.lanes.has(laneKey(lane.info)));

    return detail ? detail.lanes.get(laneKey(lane.info)).finest() : lane.finest();
  }

  /* Room for a class and a length of each pixel, empty; one for all lanes. */
  pixels(count) {
    if (!this.room || this.room.cells.length !== count) {
      this.room = {cells: new Uint16Array(count), best: new Float32Array(count)};
    } else {
      this.room.cells.fill(0);
    }
  }

  /* Items of 3 pixels or more are rectangles, by colour, since setting one costs
   * as much as a rectangle; of narrower ones each pixel of the part that they touch
   * has the class of the longest. */
  drawItems(context, row, y, level, [left, right]) {
    const width = Math.ceil(this.width - this.gutter);
    const [begin, behind] = this.span;
    const scale = (this.width - this.gutter) / (behind - begin);
    const {cells, best} = this.room;
    const {start, end, kind, count: all} = level;
    const boxes = []; /* by class: x, width of each */
    const names = [];

    for (let i = firstBehind(level, begin); i < all && start[i] < behind; i++) {
      const from = Math.max(0, (start[i] - begin) * scale);
      const to = Math.min(width, (end[i] - begin) * scale);
      const wide = to - from, first = Math.floor(from);

      if (wide >= 3) {
        (boxes[kind[i]] || (boxes[kind[i]] = [])).push(first, Math.max(Math.floor(to) - (wide > 6 ? 1 : 0), first + 1) - first);
        if (wide > 40) {
          names.push([from, to, i]);
        }
        continue;
      }
      const last = Math.min(right, Math.max(first + 1, Math.ceil(to)));

      for (let x = Math.max(first, left); x < last; x++) {
        if (cells[x] === 0 || wide > best[x]) {
          cells[x] = kind[i] + 1;
          best[x] = wide;
        }
      }
    }
    this.drawBoxes(context, row, y, boxes);
    this.drawNames(context, row, y, level, names);
  }

  drawBoxes(context, row, y, boxes) {
    boxes.forEach((list, kind) => {
      this.used.add(kind);
      context.fillStyle = this.colourOf(kind);
      for (let i = 0; i < list.length; i += 2) {
        context.fillRect(this.gutter + list[i], y, list[i + 1], row.height);
      }
    });
  }

  /* The pixels of narrow items: rectangles of those that have one class, or where
   * these are many a line of a picture, which is drawn behind the last row. */
  drawCells(context, row, y) {
    const {cells} = this.room;
    const boxes = [];
    let runs = 0;

    for (let x = 0, first = 0; x < cells.length; x++) {
      if (cells[x] !== cells[first] || x === cells.length - 1) {
        if (cells[first] !== 0) {
          (boxes[cells[first] - 1] || (boxes[cells[first] - 1] = [])).push(first, x - first);
          runs++;
        }
        first = x;
      }
    }
    if (runs > RUNS_MOST && this.strips) {
      boxes.forEach((list, kind) => this.used.add(kind));
      this.strips.add(cells, kind => this.colourOf(kind), {y, height: row.height, alpha: context.globalAlpha});
    } else {
      this.drawBoxes(context, row, y, boxes);
    }
  }

  colourOf(kind) {
    this.cache = this.cache || [];
    if (this.cache[kind] === undefined) {
      this.cache[kind] = this.colours.of(this.index.classes[kind]);
    }
    const name = this.index.classes[kind];

    return selection.cause && selection.ranks.length === 0 && groupOfClass.has(name) && name !== selection.cause && !BUSY.has(groupOfClass.get(name))
      ? this.colours.colour('line') : this.cache[kind];
  }

  drawLabel(context, row, y) {
    context.fillStyle = this.colours.colour('text');
    context.fillText(row.label, 4, y + row.height / 2);
    context.fillStyle = this.colours.colour('muted');
    if (row.bound && this.gutter === GUTTER) {
      context.fillText(row.bound, 4, y + row.height / 2);
    }
    if (row.isOpen && row.lane.info.depth === 0) {
      context.fillText(KIND_TITLES[row.lane.info.kind] + (this.areAllThreads && row.lane.info.kind === 'calls' ?
        ' ' + safe(row.lane.info.title).slice(0, 14) : ''), Math.min(70, Math.max(46, 0.38 * this.gutter)), y + row.height / 2);
    }
  }

  drawNames(context, row, y, level, names) {
    if (row.height < 11) {
      return;
    }
    for (const [from, to, i] of names) {
      const name = this.nameOf(level, i);
      const text = level.many[i] === 1 && name ? fitted(context, name, to - from - 7, NAME_SIZE) : '';

      if (text) {
        context.fillStyle = this.colours.on(this.colourOf(level.kind[i]));
        context.fillText(text, this.gutter + from + 3, y + row.height / 2);
      }
    }
  }

  nameOf(level, i) {
    return (level.name[i] > 0 && level.names[level.name[i] - 1]?.label) || this.index.classes[level.kind[i]] || '-';
  }

  /* Does it end in view, and may be drawn from one rank to another? */
  isWaitInView(i) {
    const {waits} = this.index;
    const end = waits.start[i] + waits.length[i];

    return end > this.span[0] && end <= this.span[1] && waits.whom[i] >= 0 && this.rankAt.has(waits.whom[i]) &&
      this.rankAt.has(waits.rank[i]) && (selection.pair ? waits.rank[i] === selection.pair[0] && waits.whom[i] === selection.pair[1] :
      isRankSelected(waits.rank[i]) || isRankSelected(waits.whom[i]));
  }

  waitsInView() {
    return this.index.waits.start.reduce((sum, start, i) => sum + this.isWaitInView(i), 0);
  }

  /* The longest waits in view: from the rank that was waited for, at the end of
   * the wait, to the one that waited; the clocks' error as a whisker. */
  drawArrows(context) {
    const {waits} = this.index;
    const least = 4 * (this.span[1] - this.span[0]) / (this.width - this.gutter);

    this.waitsByLength = this.waitsByLength || [...waits.start.keys()].sort((a, b) => waits.length[b] - waits.length[a]);
    context.strokeStyle = context.fillStyle = this.colours.colour('alarm');
    this.arrows = 0;
    for (const i of this.waitsByLength) {
      if (waits.length[i] < least || this.arrows >= ARROWS_MOST) {
        break;
      }
      if (this.isWaitInView(i)) {
        this.drawArrow(context, waits, i);
        this.arrows++;
      }
    }
  }

  drawArrow(context, waits, i) {
    const x = this.x(waits.start[i] + waits.length[i]);
    const [from, to] = [this.rankAt.get(waits.whom[i]) - this.top, this.rankAt.get(waits.rank[i]) - this.top];
    const head = to > from ? -5 : 5;
    const whisker = this.x(waits.error[i]) - this.x(0);

    context.globalAlpha = 0.75;
    context.setLineDash(waits.length[i] <= waits.error[i] ? [3, 3] : []);
    context.beginPath();
    context.moveTo(x, from);
    context.lineTo(x, to);
    context.stroke();
    context.setLineDash([]);
    context.beginPath();
    context.moveTo(x, to);
    context.lineTo(x - 3, to + head);
    context.lineTo(x + 3, to + head);
    context.fill();
    if (whisker >= 1) {
      context.fillRect(x - whisker, from - 1, 2 * whisker, 2);
    }
    context.globalAlpha = 1;
  }

  /* Where a rank died, and how; behind that its lane is empty. */
  drawDeaths(context) {
    for (const {rank, at, word} of this.deaths) {
      const [top, bottom] = (this.rankEnds.get(rank) || [0, 0]).map(y => y - this.top);

      if (at > this.span[1] || bottom <= Math.max(top, RULER) || top >= this.tall) {
        continue;
      }
      const x = Math.max(this.x(at), this.gutter), text = word + (at < this.span[0] ? ' at ' + time(at) : '');
      const wide = textWidth(context, text, NAME_SIZE), left = x + 6 + wide <= this.width ? x + 5 : x - 5 - wide;

      context.fillStyle = this.colours.colour('alarm');
      if (at >= this.span[0]) {
        context.fillRect(x - 1, top, 3, bottom - top);
      }
      if (bottom - top >= NAME_SIZE) {
        context.fillStyle = this.colours.colour('ground');
        context.fillRect(left - 2, top, wide + 4, NAME_SIZE + 2);
        context.fillStyle = this.colours.colour('alarm');
        context.fillText(text, left, top + 1 + NAME_SIZE / 2);
      }
    }
  }

  drawnote() {
    const {index} = this;
    const parts = [];

    this.showLegend();
    if (this.arrows > 0) {
      const waits = this.waitsInView();

      parts.push('A red arrow is the end of a wait: from the rank that was waited for to the one that waited' +
        (waits > this.arrows ? '; ' + this.arrows + ' of ' + count(waits) + ' waits in view, the longest.' : '.'));
    }
    if (this.gutter === GUTTER && this.rows.some(row => row.bound)) {
      parts.push('\u00b1 below a rank: how exactly its times are known beside those of other ranks.');
    }
    if (this.rows.some(row => row.lane.info.kind === 'calls')) {
      parts.push('Where a row of calls is empty, its thread was in no call that is recorded' +
        (this.deaths.length > 0 ? ', or had ended with its rank (behind a red mark).' : '.'));
    }
    const level = this.level();

    if (level > 0) {
      const ranks = this.closeRanks();

      parts.push('Items shorter than ' + time(level / 2) + ' are drawn together where they are close (' +
        count(index.items_taken) + ' items in all)' + (ranks.length > 0 ? ', but here each one of ' +
        (ranks.length > 1 ? 'ranks ' : 'rank ') + ranksText(ranks) + ' is drawn' : '') + '. To see each item make another page, and drop it on this one:');
    }
    if (index.items_hidden > 0) {
      parts.push(count(index.items_hidden) + ' items are not drawn: they overlap others more than fourfold' +
        (index.lanes.length >= ROWS_OTHER ? ', or are of threads beyond the ' + count(ROWS_OTHER) + ' rows that there is room for.' : '.'));
    }
    this.note.textContent = parts.join(' ');
    if (level > 0) {
      this.note.append(...[['of this view', this.command()], ['of the whole run', this.wholeCommand()]].flatMap(([what, command]) =>
        [el('br'), button('Copy', event => copyText(command, event.currentTarget), {'aria-label': 'copy the command for a page ' + what}),
          ' ' + what + ': ', el('code', null, commandText(command))]));
    }
  }

  /* Of all items of the page; 0 = each is exact. */
  level() {
    return this.hasFine ? this.fineLevel : this.index.level_ns;
  }

  /* All items; the page began with a coarse copy of them. */
  addFine(detail) {
    this.fineLevel = detail.level;
    this.details.unshift(detail);
    this.soon();
  }

  /* What the findings are about, item by item. */
  addCloseups(closeups) {
    this.details.push(...closeups);
    this.soon();
  }

  /* The ranks of whom all that is in view is drawn; [] = of none. */
  closeRanks() {
    const close = this.details.filter(one => one.ranks && one.from <= this.span[0] && one.to >= this.span[1]);

    return [...new Set(close.flatMap(one => one.ranks))].sort((a, b) => a - b);
  }

  /* Were any of its calls called from there? */
  hasPlace(of) {
    const end = ' (' + place(of) + ')';

    this.places = this.places || new Set([...this.labels].map(label => label.slice(label.lastIndexOf(' ('))));
    return this.places.has(end);
  }

  /* What makes a page of the part in view. */
  command() {
    const ranks = selection.ranks.length > 0 ? ' --ranks ' + ranksText(selection.ranks) : '';

    return 'ckmerge --quiet --output html=part.html --from ' + Math.floor(this.span[0]) + 'ns --to ' + Math.ceil(this.span[1]) + 'ns' +
      ranks + ' ' + shellWord(this.report.run);
  }

  /* What makes a page with all items. */
  wholeCommand() {
    return 'ckmerge --quiet --output html=all.html --page-bytes ' + Math.max(10, Math.ceil(this.index.items_taken * PAGE_BYTES_ITEM / 1e6)) + 'M ' +
      shellWord(this.report.run);
  }

  /* A page of this run with more detail was dropped. */
  addDetail(detail) {
    this.details.push(detail);
    if (detail.from <= this.whole[0] && detail.to >= this.whole[1]) {
      this.hasFine = true;
      this.fineLevel = detail.level;
      this.soon();
      return;
    }
    select({range: [detail.from, detail.to]});
    this.show(detail.from, detail.to);
  }

  /* The row and item at a place of the canvas; null = none. */
  hit(x, y) {
    const row = this.rows.find(one => y >= one.y - this.top && y <= one.y - this.top + one.height);

    if (!row || x < this.gutter || y < RULER) {
      return null;
    }
    const pixel = (this.span[1] - this.span[0]) / (this.width - this.gutter);
    const level = this.levelAt(row.lane, this.ns(x));
    const i = firstBehind(level, this.ns(x) - pixel);

    return i < level.count && level.start[i] <= this.ns(x) + pixel ? {row, level, i} : {row, level, i: -1, at: this.ns(x)};
  }

  describe(hit) {
    const {row, level, i} = hit;
    const whose = (row.lane.info.rank < 0 ? 'no rank' : rankName(row.lane.info.rank)) + ', ' +
      KIND_TITLES[row.lane.info.kind] + ' (' + safe(row.lane.info.title) + '): ';

    if (i < 0) {
      const death = this.deaths.find(({rank, at}) => rank === row.lane.info.rank && at <= hit.at);

      return whose + 'nothing' + (death ? ' (the rank: ' + death.word + ' at ' + time(death.at) + ')' : '');
    }
    const span = time(level.end[i] - level.start[i]) + ' from ' + time(level.start[i]);

    if (level.many[i] > 1) {
      return whose + count(level.many[i]) + ' items in ' + span + ', ' + time(busyOf(level, i)) + ' of it, mostly ' +
        this.index.classes[level.kind[i]] + '; longest ' + time(level.longest[i]) + ' ' + safe(this.nameOf(level, i));
    }
    const [name, kind] = [this.nameOf(level, i), this.index.classes[level.kind[i]]];
    const why = ['idle', 'offcpu'].includes(row.lane.info.kind) ? meaning(kind) : '';

    return whose + safe(name) + (name !== kind ? ' (' + kind + ') ' : why ? ' (' + why + ') ' : ' ') + span;
  }

  /* The longest items in view. */
  itemsInView() {
    const pixel = (this.span[1] - this.span[0]) / 1000;
    let items = [], least = -1; /* of the longest so far the shortest, once there are enough */
    const cut = () => {
      items = items.sort((a, b) => b.length - a.length).slice(0, ITEMS_LISTED);
      least = items.length < ITEMS_LISTED ? -1 : items[ITEMS_LISTED - 1].length;
    };

    for (const {lane} of this.rows) {
      const level = this.levelAt(lane, (this.span[0] + this.span[1]) / 2, pixel);

      for (let i = firstBehind(level, this.span[0]); i < level.count && level.start[i] < this.span[1]; i++) {
        const length = level.end[i] - level.start[i];

        if (length > least) {
          items.push({lane, level, i, length});
        }
        if (items.length >= 8 * ITEMS_LISTED) {
          cut();
        }
      }
    }
    cut();
    return items;
  }

  /* The same for those who do not see the picture. */
  table() {
    return new Table('items in view', [headColumn('rank', item => item.lane.info.rank),
      textColumn('lane', item => KIND_TITLES[item.lane.info.kind]), textColumn('what', item => this.index.classes[item.level.kind[item.i]]),
      textColumn('name', item => this.nameOf(item.level, item.i)), countColumn('items', item => item.level.many[item.i]),
      timeColumn('from', item => item.level.start[item.i]), timeColumn('length', item => item.length, true)],
    this.itemsInView(), {isSame: (a, b) => a.lane === b.lane && a.level.start[a.i] === b.level.start[b.i], choose: item => this.choose(item.level.start[item.i], item.level.end[item.i])});
  }

  choose(from, to) {
    if (!this.isOfPage) {
      this.range = to > from ? [from, to] : null;
      this.soon();
      return;
    }
    this.isOwn = true;
    select({range: to > from ? [from, to] : null});
    this.isOwn = false;
    this.soon();
  }

  /* The selected time stays marked; `isKept`: and the marks before it do. */
  mark(isKept) {
    if (selection.range) {
      this.marks = isKept ? [[...selection.range], ...this.marks] : [[...selection.range], ...this.marks.slice(1)];
    } else {
      this.marks = isKept ? this.marks : this.marks.slice(1);
    }
    this.soon();
  }

  /* The rank under the cursor, else those that are selected, to the top. */
  pin() {
    const row = this.cursor ? this.rows.find(one => this.cursor[1] + this.top >= one.y && this.cursor[1] + this.top <= one.y + one.height) : null;
    const ranks = row ? [row.lane.info.rank] : selection.ranks;

    for (const rank of ranks) {
      this.pinned = this.pinned.includes(rank) ? this.pinned.filter(one => one !== rank) : [...this.pinned, rank];
    }
    this.tip.textContent = ranks.length === 0 ? 'Point at a rank, or select one, to pin it.' : this.tip.textContent;
    this.layOut();
    this.soon();
  }

  /* The end of the wait that a finding's example is a part of, where its arrow is:
   * of the one that has most of it; `to` = there is none, or its end is far away. */
  arrowEnd(from, to) {
    const {waits} = this.index;
    let best = to, most = 0;

    for (let i = 0; selection.finding && i < waits.start.length; i++) {
      const end = waits.start[i] + waits.length[i];
      const both = to - Math.max(from, waits.start[i]);

      if (end >= to && end - to <= to - from && both > most && waits.whom[i] >= 0 && isRankSelected(waits.rank[i])) {
        [best, most] = [end, both];
      }
    }
    return best;
  }

  /* A place into view: the middle of what is shown, unless it is in that. */
  reveal(from, to, row) {
    const [begin, behind] = this.span;

    if (from < begin || to > behind) {
      const half = Math.max(behind - begin, to - from) / 2;

      this.show((from + to) / 2 - half, (from + to) / 2 + half);
    }
    if (row.y < this.top + RULER || row.y + row.height > this.top + VIEW_TALLEST) {
      this.box.scrollTop = Math.max(0, row.y - VIEW_TALLEST / 2);
    }
  }

  /* A time of another run's, with what is around it. */
  showPart(range) {
    this.range = range;
    if (range) {
      const rim = (range[1] - range[0]) / 2;

      this.show(range[0] - rim, range[1] + rim);
    } else {
      this.show(...this.firstSpan());
    }
  }

  /* What is looked for, once it is another one. */
  look(text) {
    if (this.field && this.field.value !== text) {
      this.field.value = text;
    }
    if ((this.search ? this.search.text : '') !== text) {
      this.search = text === '' ? null : new Search(text, this.index.classes);
      this.found = null;
      this.tip.textContent = this.search ? foundText(this) : '';
    }
  }

  /* The ranks of a finding come first where not all ranks are in view. */
  pinFinding() {
    const words = selection.finding ? findingWords(selection.finding) : '';

    if (words !== this.findingPinned) {
      this.findingPinned = words;
      if (selection.finding && this.height > VIEW_TALLEST) {
        this.pinned = [...selection.ranks];
        this.layOut();
      }
      this.tip.textContent = words;
    }
  }

  follow() {
    this.look(selection.find);
    this.pinFinding();
    if (!this.isOwn && selection.range) {
      const [from, until] = selection.range;
      const to = this.arrowEnd(from, until);

      this.show(from - (to - from) / 8, to + (to - from) / 8);
    }
    if (this.lanesOfRank.size > RANKS_OPEN) {
      this.layOut();
    }
    if (selection.ranks.length > 0 && this.rankAt.has(selection.ranks[0])) {
      this.box.scrollTop = Math.max(0, this.rankAt.get(selection.ranks[0]) - VIEW_TALLEST / 2);
    }
    this.soon();
  }

  at(event) {
    const box = this.canvas.getBoundingClientRect();

    return [event.clientX - box.left, event.clientY - box.top];
  }

  listen() {
    const {canvas} = this;

    canvas.addEventListener('wheel', event => {
      if (event.ctrlKey) {
        event.preventDefault();
        this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.ns(this.at(event)[0]));
      } else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        event.preventDefault();
        this.move((event.deltaX || event.deltaY) / 1000);
      }
    }, {passive: false});
    canvas.addEventListener('pointerdown', event => {
      this.drag = {x: this.at(event)[0], span: [...this.span], isPan: event.shiftKey || event.button === 1};
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener('pointermove', event => this.moved(event));
    canvas.addEventListener('pointerup', event => {
      const hit = this.drag && Math.abs(this.at(event)[0] - this.drag.x) < 3 ? this.hit(...this.at(event)) : null;

      this.drag = null;
      if (hit && hit.i >= 0) {
        this.picked = {row: hit.row, at: hit.level.start[hit.i]};
        this.chain = [];
        this.choose(hit.level.start[hit.i], hit.level.end[hit.i]);
      }
    });
    canvas.addEventListener('dblclick', () => this.fit());
    this.box.addEventListener('scroll', () => {
      this.top = this.box.scrollTop;
      this.soon();
    });
    new ResizeObserver(() => this.soon()).observe(this.box);
    onScheme(this, 'recolour');
    this.listenToKeys();
    if (this.isOfPage) {
      this.listenToPage();
      onSelect(() => this.follow());
    }
  }

  recolour() {
    this.colours = palette();
    this.cache = null;
    this.soon();
  }

  moved(event) {
    this.cursor = this.at(event);
    if (this.drag && this.drag.isPan) {
      const by = (this.drag.x - this.cursor[0]) / (this.width - this.gutter) * (this.drag.span[1] - this.drag.span[0]);

      this.show(this.drag.span[0] + by, this.drag.span[1] + by);
    } else if (this.drag && Math.abs(this.cursor[0] - this.drag.x) >= 3) {
      const ends = [this.ns(this.drag.x), this.ns(this.cursor[0])].sort((a, b) => a - b);

      this.choose(...ends);
    } else {
      const hit = this.hit(...this.cursor);

      this.tip.textContent = hit ? this.describe(hit) : '';
    }
  }

  listenToKeys() {
    const arrows = {ArrowLeft: () => this.move(-0.2), ArrowRight: () => this.move(0.2),
      ArrowUp: () => this.zoom(0.7), ArrowDown: () => this.zoom(1.4)};

    this.canvas.addEventListener('keydown', event => {
      if (arrows[event.key] && !event.ctrlKey && !event.metaKey && !event.altKey) {
        event.preventDefault();
        arrows[event.key]();
      }
    });
  }

  listenToPage() {
    onKey('KeyW', 'w', 'timeline: zoom in at the cursor', () => this.zoom(0.7));
    onKey('KeyS', 's', 'timeline: zoom out', () => this.zoom(1.4));
    onKey('KeyA', 'a', 'timeline: earlier', () => this.move(-0.2));
    onKey('KeyD', 'd', 'timeline: later', () => this.move(0.2));
    onKey('KeyF', 'f', 'timeline: fit what is selected', () => this.fit());
    onKey('Digit0', '0', 'timeline: the whole run', () => this.show(...this.whole));
    listenToTimelineKeys(this);
  }
}

/* The timeline of this page, for who has more of it. */
let theTimeline = null;
let theRaster = null; /* of many ranks */

view('timeline', 'Timeline', async (report, body) => {
  const data = await readLanes();

  if (!data) {
    return 'this page was written without a timeline';
  }
  if (!data.lanes.some(lane => lane.info.items > 0)) {
    return 'nothing that takes time was recorded';
  }
  const timeline = new Timeline(report, data, true);

  const raster = await readRaster();

  theTimeline = timeline;
  if (raster) {
    theRaster = new Raster(raster);
    body.append(theRaster.node);
    theRaster.draw();
  }
  body.append(timeline.node);
  timeline.draw();
  return undefined;
});
