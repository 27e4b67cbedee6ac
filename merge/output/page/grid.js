/* grid.js - a table by keys: one cell at a time, and Tab goes past the rest
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Arrow keys go from cell to cell, Home and End along the row, with Ctrl to the first
 * and the last row, Page Up and Down ten rows; Enter does what a click does.
 */
const GRID_PAGE = 10; /* rows */

/* [rows, columns] that a key moves by, of a grid that ends at [last row, last column]. */
const GRID_MOVES = {
  ArrowUp: () => [-1, 0], ArrowDown: () => [1, 0], ArrowLeft: () => [0, -1], ArrowRight: () => [0, 1],
  PageUp: () => [-GRID_PAGE, 0], PageDown: () => [GRID_PAGE, 0],
  Home: (isAll, rows, columns) => [isAll ? -rows : 0, -columns], End: (isAll, rows, columns) => [isAll ? rows : 0, columns]};

class Grid {
  constructor(node) {
    this.node = node;
    this.at = [1, 0]; /* row, the head being the first one; column */
    node.setAttribute('role', 'grid');
    node.addEventListener('keydown', event => this.key(event));
    node.addEventListener('focusin', event => this.follow(event.target));
  }

  /* What has the focus where a cell is: a button in it, or itself. */
  target([row, column]) {
    const line = this.node.rows[Math.min(row, this.node.rows.length - 1)];
    const cell = line.cells[Math.min(column, line.cells.length - 1)];

    return cell.querySelector('button') || cell;
  }

  /* Of rows that were drawn anew, as long as there are some one can be reached by Tab. */
  renew() {
    for (const cell of this.node.querySelectorAll('th, td')) {
      (cell.querySelector('button') || cell).tabIndex = -1;
    }
    this.target(this.at).tabIndex = 0;
  }

  follow(focused) {
    const cell = focused.closest('th, td');

    if (cell) {
      this.target(this.at).tabIndex = -1;
      this.at = [cell.parentElement.rowIndex, cell.cellIndex];
      this.target(this.at).tabIndex = 0;
    }
  }

  go(rows, columns, how) {
    const within = (value, count) => Math.min(count - 1, Math.max(0, value));
    const row = within(this.at[0] + rows, this.node.rows.length);

    this.target([row, within(this.at[1] + columns, this.node.rows[row].cells.length)]).focus(how);
  }

  key(event) {
    const line = event.target.closest('tr');

    if (event.altKey || event.metaKey) {
      return;
    }
    if (event.key === 'Enter' && event.target.tagName !== 'BUTTON') {
      line.click();
      event.preventDefault();
    } else if (Object.hasOwn(GRID_MOVES, event.key) && (!event.ctrlKey || ['Home', 'End'].includes(event.key))) {
      this.go(...GRID_MOVES[event.key](event.ctrlKey, this.node.rows.length, line.cells.length));
      event.preventDefault();
    }
  }
}
