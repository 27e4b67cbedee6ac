/* flame.js - views 8 and 9: flame graphs, and a heat map of the run's seconds
 * whose range drives them
 *
 * SPDX-License-Identifier: Apache-2.0
 */
const FLAME_ROW = 18;
const FLAME_SIZE = 12; /* of its names */
const FLAME_LEAST = 1.5; /* pixels of a frame that is drawn */
const FLAME_LISTED = 200;
const SECONDS_TALLEST = 300;
/* Each kind has a hue of its own group; names differ by lightness. */
const FLAME_HUES = {cpu: 28, offcpu: 285, device: 165, idle: 15};

/* Light enough for black text; less light in the dark. */
function flameColour(kind, name) {
  const hash = hashOfName(name);
  const hue = FLAME_HUES[kind] + hash % 30 - 15;

  return `hsl(${hue} ${55 + (hash >> 8) % 20}% ${68 + (hash >> 16) % 14}%)`;
}

/* Blue = less than in the other run, red = more, by the change of the time that
 * is the frame's own. */
const differencePart = (node, whole) => Math.min(1, Math.abs(node.own - node.wasOwn) / (whole || 1) * 12);

function differenceColour(node, whole) {
  const change = node.own - node.wasOwn;
  const part = differencePart(node, whole);
  const strong = change > 0 ? [178, 24, 43] : [33, 102, 172];

  return 'rgb(' + strong.map(c => Math.round(245 + (c - 245) * part)).join(' ') + ')';
}

class FlameGraph {
  constructor(flames) {
    this.flames = flames;
    this.other = null; /* of another run */
    this.kind = (flames.kinds.find(kind => kind.total > 0) || flames.kinds[0]).name;
    this.areRanksOne = true;
    this.isIcicle = true;
    this.zoomed = null;
    this.sandwich = null; /* name of the function in the middle */
    this.at = null; /* frame under the cursor or the keys */
    this.hidden = []; /* names that are left out */
    this.isScaled = false; /* the other run's time is made as long as this one's */
    this.find = '';
    this.functions = new Map(); /* names of the frames of each kind that was asked for */
    this.canvas = el('canvas', {tabindex: 0, role: 'img', 'aria-label':
      'flame graph; arrow keys move between frames, Enter zooms, c shows callers and callees; below it is a table of its functions'});
    this.tip = el('p', {class: 'quiet tip', 'aria-live': 'polite'});
    this.note = el('p', {class: 'quiet'});
    this.box = el('div', {class: 'flames'}, this.canvas);
    this.node = el('div', null, this.tools(), this.box, this.tip, this.note, this.list());
    this.listen();
    this.build();
  }

  tools() {
    const search = el('input', {type: 'search', class: 'find', placeholder: 'find a function, or /expression/', 'aria-label': 'find a function in the flame graph'});

    search.addEventListener('input', () => {
      this.find = search.value;
      this.draw();
    });
    this.search = search;
    this.kindButtons = this.flames.kinds.filter(kind => kind.total > 0).map(kind =>
      button(FLAME_KINDS[kind.name], () => this.change({kind: kind.name, zoomed: null, sandwich: null}),
        {title: FLAME_WORDS[kind.name], 'data-kind': kind.name}));
    this.ranksButton = button('', () => this.change({areRanksOne: !this.areRanksOne, zoomed: null}), {title: 'all ranks as one, or each rank for itself'});
    this.shapeButton = button('', () => this.change({isIcicle: !this.isIcicle}), {title: 'from the outermost function down, or up'});
    this.sandwichButton = button('Callers and callees', () => this.toggleSandwich(), {title: 'of the function that was chosen last (key c)'});
    this.hideButton = button('Hide function', () => this.hide(), {title: 'leave out all stacks with the function that was chosen last'});
    this.scaleButton = button('', () => this.change({isScaled: !this.isScaled}), {title: 'compare times, or shares of the whole'});
    this.scaleButton.hidden = true;
    this.resetButton = button('Reset', () => this.change({zoomed: null, sandwich: null, hidden: []}), {title: 'show the whole graph'});
    return el('div', {class: 'tools', role: 'toolbar', 'aria-label': 'flame graph'}, this.kindButtons, search, this.ranksButton,
      this.shapeButton, this.sandwichButton, this.hideButton, this.scaleButton, this.resetButton,
      ...pictureButtons('flame-graph', () => this));
  }

  list() {
    const body = el('div');
    const details = el('details', null, el('summary', null, 'functions, as a table'), body);

    details.addEventListener('toggle', () => {
      if (details.open) {
        body.replaceChildren(this.table());
      }
    });
    this.listed = {details, body};
    return details;
  }

