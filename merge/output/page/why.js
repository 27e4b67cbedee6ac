/* why.js - view 1, why idle: buttons beside what C has written
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/* The cause that a finding is about; null = a finding without one. */
function causeOf(report, item) {
  return (report.causes || [])[Number(item.dataset.cause)] || null;
}

/* Select what the finding is about, and go to where it can be seen. */
function showFinding(report, item) {
  const cause = causeOf(report, item);
  const windows = cause && (cause.windows || []);
  const blamed = cause && (cause.blamed_rank ?? cause.waited_for_rank);
  const ranks = [...new Set([cause && cause.rank, blamed])].filter(rank => Number.isInteger(rank))
    .sort((a, b) => a - b);
  const example = cause && cause.example;
  const start = example ? example.start_rel_ns : windows && windows[0] && windows[0].start_rel_ns;
  const end = example ? example.end_rel_ns : windows && windows[0] && windows[0].end_rel_ns;

  select({finding: Number(item.dataset.finding), cause: cause ? cause.cause : '', ranks,
    range: Number.isFinite(start) && end > start ? [start, end] : null});
  const to = document.getElementById('view-timeline') || document.getElementById('view-ledger');

  if (to) {
    to.scrollIntoView({block: 'start'});
    to.querySelector('h2').focus({preventScroll: true});
  }
}

function dressFindings(report) {
  for (const item of document.querySelectorAll('#findings > li')) {
    const text = item.querySelector('.words').textContent;

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

/* Into the clipboard; the button says how that went. */
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
