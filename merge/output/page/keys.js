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

  /* The head has the focus, else the dialog opens where its last button is. */
  dialog.append(el('h2', {tabindex: -1, autofocus: ''}, 'Keys'), button('Close', () => dialog.close()), el('table', {class: 'plain'}, el('tbody', null, keys.map(key =>
    el('tr', null, el('th', {scope: 'row'}, el('kbd', null, key.name)), el('td', null, key.what))))));
  document.body.append(dialog);
  return dialog;
}

function goTo(place) {
  const sections = [...document.querySelectorAll('main > section')].filter(section => !section.hidden);
  const section = sections[place];

  if (section) {
    goToView(section.id.replace('view-', ''));
    keepAddress();
  }
}

/* Not in a box that is closed. */
const isSeen = node => (node.checkVisibility ? node.checkVisibility() : node.offsetParent !== null);

function listenToKeys() {
  let dialog = null;

  for (let i = 1; i <= 9; i++) {
    onKey('Digit' + i, String(i), 'part ' + i + ' of the page', () => goTo(i - 1));
  }
  onKey('Slash', '/', 'find a name: in the timeline, a flame graph or a table, whichever is next', () => {
    const fields = [...document.querySelectorAll('input.filter, input.find')].filter(isSeen);
    const field = fields.find(one => one.getBoundingClientRect().top > 0) || fields[0];

    if (field) {
      field.focus();
    }
  });
  onKey('Escape', 'Esc', 'select nothing', () => select({...NOTHING}));
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
