/* keys.js - keys that move about the page; none in a field, none with Ctrl
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/* [code of the key, its name, what it does, function]. Views add theirs. */
const keys = [];

function onKey(code, name, what, act) {
  keys.push({code, name, what, act});
}

const isTyping = target => target instanceof HTMLElement &&
  (target.matches('input, textarea, select') || target.isContentEditable);

function helpDialog() {
  const dialog = el('dialog', {'aria-label': 'keys'});

  dialog.append(el('h2', null, 'Keys'), el('table', {class: 'plain'}, el('tbody', null, keys.map(key =>
    el('tr', null, el('th', {scope: 'row'}, el('kbd', null, key.name)), el('td', null, key.what))))),
  button('Close', () => dialog.close()));
  document.body.append(dialog);
  return dialog;
}

function goTo(place) {
  const sections = [...document.querySelectorAll('main > section')].filter(section => !section.hidden);
  const section = sections[place];

  if (section) {
    section.scrollIntoView({block: 'start'});
    section.querySelector('h2').focus({preventScroll: true});
  }
}

function listenToKeys() {
  let dialog = null;

  for (let i = 1; i <= 9; i++) {
    onKey('Digit' + i, String(i), 'part ' + i + ' of the page', () => goTo(i - 1));
  }
  onKey('Slash', '/', 'filter the next table', () => {
    const fields = [...document.querySelectorAll('input.filter')].filter(field => field.offsetParent !== null);
    const field = fields.find(one => one.getBoundingClientRect().top > 0) || fields[0];

    if (field) {
      field.focus();
    }
  });
  onKey('Escape', 'Esc', 'select nothing', () => select({range: null, ranks: [], cause: '', finding: 0}));
  onKey('?', '?', 'these keys', () => {
    dialog = dialog || helpDialog();
    dialog.showModal();
  });
  document.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || (dialog && dialog.open)) {
      return;
    }
    const key = event.key === '?' ? keys.find(one => one.code === '?') :
      event.shiftKey ? keys.find(one => one.code === 'Shift+' + event.code) : keys.find(one => one.code === event.code);

    if (key) {
      event.preventDefault();
      key.act(event);
    }
  });
}
