/* heat.js - a grid of cells by colour, with a table of the same figures
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/* Shades of one hue in the style sheet, from the ground's lightness to its opposite,
 * so that nothing is pale in both schemes, and all eyes read it. */
const HEATS = 7;

/* The colour of a part of 1 in the scheme of now; null = no value. What is not 0 never
 * looks like it. */
function heatColours() {
  const {colour} = palette();

  return part => (part === null || Number.isNaN(part) ? colour('heat-none') :
    colour('heat-' + Math.min(HEATS - 1, Math.max(part > 0 ? 1 : 0, Math.floor(part * HEATS)))));
}

const HEAT_SIZE = 12; /* of names */
const CELLS_WIDE = 1100;
const CELL_LEAST = 2; /* pixels of a cell */
const CELL_MOST = 90; /* where rows are too many to be named, of few columns */
/* Rows and columns of a grid that has names beside it, at most, and their room. */
const NAMED_MOST = 40;
const NAME_LEAST = 124;
const NAME_MOST = 190;
const LETTER_WIDE = 7; /* of a name, about */
const NAME_HIGH = 20;
/* Pixels from one mark to the next, at least. */
const MARK_WIDE = 70;

/* A grid {name, rows, columns, part(row, column), label(row, column),
 * choose(row, column), choosePart(first column, last column) or
 * chooseBetween(cell, cell) for a drag, and of a small one rowName(row), columnName(column); of
 * any mark(column), which some columns have above them; tallest, in pixels; isLeaving:
 * what is chosen is shown elsewhere}.
 * Of more columns than have room a cell shows the largest of those that fall on it. */
class HeatGrid {
  constructor(grid) {
    this.grid = grid;
    this.isNamed = grid.rowName !== undefined && grid.rows <= NAMED_MOST;
    this.left = this.isNamed ? this.nameWide() : 0;
    this.across = Math.min(grid.columns, Math.floor((CELLS_WIDE - this.left) / CELL_LEAST));
    this.hasNames = grid.columnName !== undefined && grid.columns <= NAMED_MOST;
    this.top = this.hasNames || grid.mark !== undefined ? NAME_HIGH : 0;
    this.width = Math.max(CELL_LEAST, Math.min(this.hasNames ? 40 : this.isNamed ? 28 : CELL_MOST, Math.floor((CELLS_WIDE - this.left) / this.across)));
    this.height = Math.max(2, Math.min(22, Math.floor((grid.tallest || 700) / grid.rows)));
    this.at = [0, 0];
    this.tip = el('p', {class: 'quiet tip', 'aria-live': 'polite'}, grid.hint || '');
    this.canvas = el('canvas', {tabindex: 0, role: 'img', 'aria-label': grid.name,
      width: this.left + this.across * this.width, height: this.top + grid.rows * this.height});
    this.listen();
    this.draw();
    this.node = el('div', {class: 'grid'}, el('div', {class: 'scroll'}, this.canvas), this.tip,
      el('div', {class: 'tools'}, pictureButtons(grid.name.replace(/[^a-z0-9]+/gi, '-').slice(0, 40), () => this)));
  }

  nameWide() {
    let letters = 0;

    for (let row = 0; row < this.grid.rows; row++) {
      letters = Math.max(letters, String(this.grid.rowName(row)).length);
    }
    return Math.min(NAME_MOST, Math.max(NAME_LEAST, letters * LETTER_WIDE + 8));
  }

  /* Columns of the grid that the k-th cell of a row shows. */
  span(k) {
    const {columns} = this.grid;

    return [Math.floor(k * columns / this.across),
      Math.max(Math.floor(k * columns / this.across) + 1, Math.floor((k + 1) * columns / this.across))];
  }

  largest(row, k) {
    const [first, behind] = this.span(k);
    let best = null, column = first;

    for (let i = first; i < behind; i++) {
      const part = this.grid.part(row, i);

      if (part !== null && (best === null || part > best)) {
        best = part;
        column = i;
      }
    }
    return [best, column];
  }

  names(context) {
    context.clearRect(0, 0, this.canvas.width, this.canvas.height);
    context.fillStyle = getComputedStyle(document.body).color;
    context.font = HEAT_SIZE + 'px system-ui, sans-serif';
    context.textBaseline = 'middle';
    for (let row = 0; this.isNamed && this.height > 11 && row < this.grid.rows; row++) {
      context.fillText(fitted(context, this.grid.rowName(row), this.left - 6, HEAT_SIZE), 0, this.top + (row + 0.5) * this.height);
    }
    for (let column = 0; this.hasNames && column < this.across; column++) {
      context.fillText(fitted(context, this.grid.columnName(column), this.width - 3, HEAT_SIZE), this.left + column * this.width + 2, this.top / 2);
    }
    if (this.grid.mark !== undefined) {
      this.marks(context);
    }
  }

