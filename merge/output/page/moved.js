/* moved.js - lines of code of two runs, between whose builds lines were added or taken
 * away
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/* Lines of one function that are tried with each other, at most. */
const LINES_TRIED = 300;

/* Pairs [here, there] of the sorted lines of one thing in one function. All by one distance
 * moved. Else, where both have a line, nothing did: samples may meet other lines in each run.
 * Else in order where there are as many of them, or those which one distance makes the same,
 * of the distance that has most of them. */
function pairedLines(here, there) {
  const counts = new Map([[0, 0]]), both = new Set(there), inOrder = here.map((line, i) => [line, there[i]]);
  const isShift = here.length === there.length && inOrder.every(([line, other]) => line - other === here[0] - there[0]);

  if (!isShift && here.some(line => both.has(line))) {
    return here.filter(line => both.has(line)).map(line => [line, line]);
  }
  if (here.length === there.length) {
    return inOrder;
  }
  for (const line of here.slice(0, LINES_TRIED)) {
    for (const other of there.slice(0, LINES_TRIED)) {
      counts.set(line - other, (counts.get(line - other) || 0) + 1);
    }
  }
  const [apart] = [...counts].sort((a, b) => b[1] - a[1] || Math.abs(a[0]) - Math.abs(b[0]))[0], known = new Set(there);

  return here.filter(line => known.has(line - apart)).map(line => [line, line - apart]);
}

/* Which line here is a line there: by its place, for places {group, line} of both runs. */
function movedPlaces(here, there) {
  const linesOf = places => new Map([...grouped(places, place => place.group)].map(([group, list]) =>
    [group, [...new Set(list.map(place => place.line))].sort((a, b) => a - b)]));
  const ours = linesOf(here), theirs = linesOf(there), moved = new Map();

  for (const [group, lines] of ours) {
    for (const [line, other] of pairedLines(lines, theirs.get(group) || [])) {
      moved.set(group + ':' + other, line);
    }
  }
  return moved;
}

/* ---- in a report --------------------------------------------------------- */

const isPlaced = part => typeof part.file === 'string' && Number.isInteger(part.line) && part.line > 0;

/* What a line is of; the other run may have been built in another folder. */
const groupOfPlace = part => [part.call ?? part.name ?? part.kernel ?? '', part.function ?? '', part.file.slice(part.file.lastIndexOf('/') + 1)].join('\u0000');

function placesIn(part, found = []) {
  if (part && typeof part === 'object') {
    if (isPlaced(part)) {
      found.push({group: groupOfPlace(part), line: part.line});
    }
    Object.values(part).forEach(one => placesIn(one, found));
  }
  return found;
}

/* A copy of a part of the other report with lines as `lineOf(line here, line there)` has
 * them, of those that are known here. */
function withLines(part, moved, lineOf) {
  if (!part || typeof part !== 'object') {
    return part;
  }
  if (Array.isArray(part)) {
    return part.map(one => withLines(one, moved, lineOf));
  }
  const copy = Object.fromEntries(Object.entries(part).map(([name, value]) => [name, withLines(value, moved, lineOf)]));
  const line = isPlaced(part) ? moved.get(groupOfPlace(part) + ':' + part.line) : undefined;

  return line === undefined ? copy : {...copy, line: lineOf(line, part.line)};
}

const lineHere = line => line;
const bothLines = (here, there) => (here === there ? here : there + ' -> ' + here);

/* ---- in frames of stacks ------------------------------------------------- */

const PLACED_FRAME = /^(.*) \((.+):(\d{1,9})\)$/s;

/* Names of the other run's frames that have another line here: [there, here] of each. */
function movedFrames(frames, others) {
  const placesOf = list => list.map(frame => PLACED_FRAME.exec(frame)).filter(found => found)
    .map(([frame, name, file, line]) => ({frame, name, file, group: name + '\u0000' + file, line: Number(line)}));
  const there = placesOf(others), moved = movedPlaces(placesOf(frames), there);

  return new Map(there.map(place => [place, moved.get(place.group + ':' + place.line)])
    .filter(([place, line]) => line !== undefined && line !== place.line)
    .map(([place, line]) => [place.frame, place.name + ' (' + place.file + ':' + line + ')']));
}