  change(what) {
    Object.assign(this, what);
    this.build();
  }

  compareWith(flames) {
    this.moved = flames ? movedFrames(this.flames.frames, flames.frames) : new Map();
    this.movedFrom = new Map([...this.moved].map(([there, here]) => [here, there]));
    this.change({other: flames, zoomed: null});
  }

  choice() {
    return {range: selection.range, ranks: selection.ranks, areRanksOne: this.areRanksOne};
  }

  visible(stacks) {
    return this.hidden.length === 0 ? stacks : stacks.filter(([frames]) => !this.hidden.some(name => frames.includes(name)));
  }

  /* The stacks of the other run; its time is its own, so no range is of it. */
  otherStacks(stacks) {
    if (!this.other) {
      return null;
    }
    const others = this.visible(stacksOf(this.other, this.kind, {...this.choice(), range: null})
      .map(([frames, ns]) => [frames.map(frame => this.moved.get(frame) ?? frame), ns]));
    const [here, there] = [stacks, others].map(list => sumOf(list, one => one[1]));

    return this.isScaled && there > 0 ? others.map(([frames, ns]) => [frames, ns * here / there]) : others;
  }

  /* Trees of what is chosen: one, or callers above callees. */
  build() {
    const stacks = this.visible(stacksOf(this.flames, this.kind, this.choice()));
    const others = this.otherStacks(stacks);
    const name = FLAME_WORDS[this.kind];

    if (this.sandwich !== null) {
      const mine = sandwichStacks(stacks, this.sandwich);
      const theirs = others ? sandwichStacks(others, this.sandwich) : [null, null];

      this.trees = [treeOf('callers', mine[0], theirs[0]), treeOf('callees', mine[1], theirs[1])];
    } else {
      this.trees = [treeOf(name, stacks, others)];
    }
    this.whole = treeOf(name, stacks, others);
    if (this.zoomed) {
      this.zoomed = this.again(this.zoomed);
    }
    this.at = null;
    this.tip.textContent = '';
    this.kindButtons.forEach(one => one.setAttribute('aria-pressed', String(one.dataset.kind === this.kind)));
    this.ranksButton.textContent = this.areRanksOne ? 'Split by rank' : 'Join ranks';
    this.scaleButton.hidden = !this.other;
    this.scaleButton.textContent = this.isScaled ? 'Compare times' : 'Compare shares';
    this.shapeButton.textContent = this.isIcicle ? 'Grow upwards' : 'Grow downwards';
    this.draw();
    if (this.listed.details.open) {
      this.listed.body.replaceChildren(this.table());
    }
  }

  /* The node of the same path in the new tree, or the last one there is. */
  again(node) {
    const names = [];
    let at = this.trees[0];

    for (let one = node; one.above; one = one.above) {
      names.unshift(one.name);
    }
    for (const name of names) {
      if (!at.below.has(name)) {
        return null;
      }
      at = at.below.get(name);
    }
    return at === this.trees[0] ? null : at;
  }

  /* Rows of one tree: of a zoomed one what is around the frame is as wide. */
  rowsOf(tree) {
    const least = FLAME_LEAST / this.width;
    const zoomed = this.zoomed && this.trees[0] === tree ? this.zoomed : null;

    if (!zoomed) {
      return layOutFlames(tree, least);
    }
    const rows = layOutFlames(zoomed, least);

    for (let node = zoomed.above; node; node = node.above) {
      rows[node.depth] = [{node, from: 0, wide: 1, isAround: true}];
    }
    return rows;
  }

  draw() {
    const ratio = window.devicePixelRatio || 1;

    if (!this.node.isConnected) {
      return; /* it is drawn when it is in the page */
    }
    this.width = Math.max(200, this.box.clientWidth || 1000);
    const parts = this.trees.map(tree => this.rowsOf(tree));
    const rows = parts.reduce((sum, part) => sum + part.length, 0);

    this.tall = rows * FLAME_ROW + 2;
    this.canvas.width = this.width * ratio;
    this.canvas.height = this.tall * ratio;
    this.canvas.style.width = this.width + 'px';
    this.canvas.style.height = this.tall + 'px';
    this.place(parts);
    const context = this.canvas.getContext('2d');

    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.paint(context);
    this.say(nameMatcher(this.find));
  }

  /* Where each frame is. */
  place(parts) {
    this.boxes = [];
    let first = 0;

    parts.forEach((part, i) => {
      /* Callers grow up from the middle, callees down from it. */
      const isUp = this.trees.length === 2 ? i === 0 : !this.isIcicle;

      part.forEach((row, depth) => {
        const y = (first + (isUp ? part.length - 1 - depth : depth)) * FLAME_ROW;

        row.forEach(box => this.boxes.push({...box, y, x: box.from * this.width, w: box.wide * this.width}));
      });
      first += part.length;
    });
  }

