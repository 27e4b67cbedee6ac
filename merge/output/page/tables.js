/* tables.js - tables that can be sorted, filtered, copied and saved
 *
 * SPDX-License-Identifier: Apache-2.0
 */
const ROWS_SHOWN = 20;

/* A column: {title, value(row), text(value, row), number, bar, isWhole}. `text` is how
 * the value is shown; `bar` draws its share of the largest one; `isWhole`: a command. */
function cellText(column, row) {
  const value = column.value(row);

  return column.text ? column.text(value, row) : value === null || value === undefined ? '-' : String(value);
}

/* A field of CSV. A text that a spreadsheet would take for a formula begins
 * with an apostrophe. */
function csvField(value) {
  let text = value === null || value === undefined ? '' : String(value);

  if (typeof value === 'string' && /^[=+\-@\t\r]/.test(text)) {
    text = "'" + text;
  }
  return /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
}

function csvOf(columns, rows) {
  const lines = [columns.map(column => csvField(column.csv || column.title)).join(',')];

  for (const row of rows) {
    lines.push(columns.map(column => csvField(column.value(row))).join(','));
  }
  return lines.join('\r\n') + '\r\n';
}

/* The rows as they are shown, for a spreadsheet or a mail. */
function tabbed(columns, rows) {
  const clean = text => safe(text).replaceAll('\t', ' ');

  return [columns.map(column => clean(column.title)),
    ...rows.map(row => columns.map(column => (column.isWhole ? escaped : clean)(cellText(column, row))))]
    .map(cells => cells.join('\t') + '\n').join('');
}

