/* search.js - items of the timeline by their names: found, counted, gone to
 *
 * SPDX-License-Identifier: Apache-2.0
 */
const FOUND_LEAST = 2; /* pixels of an item that was found */

/* What matches among the names of a lane and the classes of a timeline. */
class Search {
  constructor(text, classes) {
    this.text = text;
    this.isHeld = text === heldExpression;
    this.matches = nameMatcher(text, this.isHeld);
    this.kinds = classes.map(name => this.matches !== null && this.matches(name));
    this.known = new Map(); /* of each list of names: does it match */
  }

  flagsOf(names) {
    if (!this.known.has(names)) {
      this.known.set(names, names.map(({alone, label}) => this.matches !== null && (this.matches(alone) || this.matches(label))));
    }
    return this.known.get(names);
  }

  /* `isFound(i)` of the items of a level. */
  of(level) {
    const flags = this.flagsOf(level.names);
    const {kinds} = this;

    return i => (level.name[i] > 0 ? flags[level.name[i] - 1] : kinds[level.kind[i]]);
  }
}

/* All that is known of a row's lane where all of the view is: its finest level. */
function finestInView(timeline, row) {
  return timeline.levelAt(row.lane, (timeline.span[0] + timeline.span[1]) / 2, 0);
}

/* The items that were found, over what is pale. */
function drawFound(timeline, context, row, y) {
  const level = finestInView(timeline, row), isFound = timeline.search.of(level);
  const [begin, behind] = timeline.span;
  const boxes = [];
  let last = -1;

  for (let i = firstBehind(level, begin); i < level.count && level.start[i] < behind; i++) {
    if (isFound(i)) {
      const from = Math.max(Math.floor(timeline.x(level.start[i])), timeline.gutter);
      const to = Math.min(Math.max(Math.floor(timeline.x(level.end[i])), from + FOUND_LEAST), timeline.width);

      if (to > last) {
        (boxes[level.kind[i]] || (boxes[level.kind[i]] = [])).push(from - timeline.gutter, to - from);
        last = to;
      }
    }
  }
  timeline.drawBoxes(context, row, y, boxes);
}

/* How many items of the rows that are shown have the name, and their time. */
function countFound(timeline) {
  let many = 0, busy = 0;

  for (const row of timeline.rows) {
    const level = timeline.wholeLevel(row.lane), isFound = timeline.search.of(level);

    for (let i = 0; i < level.count; i++) {
      if (isFound(i)) {
        many += level.many[i];
        busy += busyOf(level, i);
      }
    }
  }
  return {many, busy};
}

/* What was found, in words. */
function foundText(timeline) {
  const {search} = timeline;

  if (search.isHeld) {
    return 'The address of the page has this expression: Enter runs it.';
  }
  if (search.matches === null) {
    return 'That is no regular expression.';
  }
  const {many, busy} = countFound(timeline);

  return (many === 0 ? 'No item in the rows that are shown is named ' + safe(search.text) + '.' :
    count(many) + (many === 1 ? ' item, ' : ' items, ') + time(busy) + '. Enter: the next one; Shift+Enter: the one before.') +
    (timeline.level() > 0 ? ' Of items that are drawn together only the longest is looked at.' : '');
}

/* Of the items of a row that begin behind `at` the first one, or before it the last;
 * -1 = none. */
function foundIn(level, isFound, at, isBack) {
  if (isBack) {
    for (let i = Math.min(firstBehind(level, at), level.count - 1); i >= 0; i--) {
      if (level.start[i] < at && isFound(i)) {
        return i;
      }
    }
    return -1;
  }
  for (let i = firstBehind(level, at); i < level.count; i++) {
    if (level.start[i] > at && isFound(i)) {
      return i;
    }
  }
  return -1;
}

/* The item that was gone to last, if it is still what is selected. */
function foundBefore(timeline, isBack) {
  const {found, span} = timeline;

  if (found && selection.range && selection.range[0] === found.from && selection.range[1] === found.to) {
    return found;
  }
  return {from: selection.range ? selection.range[0] + (isBack ? 0 : -1) : isBack ? span[1] : span[0] - 1,
    row: isBack ? timeline.rows.length : -1};
}

/* Items that begin at the same time come by their rows. */
function nextFound(timeline, isBack) {
  const {from: at, row: atRow} = foundBefore(timeline, isBack);
  const step = isBack ? -1 : 1;
  let best = null;

  timeline.rows.forEach((row, place) => {
    const level = timeline.wholeLevel(row.lane), isFound = timeline.search.of(level);
    const isBehind = step * (place - atRow) > 0;
    const i = foundIn(level, isFound, isBehind ? at - step * 0.5 : at, isBack);

    if (i >= 0 && (best === null || step * (level.start[i] - best.from) < 0 || (isBack && level.start[i] === best.from))) {
      best = {from: level.start[i], to: Math.max(level.end[i], level.start[i] + 1), row: place, hit: {row, level, i}};
    }
  });
  return best;
}

/* Go to the next item that was found, or to the one before. */
function goToFound(timeline, isBack) {
  const next = timeline.search && timeline.search.matches ? nextFound(timeline, isBack) : null;

  if (!next) {
    timeline.tip.textContent = timeline.search ? (isBack ? 'There is none before.' : 'There is none behind.') : '';
    return;
  }
  timeline.found = next;
  timeline.choose(next.from, next.to);
  timeline.reveal(next.from, next.to, timeline.rows[next.row]);
  timeline.tip.textContent = timeline.describe(next.hit);
}

/* The reader wants the expression of the address. */
function runHeld(timeline) {
  if (heldExpression !== '') {
    heldExpression = '';
    timeline.search = null;
    timeline.look(selection.find);
    timeline.soon();
  }
}

/* The field of a timeline. What is made of an expression of the address waits for Enter, too. */
function searchField(timeline) {
  const field = el('input', {type: 'search', class: 'find', placeholder: 'find a name, or /expression/',
    'aria-label': 'find items of the timeline by their name', title: 'Enter: the next one; Shift+Enter: the one before (key /)'});

  field.addEventListener('input', () => {
    heldExpression = heldExpression === '' ? '' : field.value;
    select({find: field.value});
  });
  field.addEventListener('keydown', event => {
    if (event.key === 'Enter') {
      event.preventDefault();
      runHeld(timeline);
      goToFound(timeline, event.shiftKey);
    } else if (event.key === 'Escape') {
      select({find: ''});
      field.blur();
    }
  });
  return field;
}

/* Show all items of that name, from a table; {end}: those whose names end so, "(train.c:7)". */
function showNamed(name) {
  visit({find: typeof name === 'string' ? '"' + name + '"' : name.end, range: null, ranks: [], cause: '', finding: ''}, 'timeline');
  if (theTimeline) {
    theTimeline.show(...theTimeline.firstSpan());
  }
}