  paint(context) {
    const matches = nameMatcher(this.find);

    context.font = FLAME_SIZE + 'px system-ui, sans-serif';
    context.textBaseline = 'middle';
    this.boxes.forEach(box => this.drawBox(context, box, matches));
  }

  drawBox(context, box, matches) {
    const {node, x, y, w} = box;
    const isMatch = matches !== null && node.above && matches(node.name);
    const isDim = (matches !== null && !isMatch) || box.isAround;

    context.globalAlpha = isDim ? 0.4 : 1;
    context.fillStyle = this.other ? differenceColour(node, this.whole.ns) :
      node.above ? flameColour(this.kind, node.name) : '#c9ced4';
    context.fillRect(x, y, Math.max(1, w - 1), FLAME_ROW - 1);
    context.globalAlpha = 1;
    if (isMatch || this.at === node) {
      context.strokeStyle = getComputedStyle(document.body).color;
      context.lineWidth = 2;
      context.strokeRect(x + 1, y + 1, Math.max(1, w - 3), FLAME_ROW - 3);
    }
    if (w > 24) {
      context.fillStyle = this.other && differencePart(node, this.whole.ns) > 0.5 ? '#ffffff' : '#1b1f23';
      context.fillText(fitted(context, node.name, w - 7, FLAME_SIZE), x + 4, y + FLAME_ROW / 2);
    }
  }

  say(matches) {
    const {whole} = this;
    const parts = [];
    const kind = this.flames.kinds.find(one => one.name === this.kind);

    if (this.sandwich !== null) {
      parts.push('Above: who called ' + safe(this.sandwich) + '. Below: what it called.');
    }
    if (this.hidden.length > 0) {
      parts.push('Left out: stacks with ' + this.hidden.map(safe).join(', ') + '.');
    }
    if (matches !== null) {
      const ns = matchedTime(whole, matches);

      parts.push('Found: ' + percent(ns, whole.ns) + ' (' + time(ns) + ').');
    } else if (this.find !== '') {
      parts.push('That is no regular expression.');
    }
    if (this.other) {
      parts.push('Red: more time of its own than in the other run (' + time(whole.ns) + ' here, ' + time(whole.was) +
        ' there); blue: less; the width is the larger of both.');
    }
    if (selection.range) {
      parts.push('Of the selected time, in parts of ' + time(this.flames.index.width_ns * this.flames.index.wide) + '.');
    }
    if (kind && kind.left > 0) {
      parts.push(count(kind.left) + ' stacks with little time are one, "other stacks".');
    }
    if (whole.ns === 0) {
      parts.push('Nothing of this kind in what is selected.');
    }
    this.note.textContent = parts.join(' ');
  }

  describe(node) {
    const all = this.whole.ns;
    const other = this.other ? '; in the other run ' + time(node.was) + ', change of its own time ' +
      signed(node.own - node.wasOwn, time) + (this.movedFrom.has(node.name) ? ', as ' + this.movedFrom.get(node.name) : '') : '';

    return node.name + ': ' + time(node.ns) + ', ' + percent(node.ns, all) + (node.below.size > 0 && node.own > 0 ?
      ', ' + time(node.own) + ' of it its own' : '') + other;
  }

  hit(event) {
    const box = this.canvas.getBoundingClientRect();
    const x = event.clientX - box.left, y = event.clientY - box.top;

    return this.boxes.find(one => x >= one.x && x < one.x + Math.max(1, one.w) && y >= one.y && y < one.y + FLAME_ROW) || null;
  }

  point(node) {
    if (this.at !== node) {
      this.at = node;
      this.draw();
      this.tip.textContent = node ? safe(this.describe(node)) : '';
    }
  }

  zoom(node) {
    if (this.sandwich === null) {
      const isTop = !node.above;

      this.last = isTop ? null : node.name;
      this.zoomed = isTop || this.zoomed === node ? null : node;
      this.draw();
      this.tip.textContent = safe(this.describe(node));
    } else if (node.above) {
      this.last = node.name;
      this.change({sandwich: node.name});
    }
  }

  chosenName() {
    return (this.at && this.at.above && this.at.name) || this.last || null;
  }

  toggleSandwich() {
    const name = this.chosenName();

    if (this.sandwich !== null) {
      this.change({sandwich: null});
    } else if (name) {
      this.change({sandwich: name, zoomed: null});
    } else {
      this.tip.textContent = 'Choose a function first: click its frame.';
    }
  }