/* Save a text as a file. */
function save(name, text, type) {
  const link = el('a', {download: name});
  const address = URL.createObjectURL(new Blob([text], {type}));

  link.href = address;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

function compare(a, b) {
  if (typeof a === 'number' && typeof b === 'number') {
    return a - b;
  }
  if (a === null || a === undefined || b === null || b === undefined) {
    return (a === null || a === undefined ? 0 : 1) - (b === null || b === undefined ? 0 : 1);
  }
  return String(a).localeCompare(String(b));
}

/* The row that was chosen last, in whichever table. */
const picked = {row: null, line: null};

function pickRow(row, line) {
  if (picked.line) {
    picked.line.removeAttribute('aria-selected');
  }
  if (line) {
    line.setAttribute('aria-selected', 'true');
  }
  Object.assign(picked, {row, line});
}

/* State of one table, and what draws it. Options: `choose(row)` is what a click does,
 * `title` its name; a row without `isChoice(row)` cannot be chosen, where that is given. */
class Table {
  constructor(name, columns, rows, options) {
    this.name = name;
    this.columns = columns;
    this.rows = rows;
    this.options = options || {};
    this.sorted = -1; /* column; -1 = as given */
    this.isUp = false;
    this.filter = '';
    this.shown = ROWS_SHOWN;
    this.drawn = [];
    this.body = el('tbody');
    this.more = el('p', {class: 'quiet'});
    this.heads = columns.map((column, i) => this.head(column, i));
    const node = el('table', {'aria-label': name}, el('thead', null, el('tr', null, this.heads)), this.body);

    this.grid = new Grid(node);
    this.node = el('div', {class: 'table'}, this.tools(), el('div', {class: 'scroll'}, node), this.more);
    this.draw();
  }

  head(column, i) {
    return el('th', {scope: 'col', class: column.number ? 'number' : null, 'aria-sort': 'none'},
      button(column.title, () => this.sort(i), {title: 'sort by ' + column.title}));
  }

  tools() {
    const field = el('input', {
      type: 'search', placeholder: 'filter', 'aria-label': 'filter ' + this.name, class: 'filter'});

    field.addEventListener('input', () => {
      this.filter = field.value.toLowerCase();
      this.shown = ROWS_SHOWN;
      this.draw();
    });
    return el('div', {class: 'tools'}, this.rows.length > 3 ? field : null,
      button('CSV', () => save(this.name.replace(/[^a-z0-9]+/gi, '-').toLowerCase() + '.csv',
        csvOf(this.columns, this.chosen()), 'text/csv'), {title: 'save these rows as CSV'}),
      button('Copy', event => copyText(tabbed(this.columns, this.chosen()), event.currentTarget),
        {title: 'copy these rows, as they are shown'}));
  }

  /* Other rows, with the order and the filter as they are. A row that is among them again
   * stays the chosen one, and keeps the focus. */
  show(rows) {
    const isSame = this.options.isSame || Object.is;
    const [row, column] = this.grid.at, had = this.drawn[row - 1], isFocused = this.body.contains(document.activeElement);
    const again = one => rows.find(other => one && isSame(other, one));

    if (this.drawn.includes(picked.row)) {
      picked.row = again(picked.row) || null;
    }
    this.rows = rows;
    this.draw();
    if (isFocused && this.drawn.length > 0) {
      const place = this.drawn.indexOf(again(had));

      this.grid.go((place < 0 ? Math.min(row, this.drawn.length) : place + 1) - row, column - this.grid.at[1],
        {preventScroll: true});
    }
  }

  sort(i) {
    this.isUp = this.sorted === i ? !this.isUp : !this.columns[i].number;
    this.sorted = i;
    this.heads.forEach((head, k) => head.setAttribute('aria-sort',
      k !== i ? 'none' : this.isUp ? 'ascending' : 'descending'));
    this.draw();
  }

  /* The rows that pass the filter, in order. */
  chosen() {
    const rows = this.rows.filter(row => this.filter === '' ||
      this.columns.some(column => cellText(column, row).toLowerCase().includes(this.filter)));

    if (this.sorted >= 0) {
      const value = this.columns[this.sorted].value;

      rows.sort((a, b) => (this.isUp ? 1 : -1) * compare(value(a), value(b)));
    }
    return rows;
  }

  cell(column, row) {
    const text = cellText(column, row);
    const cell = el(column.isHead ? 'th' : 'td',
      {class: column.number ? 'number' : null, scope: column.isHead ? 'row' : null, title: text.length > 40 ? safe(text) : null},
      column.isWhole ? commandText(text) : text);

    if (column.bar && column.largest > 0) {
      cell.classList.add('barred');
      cell.append(el('span', {class: 'share', style: {
        width: (60 * Math.max(0, column.value(row)) / column.largest).toFixed(1) + 'px'}}));
    }
    return cell;
  }

  draw() {
    const rows = this.chosen();
    const some = rows.slice(0, this.shown);

    for (const column of this.columns) {
      column.largest = column.bar ? this.rows.reduce((m, row) => Math.max(m, column.value(row) || 0), 0) : 0;
    }
    this.drawn = some;
    this.body.replaceChildren(...some.map(row => {
      const line = el('tr', null, this.columns.map(column => this.cell(column, row)));

      if (this.options.choose && (!this.options.isChoice || this.options.isChoice(row))) {
        if (this.options.title) {
          line.title = this.options.title;
        }
        line.classList.add('choice');
        line.addEventListener('click', () => {
          this.options.choose(row);
          pickRow(row, line);
        });
        if (row === picked.row) {
          pickRow(row, line);
        }
      }
      return line;
    }));
    this.grid.renew();
    this.more.replaceChildren();
    this.more.hidden = rows.length <= some.length;
    if (rows.length > some.length) {
      this.more.append(count(rows.length - some.length) + ' more rows ',
        button('show', () => {
          this.shown += 10 * ROWS_SHOWN;
          this.draw();
        }));
    }
  }
}

const table = (name, columns, rows, options) => new Table(name, columns, rows, options).node;

/* Columns of the usual kinds. */
const textColumn = (title, value) => ({title, value});
const headColumn = (title, value) => ({title, value, isHead: true});
const timeColumn = (title, value, bar) => ({title, csv: title + ' (ns)', value, number: true, text: time, bar});
const countColumn = (title, value) => ({title, value, number: true, text: count});
const bytesColumn = (title, value) => ({title, csv: title + ' (bytes)', value, number: true, text: bytes});
const numberColumn = (title, value) => ({title, value, number: true, text: number});