  /* Every first, second, fifth, tenth ... column. */
  marks(context) {
    const {columns} = this.grid;
    const least = MARK_WIDE / this.width * columns / this.across, power = 10 ** Math.floor(Math.log10(least));
    const apart = Math.max(1, [1, 2, 5, 10].map(factor => factor * power).find(step => step >= least));

    for (let column = 0; column < columns; column += apart) {
      const x = this.left + Math.floor(column * this.across / columns) * this.width;
      const text = safe(this.grid.mark(column));

      context.fillRect(x, this.top - 5, 1, 4);
      if (x + 3 + context.measureText(text).width <= this.canvas.width) {
        context.fillText(text, x + 3, this.top / 2 - 1);
      }
    }
  }

  draw() {
    this.paint(this.canvas.getContext('2d'));
  }

  paint(context) {
    const colourOf = heatColours();

    this.names(context);
    for (let row = 0; row < this.grid.rows; row++) {
      for (let k = 0; k < this.across; k++) {
        context.fillStyle = colourOf(this.largest(row, k)[0]);
        context.fillRect(this.left + k * this.width, this.top + row * this.height,
          this.width > 4 ? this.width - 1 : this.width, this.height > 5 ? this.height - 1 : this.height);
      }
    }
  }

  cellAt(event) {
    const box = this.canvas.getBoundingClientRect();
    const clamp = (value, most) => Math.min(most - 1, Math.max(0, Math.floor(value)));

    return [clamp((event.clientY - box.top - this.top) / this.height, this.grid.rows),
      clamp((event.clientX - box.left - this.left) / this.width, this.across)];
  }

  say() {
    const [row, k] = this.at;

    this.tip.textContent = safe(this.grid.label(row, this.largest(row, k)[1]));
  }

  /* A cell as the grid has it. */
  cellOf([row, k]) {
    return [row, this.largest(row, k)[1]];
  }

  choose() {
    if (this.grid.isLeaving) {
      this.grid.choose(...this.cellOf(this.at));
    } else if (this.grid.choose) {
      inPlace(this.canvas, () => this.grid.choose(...this.cellOf(this.at)));
    }
  }

  move(rows, cells) {
    this.at = [Math.min(this.grid.rows - 1, Math.max(0, this.at[0] + rows)),
      Math.min(this.across - 1, Math.max(0, this.at[1] + cells))];
    this.say();
  }

  /* From the cell where the button was pressed to the one where it was let go. */
  chooseDragged(first, last) {
    const [from, to] = [first[1], last[1]].sort((a, b) => a - b);

    if (this.grid.choosePart) {
      this.grid.choosePart(this.span(from)[0], this.span(to)[1] - 1);
    } else {
      this.grid.chooseBetween(this.cellOf(first), this.cellOf(last));
    }
  }

  /* Is it a drag that means something here? In a column of parts a row is another one. */
  isDrag(first) {
    return first !== null && ((this.grid.choosePart && first[1] !== this.at[1]) ||
      (this.grid.chooseBetween && (first[0] !== this.at[0] || first[1] !== this.at[1])));
  }

  listenToMouse() {
    let began = null;

    this.canvas.addEventListener('pointerdown', event => {
      began = this.cellAt(event);
      this.canvas.setPointerCapture(event.pointerId); /* so that it may end beside the grid */
    });
    this.canvas.addEventListener('click', event => {
      const first = began;

      this.at = this.cellAt(event);
      began = null;
      if (this.isDrag(first)) {
        inPlace(this.canvas, () => this.chooseDragged(first, this.at));
      } else {
        this.choose();
      }
    });
  }

  listen() {
    const moves = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]};

    onScheme(this);
    this.canvas.addEventListener('mousemove', event => {
      this.at = this.cellAt(event);
      this.say();
    });
    this.listenToMouse();
    this.canvas.addEventListener('keydown', event => {
      if (moves[event.key]) {
        this.move(...moves[event.key]);
        event.preventDefault();
      } else if (event.key === 'Enter') {
        this.choose();
      }
    });
  }
}

/* `none`: what a cell without a value means; undefined = each has one. */
function heatLegend(from, to, none) {
  return el('p', {class: 'quiet heatlegend'}, from + ' ',
    Array.from({length: HEATS}, (_, i) => el('span', {class: 'swatch heat-' + i})), ' ' + to,
    none ? [el('span', {class: 'swatch heat-none'}), ' ' + none] : null);
}
