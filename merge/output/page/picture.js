/* picture.js - a view as a picture: PNG, or SVG where it has not too many shapes
 *
 * SPDX-License-Identifier: Apache-2.0
 */
const SHAPES_MOST = 20000;

const xml = text => safe(text).replace(/[&<>"']/g, c => '&#' + c.charCodeAt(0) + ';');
const round = value => Number(value.toFixed(2));

/* Takes what is drawn on a canvas, and keeps it as elements of SVG. */
class SvgContext {
  constructor(context) {
    this.context = context; /* that knows widths of texts */
    this.shapes = [];
    this.state = {fillStyle: '#000', strokeStyle: '#000', globalAlpha: 1, lineWidth: 1, font: '12px sans-serif', clip: '', dash: ''};
    this.states = [];
    this.clips = 0;
    this.path = [];
    this.box = null;
  }

  put(shape) {
    if (this.shapes.length > SHAPES_MOST) {
      throw new Error('it has more than ' + count(SHAPES_MOST) + ' shapes: zoom in, or save it as PNG');
    }
    this.shapes.push(shape);
  }

  attributes(paint) {
    const {globalAlpha, clip} = this.state;

    return paint + (globalAlpha < 1 ? ` opacity="${globalAlpha}"` : '') + (clip ? ` clip-path="url(#${clip})"` : '');
  }

  fillRect(x, y, wide, high) {
    this.put(`<rect x="${round(x)}" y="${round(y)}" width="${round(wide)}" height="${round(high)}"${this.attributes(` fill="${xml(this.state.fillStyle)}"`)}/>`);
  }

  strokeRect(x, y, wide, high) {
    this.put(`<rect x="${round(x)}" y="${round(y)}" width="${round(wide)}" height="${round(high)}"${this.attributes(
      ` fill="none" stroke="${xml(this.state.strokeStyle)}" stroke-width="${this.state.lineWidth}"`)}/>`);
  }

  clearRect() {}

  fillText(text, x, y) {
    this.put(`<text x="${round(x)}" y="${round(y)}" dominant-baseline="central"${this.attributes(` fill="${xml(this.state.fillStyle)}" font-size="${
      parseInt(this.state.font, 10)}"`)}>${xml(text)}</text>`);
  }

  measureText(text) {
    this.context.font = this.state.font;
    return this.context.measureText(text);
  }

  beginPath() {
    this.path = [];
    this.box = null;
  }

  moveTo(x, y) {
    this.path.push(`M${round(x)} ${round(y)}`);
  }

  lineTo(x, y) {
    this.path.push(`L${round(x)} ${round(y)}`);
  }

  rect(x, y, wide, high) {
    this.box = [x, y, wide, high].map(round);
  }

  clip() {
    const [x, y, wide, high] = this.box;

    this.state.clip = 'clip' + this.clips++;
    this.put(`<clipPath id="${this.state.clip}"><rect x="${x}" y="${y}" width="${Math.max(0, wide)}" height="${Math.max(0, high)}"/></clipPath>`);
  }

  stroke() {
    this.put(`<path d="${this.path.join('')}"${this.attributes(` fill="none" stroke="${xml(this.state.strokeStyle)}"` +
      (this.state.dash ? ` stroke-dasharray="${this.state.dash}"` : ''))}/>`);
  }

  fill() {
    this.put(`<path d="${this.path.join('')}Z"${this.attributes(` fill="${xml(this.state.fillStyle)}"`)}/>`);
  }

  setLineDash(parts) {
    this.state.dash = parts.join(' ');
  }

  setTransform() {}

  save() {
    this.states.push({...this.state});
  }

  restore() {
    this.state = this.states.pop();
  }

  text(wide, high) {
    const ground = getComputedStyle(document.body).backgroundColor;

    return `<svg xmlns="http://www.w3.org/2000/svg" width="${round(wide)}" height="${round(high)}" font-family="system-ui, sans-serif">` +
      `<rect width="100%" height="100%" fill="${xml(ground)}"/>${this.shapes.join('\n')}</svg>\n`;
  }
}

for (const name of ['fillStyle', 'strokeStyle', 'globalAlpha', 'lineWidth', 'font']) {
  Object.defineProperty(SvgContext.prototype, name, {
    get() {
      return this.state[name];
    },
    set(value) {
      this.state[name] = value;
    }});
}
/* Texts are written as the canvases of this page do it: by their middle. */
SvgContext.prototype.textBaseline = 'middle';

/* Buttons that save what is in the canvas of a view. `of()` is the drawn thing:
 * {canvas, paint(context)}. */
function pictureButtons(name, of) {
  const png = event => {
    const {canvas} = of();
    const picture = el('canvas', {width: canvas.width, height: canvas.height});
    const context = picture.getContext('2d');
    const button = event.currentTarget;

    context.fillStyle = getComputedStyle(document.body).backgroundColor;
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(canvas, 0, 0);
    picture.toBlob(blob => {
      if (blob) {
        save(name + '.png', blob, 'image/png');
      } else {
        button.textContent = 'Not saved';
      }
    });
  };
  const vector = event => {
    const drawn = of();
    const context = new SvgContext(drawn.canvas.getContext('2d'));
    const button = event.currentTarget;

    try {
      drawn.paint(context);
      save(name + '.svg', context.text(drawn.canvas.clientWidth, drawn.canvas.clientHeight), 'image/svg+xml');
    } catch (error) {
      button.title = safe(error.message);
      button.textContent = 'SVG: too many shapes';
    }
  };

  return [button('PNG', png, {title: 'save the picture as PNG'}), button('SVG', vector, {title: 'save the picture as SVG'})];
}