  hide() {
    const name = this.chosenName();

    if (name) {
      this.last = null;
      this.change({hidden: [...this.hidden, name], zoomed: null, sandwich: null});
    } else {
      this.tip.textContent = 'Choose a function first: click its frame.';
    }
  }

  /* To the frame beside, around or within the one that the keys are on. */
  step(key) {
    const index = this.boxes.findIndex(box => box.node === this.at);
    const box = this.boxes[index];

    if (!box) {
      this.point(this.boxes.length > 0 ? this.boxes[0].node : null);
      return;
    }
    const dy = key === 'ArrowDown' ? FLAME_ROW : key === 'ArrowUp' ? -FLAME_ROW : 0;
    const middle = box.x + Math.min(box.w / 2, 3);
    const row = this.boxes.filter(one => one.y === box.y + dy).sort((a, b) => a.x - b.x);
    const to = dy !== 0 ? row.find(one => one.x + one.w > middle) || row[row.length - 1] :
      row[row.indexOf(box) + (key === 'ArrowRight' ? 1 : -1)];

    if (to) {
      this.point(to.node);
    }
  }

  listen() {
    const {canvas} = this;

    canvas.addEventListener('mousemove', event => this.point((this.hit(event) || {node: null}).node));
    canvas.addEventListener('click', event => {
      const box = this.hit(event);

      if (box) {
        this.zoom(box.node);
      }
    });
    canvas.addEventListener('keydown', event => {
      if (event.ctrlKey || event.metaKey || event.altKey) {
        return;
      }
      if (event.key.startsWith('Arrow')) {
        this.step(event.key);
      } else if (event.key === 'Enter' && this.at) {
        this.zoom(this.at);
      } else if (event.code === 'KeyC') {
        this.toggleSandwich();
      } else {
        return;
      }
      event.preventDefault();
      event.stopPropagation();
    });
    new ResizeObserver(() => {
      if (this.box.clientWidth > 0 && this.box.clientWidth !== this.width) {
        this.draw();
      }
    }).observe(this.box);
    onScheme(this);
    onSelect(() => this.follow());
  }

  /* Stacks are added up anew where others are selected. */
  follow() {
    const chosen = JSON.stringify([selection.range, selection.ranks]);

    if (this.chosen !== chosen) {
      this.chosen = chosen;
      /* What is below it stays where it is. */
      this.box.style.minHeight = selection.range ? this.box.offsetHeight + 'px' : '';
      this.build();
    }
  }

  /* Are there frames of a function in the graph of a kind? */
  hasFrameOf(name, kind) {
    if (!this.functions.has(kind)) {
      this.functions.set(kind, namesOfKind(this.flames, kind));
    }
    return this.functions.get(kind).has(name);
  }

  /* A function, from a table: its frames are marked in the graph of a kind that has it. */
  lookFor(name, kind) {
    this.find = this.search.value = '"' + name + '"';
    this.change({kind, zoomed: null, sandwich: null, hidden: []});
    visit({}, 'flames');
  }

  /* Time of each function, wherever it was called. */
  table() {
    const sums = new Map();
    const around = new Set(); /* names of the frames around a node */
    const walk = node => {
      const isFirst = node.above && !around.has(node.name);

      if (node.above) {
        const sum = sums.get(node.name) || {name: node.name, ns: 0, own: 0, was: 0};

        sum.own += node.own;
        if (isFirst) {
          sum.ns += node.ns;
          sum.was += node.was;
        }
        sums.set(node.name, sum);
      }
      if (isFirst) {
        around.add(node.name);
      }
      node.below.forEach(walk);
      if (isFirst) {
        around.delete(node.name);
      }
    };

    walk(this.whole);
    const rows = [...sums.values()].sort((a, b) => b.own - a.own).slice(0, FLAME_LISTED);

    return table('functions of the flame graph', [headColumn('function', row => row.name),
      timeColumn('its own', row => row.own, true), timeColumn('with what it called', row => row.ns),
      shareColumn('share', row => row.ns, this.whole.ns || 1),
      ...(this.other ? [timeColumn('there', row => row.was)] : [])], rows, {choose: row => {
      this.last = row.name;
      this.change({sandwich: row.name, zoomed: null});
    }});
  }
}

/* ---- view 9: the seconds of the run beside each other -------------------- */

/* Rows of a column, and where in which column a cell is. */
function secondsGrid(flames, kind) {
  const {start_ns: start, column_ns: long, width_ns: width, cells} = flames.index;
  const rows = Math.max(1, Math.round(long / width));
  const columns = Math.ceil(cells / rows);
  const timeOf = (row, column) => start + (column * rows + row) * width;

  return {rows, columns, width, long, timeOf,
    part: (row, column) => (column * rows + row < cells ? kind.shades[column * rows + row] / 255 : null),
    about: (row, column) => (kind.shades[column * rows + row] || 0) / 255 * kind.largest};
}

