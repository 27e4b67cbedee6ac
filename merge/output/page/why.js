/* why.js - view 1, why idle: buttons beside what C has written
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/* The cause, or the late rank, that a finding is about; null = a finding without
 * one. */
function causeOf(report, item) {
  const list = item.dataset.late === undefined ? report.causes : report.stragglers;

  return (list || [])[Number(item.dataset.late ?? item.dataset.cause)] || null;
}

/* The time that shows it best, or null: its longest stretch, else the part of
 * the run in which most of it is. */
function exampleOf(cause) {
  const part = cause.example || (cause.windows || [])[0] || cause.event || cause.median;

  return part && part.end_rel_ns > part.start_rel_ns ? [part.start_rel_ns, part.end_rel_ns] : null;
}

/* Select what the finding is about, and go to where it can be seen. */
function showFinding(report, item) {
  const cause = causeOf(report, item);

  if (!cause) {
    return;
  }
  const ranks = new Set([cause.example ? cause.example.rank : cause.rank, cause.blamed_rank ?? cause.last_rank]);

  select({finding: Number(item.dataset.finding), cause: cause.cause || '', range: exampleOf(cause),
    ranks: [...ranks].filter(rank => Number.isInteger(rank)).sort((a, b) => a - b)});
  const to = document.getElementById('view-timeline') || document.getElementById('view-ledger');

  if (to) {
    to.scrollIntoView({block: 'start'});
    to.querySelector('h2').focus({preventScroll: true});
  }
}

function dressFindings(report) {
  document.querySelectorAll('#view-why .without-script').forEach(node => node.remove());
  for (const item of document.querySelectorAll('#findings > li')) {
    const text = item.querySelector('.words').textContent;
    const cause = causeOf(report, item);

    if (cause && cause.at_start && !document.querySelector('#findings .once')) {
      item.prepend(el('p', {class: 'quiet once'}, 'Only at the start of the run, however long it is:'));
    }
    item.querySelector('.tools').append(
      button('Show', () => showFinding(report, item),
        {title: 'select the ranks and the time of this finding'}),
      button('Copy', event => copyText(text, event.currentTarget), {title: 'copy this text'}));
  }
  onSelect(() => {
    for (const item of document.querySelectorAll('#findings > li')) {
      item.classList.toggle('chosen', Number(item.dataset.finding) === selection.finding);
    }
  });
}

/* Copy to the clipboard; the button shows whether that worked. */
async function copyText(text, from) {
  const before = from.textContent;

  try {
    await navigator.clipboard.writeText(text);
    from.textContent = 'Copied';
  } catch {
    const field = el('textarea', {class: 'hidden'});

    field.value = text;
    document.body.append(field);
    field.select();
    from.textContent = document.execCommand('copy') ? 'Copied' : 'Not copied';
    field.remove();
  }
  setTimeout(() => {
    from.textContent = before;
  }, 1500);
}
