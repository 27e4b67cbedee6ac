/* blocks.js - the data in the page: deflated, in base64
 *
 * SPDX-License-Identifier: Apache-2.0
 */

/* Most bytes that a block may inflate to: what is dropped on the page is a
 * stranger's. */
const BLOCK_LARGEST = 512 << 20;

function bytesOf(text) {
  const clean = text.trim();

  if (Uint8Array.fromBase64) {
    return Uint8Array.fromBase64(clean);
  }
  const binary = atob(clean);
  const out = new Uint8Array(binary.length);

  for (let i = 0; i < out.length; i++) {
    out[i] = binary.charCodeAt(i);
  }
  return out;
}

/* Bytes that are given to it at once: what they may inflate to is bounded, too. */
const PIECE = 65536;

async function feed(writer, packed) {
  for (let at = 0; at < packed.length; at += PIECE) {
    await writer.ready;
    await writer.write(packed.subarray(at, at + PIECE));
  }
  await writer.close();
}

async function inflate(packed) {
  const stream = new DecompressionStream('deflate-raw');
  const reader = stream.readable.getReader();

  /* The reader gets what is wrong with the data. */
  feed(stream.writable.getWriter(), packed).catch(() => {});
  const parts = [];
  let length = 0;

  for (;;) {
    const {done, value} = await reader.read();

    if (done) {
      break;
    }
    length += value.length;
    if (length > BLOCK_LARGEST) {
      await reader.cancel();
      throw new Error('a block of data is larger than ' + bytes(BLOCK_LARGEST));
    }
    parts.push(value);
  }
  const all = new Uint8Array(length);
  let at = 0;

  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

async function inflateOwn(id) {
  const node = document.getElementById('block-' + id);

  return node ? inflate(bytesOf(node.textContent)) : null;
}

/* Blocks that were asked for before they are needed; each is taken once. */
const begun = new Map();

function beginBlocks(ids) {
  for (const id of ids) {
    const promise = inflateOwn(id);

    promise.catch(() => {}); /* its taker gets the error */
    begun.set(id, promise);
  }
}

/* The bytes of a block of this page, or null: there is none of that name. */
async function block(id) {
  const promise = begun.get(id) || inflateOwn(id);

  begun.delete(id);
  return promise;
}

async function blockJson(id) {
  const found = await block(id);

  return found ? JSON.parse(new TextDecoder().decode(found)) : null;
}

/* The bytes of a block in the text of another page, null = it has none. */
async function blockOf(text, id) {
  const found = new RegExp('<script type="text/plain" id="block-' + id + '">([A-Za-z0-9+/=\\s]*)<\/script>').exec(text);

  return found ? inflate(bytesOf(found[1])) : null;
}

/* Functions of C++ by the names that the flame graphs have, too; their symbols stay
 * beside them. */
function withPlainNames(report) {
  const symbols = new Map(), named = [];
  const visitPart = part => {
    if (Array.isArray(part)) {
      part.forEach(visitPart);
    } else if (part && typeof part === 'object') {
      if (typeof part.function_plain === 'string') {
        part.symbol = part.function;
        part.function = part.function_plain;
        symbols.set(part.function, (symbols.get(part.function) || new Set()).add(part.symbol));
        named.push(part);
      }
      Object.values(part).forEach(visitPart);
    }
  };

  visitPart(report);
  for (const part of named) {
    const all = [...symbols.get(part.function)];

    if (all.length > 1) {
      part.instance = ' (instance ' + (all.indexOf(part.symbol) + 1) + ' of ' + all.length + ')';
    }
  }
  return report;
}

function jsonOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('it is no whole report.json: it was cut off or changed');
  }
}

/* The report in a text: a report.json, or another such page. */
async function reportOf(text) {
  let report;

  if (/^\s*\{/.test(text)) {
    report = jsonOf(text);
  } else {
    const found = await blockOf(text, 'report');

    if (!found) {
      throw new Error('it is neither a report.json nor a report.html of ck');
    }
    report = JSON.parse(new TextDecoder().decode(found));
  }
  if (!report || report.format !== 'ck.report') {
    throw new Error('it has no report of ck ("format": "ck.report")');
  }
  const steps = await blockOf(text, 'steps');

  if (steps && report.step_table) {
    report.step_table.rows = stepRowsOf(JSON.parse(new TextDecoder().decode(steps)), await blockOf(text, 'step-numbers'), report.time_base_ns);
  }
  return withPlainNames(report);
}
