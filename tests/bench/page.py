#!/usr/bin/env python3
# page.py BUILD [TIMES [KIND]] - how fast an HTML page is written, opened and drawn
#
# SPDX-License-Identifier: Apache-2.0
"""Made-up runs of 4 ranks (bench_merge --write KIND, jittered by default)
of 10,000 events and of as many as give a million items, in Chromium, in turn, TIMES (5):

- elapsed time of a merge of 1 M events with its page / without, and CPU time: the
  medians of PAIRS pairs, or TIMES if that is more, the one or the other first in turn.
  Single pairs are up to a half apart where other guests of the machine run, so few of
  them show nothing. Remarks: the times themselves, the ratio of the least ones and of the medians,
  the least and the largest of the pairs;
- open: from the start of the navigation until the answer, the ledger and the timeline
  are painted, of 1 M items (--page-bytes 9M) / of 10,000 events, and / inflating the same
  bytes: a bare page with the same blocks and nothing else, from the start of its
  navigation until the last block is inflated. Beside it what a page of the same length
  takes that has no script but one line (the browser's own time, which both have in
  them), the ratio without that time, and the ratio to inflating alone, begun in the
  page that is open already. Remarks: the same until the views behind the first picture
  are drawn, too, and until all items are read (both follow behind it, while the
  page can be used). Each is the least of TIMES;
- memory of the page's scripts with their arrays, all items read and folded, in bytes
  an item;
- 95th percentile of a frame while the timeline is panned and zoomed, once the
  page has folded its lanes in idle time, of 1 M /
  of 10,000 items, and / drawing 5,000 rectangles; each ends with a pixel that is
  read, so that it has been drawn.
"""
import os
import re
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
from browser import Browser, program  # noqa: E402
from job import Bench, figure, remark, skip  # noqa: E402

RANKS = 4
PAIRS = 15
# So many give a page of a million items of jittered runs, each of them exact.
ITEMS_EVENTS = 556000
# When it was set; of the first picture when the last thing that is put into it, the
# button beside the first finding, was on the screen.
READY = """
new PerformanceObserver(list => list.getEntries().forEach(one => { window.firstAt = window.firstAt || one.renderTime; }))
  .observe({type: 'element', buffered: true});
new MutationObserver(() => { const {first, ready, fine} = document.documentElement.dataset;
    if (first && !window.isFirst) {
      window.isFirst = true;
      document.querySelector('#findings .tools button, .nothing').setAttribute('elementtiming', 'first');
    }
    window.readyAt = window.readyAt || (ready && performance.now());
    window.fineAt = window.fineAt || (fine && performance.now()); })
  .observe(document, {subtree: true, attributes: true, attributeFilter: ['data-first', 'data-ready', 'data-fine']});
"""
BLOCKS = """(async () => { const begin = performance.now();
  for (const node of document.querySelectorAll('script[id^=block-]')) { await inflate(bytesOf(node.textContent)); }
  return performance.now() - begin; })()"""
HTML = '<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>%s</title><p class="nothing" elementtiming="first">%s</p>\n%s\n<script>%s</script></html>\n'
# A page that shows that it is there, of as many bytes.
EMPTY = "document.documentElement.dataset.first = 'yes'"
# One that inflates the same blocks.
BARE = """Promise.all([...document.querySelectorAll('script[id^=block-]')].map(async node => {
  const text = node.textContent, coded = Uint8Array.fromBase64 ? '' : atob(text);
  const bytes = Uint8Array.fromBase64 ? Uint8Array.fromBase64(text) : new Uint8Array(coded.length);
  for (let i = 0; i < coded.length; i++) { bytes[i] = coded.charCodeAt(i); }
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('deflate-raw'))).arrayBuffer();
})).then(all => { window.bareAt = performance.now(); window.bareBytes = all.reduce((sum, one) => sum + one.byteLength, 0); })"""
# Ten frames of each: to the right by a tenth, nearer, further away.
FRAMES = """(() => { const t = theTimeline, context = t.canvas.getContext('2d'), times = [];
  const frame = () => { const begin = performance.now(); t.draw(); context.getImageData(0, 0, 1, 1);
    times.push(performance.now() - begin); };
  t.show(...t.whole); t.draw();
  for (let zoom = 0; zoom < 12; zoom++) {
    for (let i = 0; i < 10; i++) { t.move(0.1); frame(); }
    t.zoom(0.5, (t.span[0] + t.span[1]) / 2); frame();
  }
  for (let zoom = 0; zoom < 12; zoom++) { t.zoom(2, (t.span[0] + t.span[1]) / 2); frame(); }
  return times.sort((a, b) => a - b)[Math.floor(times.length * 0.95)]; })()"""