function secondsMap(flames, kind) {
  const grid = secondsGrid(flames, kind);
  let begin = null;
  const between = (first, last) => {
    const [from, to] = [grid.timeOf(...first), grid.timeOf(...last)].sort((a, b) => a - b);

    begin = null;
    select({range: [from, to + grid.width]});
  };
  const hint = 'Across: the run, a column for each ' + time(grid.long) + '. Down: the parts of it, from its begin to its end. ' +
    'Drag, or click twice: select the time between, for the flame graph and the timeline.';
  const isBegun = () => begin !== null && selection.range !== null && selection.range[0] === grid.timeOf(...begin);
  const label = (row, column) => {
    const at = Math.max(0, grid.timeOf(row, column));

    return 'from ' + time(at) + ' to ' + time(at + grid.width) + ': ' +
      (grid.about(row, column) > 0 ? 'about ' + time(grid.about(row, column)) : 'no') + ' ' + FLAME_WORDS[kind.name] +
      (isBegun() ? '; a click here ends the range' : '');
  };

  return new HeatGrid({
    name: FLAME_WORDS[kind.name] + ' in each part of each ' + time(grid.long), rows: grid.rows, columns: grid.columns,
    hint, part: grid.part, label, tallest: SECONDS_TALLEST, mark: column => time(Math.max(0, grid.timeOf(0, column))),
    chooseBetween: between,
    choose: (row, column) => {
      if (isBegun()) {
        between(begin, [row, column]);
      } else {
        between([row, column], [row, column]);
        begin = [row, column];
      }
    },
  }).node;
}

/* The fullest cells as a table. */
function secondsList(flames, kind) {
  const {start_ns: start, width_ns: width} = flames.index;
  const cells = Array.from(kind.shades, (shade, cell) => ({from: start + cell * width, ns: shade / 255 * kind.largest}))
    .sort((a, b) => b.ns - a.ns).slice(0, FLAME_LISTED);
  const body = el('div');
  const details = el('details', null, el('summary', null, 'the fullest parts, as a table'), body);

  details.addEventListener('toggle', () => body.replaceChildren(table('parts of the run with most ' + FLAME_WORDS[kind.name],
    [timeColumn('from', cell => cell.from), {...timeColumn('about', cell => cell.ns, true), isHead: true}], cells,
    {choose: cell => select({range: [cell.from, cell.from + width]})})), {once: true});
  return details;
}

function secondsPart(flames) {
  const kinds = flames.kinds.filter(kind => kind.total > 0 && kind.shades);
  const body = el('div');
  const show = kind => {
    buttons.forEach(one => one.setAttribute('aria-pressed', String(one.dataset.kind === kind.name)));
    body.replaceChildren(heatLegend('0', time(kind.largest), 'behind the end of the run'), secondsMap(flames, kind), secondsList(flames, kind));
  };
  const buttons = kinds.map(kind => button(FLAME_KINDS[kind.name], () => show(kind), {'data-kind': kind.name, title: FLAME_WORDS[kind.name]}));

  if (kinds.length === 0) {
    return null;
  }
  show(kinds[0]);
  return [el('div', {class: 'tools', role: 'toolbar', 'aria-label': 'heat map'}, buttons), body];
}

/* The flame graph of this page, for who compares. */
let flameGraph = null;

view('flames', 'Flame graphs', async (report, body) => {
  const flames = await readFlames();

  if (!flames) {
    return 'this page was written without stacks';
  }
  if (flames.kinds.every(kind => kind.total === 0)) {
    return 'no samples, no time off the CPU and no device work were recorded';
  }
  const missing = flames.kinds.filter(kind => kind.total === 0).map(kind => FLAME_WORDS[kind.name]);

  flameGraph = new FlameGraph(flames);
  body.append(el('p', {class: 'quiet'}, 'Width is time: the wider a frame, the longer it and what it called took. Click a frame to zoom in.' +
    (missing.length > 0 ? ' Not recorded in this run: ' + missing.join(', ') + '.' : '')), flameGraph.node);
  flameGraph.draw();
  return undefined;
});

view('seconds', 'Bursts over time', async (report, body) => {
  const parts = flameGraph ? secondsPart(flameGraph.flames) : null;

  if (!parts) {
    return 'no samples, no time off the CPU and no device work were recorded';
  }
  body.append(...parts);
  return undefined;
});