RECTANGLES = """(() => { const t = theTimeline, context = t.canvas.getContext('2d'), times = [];
  for (let k = 0; k < 20; k++) {
    const begin = performance.now();
    context.clearRect(0, 0, t.width, t.tall);
    for (let i = 0; i < 5000; i++) {
      context.fillStyle = i % 2 ? '#047b6e' : '#b54e10';
      context.fillRect(i * 37 % t.width, i * 13 % t.tall, 3, 12);
    }
    context.getImageData(0, 0, 1, 1);
    times.push(performance.now() - begin);
  }
  return times.sort((a, b) => a - b)[10]; })()"""


def at_most(name, measured, target):
    figure(name, measured, "<= %g" % target, measured <= target)


def written(bench, events, kind):
    run = os.path.join(bench.work, "run-%d" % events)
    os.mkdir(run)
    bench.plain([bench.test("bench_merge"), "--write", run, str(events // RANKS), str(RANKS), kind])
    return run


def bounds_of(page):
    """Pages beside that one: an empty one of its length, and a bare one with its blocks."""
    with open(page, encoding="utf8") as file:
        text = file.read()
    blocks = "\n".join(re.findall(r'<script type="text/plain" id="block-[^<]*</script>', text))
    empty, bare = page + ".empty.html", page + ".bare.html"
    for name, body, script in ((bare, blocks, BARE), (empty, "", EMPTY)):
        html = HTML % (name[-10:-5], "nothing", body, script)
        if name == empty:
            filler = text[:len(text) - len(html)].replace("<", "-").replace(">", "-")
            html = HTML % ("empty", "nothing", '<script type="text/plain">%s</script>' % filler, script)
        with open(name, "w", encoding="utf8") as file:
            file.write(html)
    return empty, bare


def opened(browser, page):
    """Milliseconds until it is on the screen, its inflating, a frame, 5,000 rectangles,
    until all views are drawn, and until all items are read; bytes of memory; until an
    empty page is on the screen, and until a bare one has inflated the same."""
    browser.open(page)
    browser.wait("document.documentElement.dataset.fine === 'yes'", "all is read")
    browser.wait("document.documentElement.dataset.folded === 'yes'", "it rests")
    found = [browser.run("window.firstAt"), browser.run(BLOCKS), browser.run(FRAMES),
             browser.run(RECTANGLES), browser.run("window.readyAt"), browser.run("window.fineAt")]
    browser.call("HeapProfiler.collectGarbage")
    heap = browser.call("Runtime.getHeapUsage")
    found.append(heap["usedSize"] + heap.get("backingStorageSize", 0))
    empty, bare = page + ".empty.html", page + ".bare.html"
    browser.open(empty)
    browser.wait("window.firstAt > 0", "the empty page is painted")
    found.append(browser.run("window.firstAt"))
    browser.open(bare)
    browser.wait("window.bareAt > 0", "the blocks are inflated")
    return [*found, browser.run("window.bareAt")]


def timed(command):
    """Seconds that passed, CPU seconds; nothing else runs meanwhile, not even a look
    at it."""
    begin = time.monotonic()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    status, usage = os.wait4(child.pid, 0)[1:]
    if status != 0:
        sys.exit("%s: status %d" % (command[0], status))
    return time.monotonic() - begin, usage.ru_utime + usage.ru_stime


def merges(bench, run, times):
    """With the page / without, medians of pairs."""
    command = [bench.program("ckmerge"), "--quiet", run]
    taken = {(): [], ("--no-page",): []}
    for i in range(max(times, PAIRS)):
        for options in list(taken)[::1 if i % 2 == 0 else -1]:
            taken[options].append(timed([*command, *options]))
    both = [list(zip(*rows)) for rows in taken.values()]
    for what, page, alone in zip(("elapsed", "CPU time"), *both):
        ratios = [one / other for one, other in zip(page, alone)]
        remark("%s with the page and without: the least %.3f and %.3f s, by division %.2f; medians %.3f and %.3f s, by "
               "division %.2f; pairs %.2f to %.2f" %
               (what, min(page), min(alone), min(page) / min(alone), statistics.median(page), statistics.median(alone),
                statistics.median(page) / statistics.median(alone), min(ratios), max(ratios)))
        at_most("page and report / report, %s, 1 M events" % what, statistics.median(ratios), 1.3)


def main():
    times = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    kind = sys.argv[3] if len(sys.argv) > 3 else "jittered"
    with Bench(sys.argv[1]) as bench:
        runs = [written(bench, events, kind) for events in (10000, ITEMS_EVENTS)]
        merges(bench, written(bench, 1000000, kind), times)
        if program() is None:
            skip("open and frame of a page", "chromium")
            return
        pages = []
        for run in runs:
            pages.append(run + ".html")
            bench.plain([bench.program("ckmerge"), "--quiet", "--page-bytes", "9000000",
                         "--output", "html=" + pages[-1], run])
            bounds_of(pages[-1])
        found = [[], []]
        with Browser() as browser:
            browser.size(1280, 900)
            browser.call("Page.addScriptToEvaluateOnNewDocument", source=READY)
            for _ in range(times):
                for i, page in enumerate(pages):
                    found[i].append(opened(browser, page))
            browser.open(pages[1])
            browser.wait("document.documentElement.dataset.fine === 'yes'", "all is read")
            items = browser.run("(lanes => lanes.reduce((sum, lane) => sum + lane.info.items, 0))"
                                "(theTimeline.details.length > 0 ? [...theTimeline.details[0].lanes.values()] : "
                                "theTimeline.lanes)")
        sizes = [os.path.getsize(page) for page in pages]
    small, large = ([min(column) for column in zip(*rows)] for rows in found)
    remark("the larger page has %d items and %d bytes, the smaller one %d" %
           (items, sizes[1], sizes[0]))
    remark("ms of both: open %.0f and %.0f, an empty page %.0f and %.0f, a bare one %.0f and %.0f, inflating alone %.1f and "
           "%.1f, frame %.1f and %.1f" % (small[0], large[0], small[7], large[7], small[8], large[8], small[1], large[1],
                                          small[2], large[2]))
    remark("1 M items, all views drawn: %.0f ms, all items read: %.0f ms" % (large[4], large[5]))
    remark("open / inflating, both without the empty page: %.1f; open without it / inflating alone: %.1f; open / inflating alone: %.1f" %
           ((large[0] - large[7]) / (large[8] - large[7]), (large[0] - large[7]) / large[1], large[0] / large[1]))
    at_most("open of a page, 1 M items / 10 k", large[0] / small[0], 8)
    at_most("open of 1 M items / a bare page inflating the same", large[0] / large[8], 5)
    at_most("memory of its scripts and their arrays, bytes an item", large[6] / items, 60)
    at_most("p95 of frames, 1 M items / 10 k", large[2] / small[2], 1.5)
    at_most("p95 of frames / 5,000 rectangles", large[2] / large[3], 2)


main()
