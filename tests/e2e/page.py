#!/usr/bin/env python3
"""page.py [--each-view] SHOTS NAME=PAGE[,REPORT]... - HTML pages in a real browser

SPDX-License-Identifier: Apache-2.0

Opens each page without scripts and with them, clicks and types what a person
would, and prints what is wrong. SHOTS: a folder for pictures, "" = none; with
--each-view of each view in both colour schemes. The last of several pages is also
compared with the first one. A PAGE of a running job is an address.
"""
import base64
import json
import os
import re
import subprocess
import sys
import time
import zlib
from urllib.parse import quote
from xml.etree import ElementTree

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import TIMEOUT, Browser, Failed  # noqa: E402
from lanes import block  # noqa: E402

# Names that are script, markup or formulas somewhere; page.sh makes a run
# with them.
HOSTILE = ["</script><script>window.hacked=1</script>",
           "<img src=x onerror=window.hacked=1>",
           "\"'><svg onload=window.hacked=1>",
           "=HYPERLINK(\"http://x\")", "<!--<script>", "]]></style><b>", "&lt;i&gt;&#x3c;",
           "__proto__", "constructor", "javascript:hacked=1", "${hacked=1}", "%s%n\\x3c"]

# Lists of report.json that have a table.
TABLES = {"deaths": "Threads when a signal ended them", "memory": "Memory", "fault_places": "Places of page faults",
          "allocations.places": "Where memory came from", "device_memory.places": "Device memory",
          "blocked_places": "Where threads were blocked", "kernels": "Kernels", "calls": "Calls by place",
          "launch_stacks.rows": "Device work by the stack that launched it", "openmp.regions": "Parallel regions",
          "openmp.waits": "Waits in parallel regions", "lock_waits": "Locks that threads waited for",
          "threads": "Threads", "ranges": "Ranges of the program", "counters": "Counters"}

# Those that are there without scripts, too.
STATIC = {"kernels": "Kernels", "copy_places": "Copies", "lines": "Lines that launched device work",
          "hot_spots": "Functions that computed", "calls": "Calls by place", "ranges": "Ranges of the program",
          "libc": "Files, locks, sleep", "counters": "Counters"}

# Contrast, names, labels, headings: what can be found without a person.
ACCESS = r"""
(() => {
  const wrong = [];
  const seen = new Set();
  const rgb = text => {
    const found = /^rgba?\(([^)]*)\)$/.exec(text);
    const part = found ? found[1].split(/[,\s/]+/).map(Number) : [0, 0, 0, 0];
    return {r: part[0], g: part[1], b: part[2], a: part.length > 3 ? part[3] : 1};
  };
  const light = c => {
    const [r, g, b] = [c.r, c.g, c.b].map(v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = node => {
    for (let at = node; at; at = at.parentElement) {
      const c = rgb(getComputedStyle(at).backgroundColor);
      if (c.a > 0.99) return c;
    }
    return {r: 255, g: 255, b: 255, a: 1};
  };
  const shown = node => node.checkVisibility({checkOpacity: false, checkVisibilityCSS: true});
  for (const node of document.querySelectorAll('body *')) {
    const own = [...node.childNodes].some(one => one.nodeType === 3 && one.textContent.trim());
    if (own && shown(node) && !['SCRIPT', 'STYLE', 'text'].includes(node.tagName) &&
        node.getBoundingClientRect().width > 1.5) {
      const a = light(rgb(getComputedStyle(node).color)), b = light(ground(node));
      const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      const key = getComputedStyle(node).color + JSON.stringify(ground(node));
      if (ratio < 4.5 && !seen.has(key)) {
        seen.add(key);
        wrong.push('contrast ' + ratio.toFixed(2) + ': ' + node.tagName + ' ' + node.textContent.trim().slice(0, 40));
      }
    }
    if (node.id) {
      if (seen.has('#' + node.id)) wrong.push('two elements have the id ' + node.id);
      seen.add('#' + node.id);
    }
  }
  for (const node of document.querySelectorAll('button, input, canvas, [role=grid], [tabindex="0"]')) {
    const name = node.getAttribute('aria-label') || node.textContent.trim() || node.getAttribute('aria-labelledby') || node.title;
    if (!name) wrong.push('no name: ' + node.outerHTML.slice(0, 80));
    if (node.tagName === 'BUTTON' && shown(node) && !node.closest('.bar') && !node.closest('thead')) {
      const box = node.getBoundingClientRect();
      if (box.height > 0 && box.height < 23.5) wrong.push('target of ' + box.height.toFixed(0) + ' px: ' + name);
    }
  }
  for (const head of document.querySelectorAll('th')) {
    if (!head.getAttribute('scope') && !head.closest('[role=grid]')) wrong.push('th without scope: ' + head.textContent);
  }
  let last = 1;
  for (const head of document.querySelectorAll('h1, h2, h3')) {
    const level = Number(head.tagName[1]);
    if (level > last + 1) wrong.push('h' + level + ' below h' + last + ': ' + head.textContent);
    last = level;
  }
  if (document.querySelectorAll('h1').length !== 1) wrong.push('not one h1');
  if (!document.documentElement.lang) wrong.push('no language');
  if (document.querySelectorAll('main').length !== 1) wrong.push('not one main');
  return wrong.slice(0, 12);
})()
"""

# Cells of the raster whose class has not most time in the lanes of their rank.
RASTER_CELLS = """(() => {
  const {index, columns, ranks, kinds, shares} = theRaster.raster, wide = index.cell_ns;
  const wrong = [];
  ranks.forEach((rank, r) => {
    const own = theTimeline.lanes.filter(({info}) => info.rank === rank && info.depth === 0);
    const device = own.filter(({info}) => ['idle', 'queue'].includes(info.kind));
    const of = device.length > 0 ? device : own.filter(({info}) => info.kind === 'calls' && info.main);
    const most = new Map(), best = new Float64Array(columns);
    for (const lane of of) {
      const level = lane.finest(), sums = new Map();
      for (let i = 0; i < level.count; i++) {
        for (let at = level.start[i] - index.start_ns, end = level.end[i] - index.start_ns; at < end;) {
          const column = Math.floor(at / wide), to = Math.min(end, (column + 1) * wide), key = column + ' ' + level.kind[i];
          if (column < columns && at >= 0) sums.set(key, (sums.get(key) || 0) + to - at);
          at = to;
        }
      }
      for (const [key, ns] of sums) {
        const column = Number(key.split(' ')[0]);
        most.set(key, Math.max(most.get(key) || 0, ns));
        best[column] = Math.max(best[column], ns);
      }
    }
    for (let c = 0; c < columns; c++) {
      const kind = kinds[r * columns + c], share = shares[r * columns + c];
      const isRight = best[c] === 0 ? kind === 0 : kind > 0 && most.get(c + ' ' + (kind - 1)) >= best[c] - 1 &&
        Math.abs(share - Math.max(1, Math.floor(15 * best[c] / wide))) <= 1;
      if (!isRight) wrong.push([rank, c]);
    }
  });
  return wrong.length; })()"""

# Items of rare classes, and those of them without a pixel of their colour, or of
# another such one at the same place.
RASTER_RARE = """(() => {
  const {index, columns, ranks, marks, classes} = theRaster.raster, {canvas} = theRaster, colours = palette();
  const data = new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer);
  const items = new Map();
  ranks.forEach((rank, r) => theTimeline.lanes.filter(({info}) => info.rank === rank && info.depth === 0 && ['idle', 'queue'].includes(info.kind))
    .forEach(lane => { const level = lane.finest(); for (let i = 0; i < level.count; i++) {
      items.set(level.kind[i], [...(items.get(level.kind[i]) || []).slice(-300), [r, level.start[i], level.end[i]]]); } }));
  let all = 0, missed = 0;
  const taken = new Map();
  const rare = new Set([...items].filter(([, list]) => list.length <= 256).map(([kind]) => pictureColour(colours.of(classes[kind]))));
  for (const [kind, list] of items) {
    if (list.length > 256) continue;
    for (const [r, start, end] of list) {
      const y = Math.floor(r * canvas.height / ranks.length), pixel = ns => (ns - index.start_ns) / index.cell_ns / columns * canvas.width;
      const want = pictureColour(colours.of(classes[kind]));
      let isThere = false;
      for (let x = Math.floor(pixel(start)) - 1; x <= pixel(end) + 1; x++) isThere = isThere || data[y * canvas.width + x] === want ||
        (pixel(end) - pixel(start) < 1 && rare.has(data[y * canvas.width + x]));
      all++;
      missed += !isThere;
    }
  }
  return [all, missed]; })()"""


def with_block(text, name, data):
    """The page with other bytes in the block of that name."""
    packed = zlib.compressobj(wbits=-15)
    coded = base64.b64encode(packed.compress(data) + packed.flush()).decode()
    return re.sub(r'(id="block-%s">)[^<]*' % name, lambda found: found.group(1) + coded, text)


def changed(text, name, change):
    """The page with another block of JSON of that name."""
    index = json.loads(block(text, name))
    change(index)
    return with_block(text, name, json.dumps(index).encode())


class Page:
    """One file in the browser, and what is wrong with it."""

    has_each_view = False

    def __init__(self, browser, name, path, report):
        self.browser = browser
        self.is_live = path.startswith("http:")
        self.name = name
        self.path = path
        self.report = report
        self.faults = []

    def wrong(self, what):
        self.faults.append(f"{self.name}: {what}")

    def same(self, what, wanted, found):
        if wanted != found:
            self.wrong(f"{what}: {found!r}, not {wanted!r}")

    def text(self):
        return self.browser.run("document.body.innerText")

    def open(self, fragment=""):
        self.browser.open(self.path, fragment)
        if self.is_live:
            self.hold()
            return
        self.browser.wait("document.documentElement.dataset.ready === 'yes'",
                          f"{self.name}: all views are drawn")

    def hold(self):
        """The page of a running job, which may be replaced until it is told not to be."""
        until = time.monotonic() + TIMEOUT
        text = None
        while text is None and time.monotonic() < until:
            try:
                text = self.browser.run("""document.documentElement?.dataset.ready === 'yes' ?
                    (live.follows = false, blockJson('report').then(withSteps).then(r => JSON.stringify(r))) : null""")
            except Failed:
                text = None  # it was just replaced
            time.sleep(0.05)
        if text is None:
            raise Failed(f"{self.name}: all views are drawn")
        self.report = json.loads(text)

    def clean(self, when):
        own = self.path if self.is_live else "file:"
        for fault in self.browser.complaints(own):
            self.wrong(f"{when}: {fault}")
        if self.browser.run("window.hacked === undefined") is not True:
            self.wrong(f"{when}: a name of the run became script")

    # -- what each page must do

    def without_scripts(self):
        self.browser.scripts(False)
        self.browser.open(self.path)
        said = " ".join(self.text().split())
        devices = self.report["devices"]
        if devices and "Devices were busy" not in said:
            self.wrong("without scripts the first answer is missing")
        self.alarm()
        if "events lost" not in said:
            self.wrong("without scripts TRUST is missing")
        if devices and "of all device time" not in said and \
                "No cause above" not in said:
            self.wrong("without scripts the causes are missing")
        rows = self.browser.run("""Object.fromEntries([...document.querySelectorAll('#view-tables h3')].map(head =>
            [head.textContent, head.nextElementSibling.querySelectorAll('tbody tr').length]))""")
        wanted = {f"{title} ({len(self.report[member]):,})": min(20, len(self.report[member]))
                  for member, title in STATIC.items() if self.report[member] and not (self.report.get("cut") or {}).get(member)}
        if not self.is_live:  # which may be of a newer merge by now
            self.same("without scripts the tables have their first rows", wanted,
                      {head: rows.get(head) for head in wanted})
        self.browser.scripts(True)

    def alarm(self):
        """What is wrong with the run comes first, in red."""
        if ":;" in self.browser.run("document.querySelector('header').textContent"):
            self.wrong("a sentence of the heading goes on behind two marks")
        is_bad = (not self.report["complete"] and not self.is_live) or any(
            rank["end"] in ("signal", "killed") or rank["end"] == "exited" and rank["code"]
            for rank in self.report["ranks"]) or any(
            one["complaint"] for one in self.report.get("inputs", []))
        self.same("the run's ills come first", is_bad, self.browser.run("""(() => {
            const alarm = document.querySelector('header .alarm');
            return alarm !== null && alarm.textContent.trim().length > 20 &&
              alarm.getBoundingClientRect().bottom < document.getElementById('view-why').getBoundingClientRect().top;
            })()"""))

    def data(self):
        packed = self.browser.run("blockJson('report').then(withSteps).then(r => JSON.stringify(r))")
        # Numbers of scripts end at 2^53.
        if json.loads(packed, parse_int=float) != \
                json.loads(json.dumps(self.report), parse_int=float):
            self.wrong("the report in the page is not report.json")
        walls = self.browser.run("""blockJson('report').then(r => r.devices.map(d =>
            [d.wall_ns, ledgerRows(d.ledger).reduce((sum, row) => sum + row[2], 0)]))""")
        for wall, rows in walls:
            self.same("a ledger's rows", wall, rows)

    def views(self):
        shown = self.browser.run("""[...document.querySelectorAll('main > section')]
            .filter(s => !s.hidden).map(s => s.id)""")
        absent = self.browser.run("document.getElementById('absent').innerText")
        report = self.report
        wanted = {
            "view-why": True, "view-trust": True, "view-more": True, "view-tables": True,
            "view-compare": True, "view-ledger": bool(report["devices"]),
            "view-steps": bool(report["step_table"]["rows"]),
            "view-efficiency": report["efficiency"]["ranks"] > 0 or
            report["efficiency"].get("devices", 0) > 0,
        }
        for view, is_there in wanted.items():
            self.same(f"{view} is there", is_there, view in shown)
        if "could not draw" in absent:
            self.wrong(absent)
        titles = self.browser.run("views.map(one => [one.id, one.title])")
        for view, title in titles:
            if "view-" + view not in shown and title + ":" not in absent:
                self.wrong(f"no word on why there is no {view}")
        empty = self.browser.run("""[...document.querySelectorAll('main > section')]
            .filter(s => s.innerText.trim().length < 30).map(s => s.id)""")
        self.same("empty views", [], empty)
        self.same("a grid of many columns has room, and round marks", [True, ["0", "200", "400"]], self.browser.run("""(() => {
            const marks = [], grid = new HeatGrid({name: 'grid', rows: 2, columns: 2084, rowName: String, part: () => 0.5, label: String,
              mark: column => { marks.push(String(column)); return ''; }});
            return [grid.canvas.width <= 1100 && grid.canvas.width > 500, marks.slice(0, 3)]; })()"""))

        self.same("steps of a long run are drawn", True, self.browser.run("""stepWaits(Array.from({length: 65536}, (_, i) =>
            ({number: i, start_rel_ns: i, end_rel_ns: i + 1, waited_ns: i, worst_rank: 0, idle: {mpi_wait: 1, host_compute: 2, io: 3, lock: 4}}))).length === 3"""))
        self.same("names on the colours of the timeline are read", [], self.browser.run("""(() => {
            const light = c => [1, 3, 5].map(at => parseInt(c.slice(at, at + 2), 16) / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
              .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
            const colours = palette();
            return GROUPS.map(([group]) => colours.colour(group)).filter(c => { const [a, b] = [light(c), light(colours.on(c))].sort((x, y) => y - x);
              return (a + 0.05) / (b + 0.05) < 4.5; }); })()"""))

    def findings(self):
        count = self.browser.run("document.querySelectorAll('#findings > li').length")
        for i in range(count):
            self.browser.run(f"""document.querySelectorAll('#findings > li')[{i}]
                .querySelector('button').click()""")
            self.same(f"Show of finding {i + 1}", str(i + 1), self.browser.run(
                "document.querySelector('#findings > li.chosen')?.dataset.finding"))
            self.same("chips are shown", False,
                      self.browser.run("document.getElementById('chips').hidden"))
        if not self.report["devices"] and self.report["stragglers"] and not count:
            self.wrong("no late rank among the findings")
        if self.report["devices"] and not count:
            if "No cause above" not in self.text():
                self.wrong("no findings")
            self.same("the largest causes are there instead, and selected by their button", True, self.browser.run("""(() => {
                const rows = ledgerRows(theReport.all_devices.ledger).filter(([group]) => !BUSY.has(group)).sort((a, b) => b[2] - a[2]);
                const items = [...document.querySelectorAll('#kinds li')];
                return items.length === Math.min(3, rows.length) && items.every((item, i) => {
                  item.querySelector('button').click();
                  return selection.cause === rows[i][1]; }); })()"""))
        self.browser.key("Escape", "Escape")
        self.same("Escape selects nothing", True, self.browser.run(
            "selection.finding === '' && selection.ranks.length === 0"))

    def keys(self):
        self.browser.key("?", "Slash", 8)
        self.same("? opens the keys", True,
                  self.browser.run("document.querySelector('dialog').open"))
        self.browser.key("Escape", "Escape")
        self.same("Escape closes them", False,
                  self.browser.run("document.querySelector('dialog').open"))
        sections = self.browser.run("document.querySelectorAll('main > section').length")
        for i in range(1, min(9, sections) + 1):
            self.browser.key(str(i), f"Digit{i}")
            self.same(f"key {i}", True, self.browser.run(
                f"document.activeElement === document.querySelectorAll('main > section')[{i - 1}].querySelector('h2')"))
        field = self.browser.run("document.querySelector('input.filter') !== null")
        if field:
            self.browser.run("document.querySelector('input.filter').closest('details')?.setAttribute('open', '')")
            self.browser.run("document.querySelector('input.filter').focus()")
            self.browser.key("1", "Digit1")
            self.same("a key in a field is text", "1", self.browser.run(
                "document.querySelector('input.filter').value"))
            self.browser.run("""(() => { const f = document.querySelector('input.filter');
                f.value = ''; f.dispatchEvent(new Event('input')); f.blur(); })()""")

    def links(self):
        """A link to a finding selects it in another window; Back and Forward go through what
        was shown; its name does not depend on where it is in the list."""
        names = self.browser.run("findingItems().map(item => item.dataset.name)")
        self.same("names of findings, each once", sorted(set(names)), sorted(names))
        if len(names) < 2 or not self.browser.run("theTimeline !== null"):
            return
        shown = "[selection.finding, selection.ranks, selection.range]"
        for i in (0, 1):
            self.browser.run(f"findingItems()[{i}].querySelector('button').click()")
        wanted = self.browser.run(shown)
        for way, name in (("back", names[0]), ("forward", names[1])):
            self.browser.run(f"history.{way}()")
            self.browser.wait(f"selection.finding === '{name}'", f"{way} shows the finding of before")
        # The address is that of the other finding before the page has the event of it.
        self.browser.run(f"location.hash = findingLink('{names[0]}').split('#')[1]; keepAddress(); 0")
        self.browser.wait(f"selection.finding === '{names[0]}'", "an address that comes while that of before is to be kept")
        if self.is_live:
            return  # the page that a link opens is of a newer merge
        fragment = "#" + self.browser.run(f"findingLink('{names[1]}')").split("#")[1]
        self.open(fragment)
        self.same("what a link to a finding selects", wanted, self.browser.run(shown))
        self.same("it shows the timeline, with the ranks of the finding", [True, True], self.browser.run("""(() => {
            theTimeline.draw();
            const box = theTimeline.box.getBoundingClientRect(), most = theTimeline.top + theTimeline.tall;
            return [box.top < innerHeight && box.bottom > 0, selection.ranks.every(rank => !theTimeline.rankAt.has(rank) ||
              theTimeline.rankAt.get(rank) > theTimeline.top && theTimeline.rankAt.get(rank) < most)]; })()"""))
        self.open("#f=00000000")
        self.same("a finding that is not there selects nothing more", [[], None], self.browser.run("[selection.ranks, selection.range]"))

    def search(self):
        """Items are found by name: as many as there are, one after the other, and drawn."""
        if not self.browser.run("theTimeline !== null"):
            return
        self.browser.wait("document.documentElement.dataset.fine === 'yes'", "all items are read")
        # Many ranks have an item of that name at the same time: those come by their rows.
        name, many, places = self.browser.run("""(() => { const t = theTimeline, found = new Map();
            t.rows.forEach((row, place) => { const level = t.wholeLevel(row.lane);
              for (let i = 0; i < level.count; i++) {
                const name = t.nameOf(level, i), one = found.get(name) || [0, []];
                one[0] += level.many[i]; one[1].push([level.start[i], place]); found.set(name, one); } });
            const [name, [many, places]] = [...found].sort((a, b) => a[1][1].length - b[1][1].length).find(one => one[1][1].length > 2) || [...found][0];
            return [name, many, places.sort((a, b) => a[0] - b[0] || a[1] - b[1]).slice(0, 5)]; })()""")
        self.browser.run("select({...NOTHING}); theTimeline.show(...theTimeline.whole); goToView('timeline')")
        self.browser.key("/", "Slash")
        self.same("/ goes to the search", True, self.browser.run("document.activeElement === theTimeline.field"))
        self.browser.call("Input.insertText", text=f'"{name}"')
        self.same("the items of a name", True, self.browser.run(
            f"theTimeline.tip.textContent.startsWith(count({many}) + ' item')"))
        self.same("they are drawn", True, self.browser.run("""(() => { const t = theTimeline, seen = [];
            const context = {fillRect: (...box) => seen.push(box), set fillStyle(colour) {}};
            t.rows.forEach(row => drawFound(t, context, row, row.y)); return seen.length > 0; })()"""))
        at = "[theTimeline.found.from, theTimeline.found.row]"
        self.same("Enter goes from one to the next", places, [(self.browser.key("Enter", "Enter"), self.browser.run(at))[1] for _ in places])
        self.same("Shift+Enter goes back", places[-2::-1],
                  [(self.browser.key("Enter", "Enter", 8), self.browser.run(at))[1] for _ in places[1:]])
        self.same("the item is in view", True, self.browser.run(
            "selection.range[0] >= theTimeline.span[0] && selection.range[1] <= theTimeline.span[1]"))
        self.browser.run("document.activeElement.blur(); select({find: 'there is no such name'})")
        if "No item" not in self.browser.run("theTimeline.tip.textContent"):
            self.wrong("a name that is not there is not reported")
        self.browser.run("select({find: '/(/'}); theTimeline.draw()")
        if "no regular expression" not in self.browser.run("theTimeline.tip.textContent"):
            self.wrong("a broken expression of the timeline is not refused")
        self.browser.key("Escape", "Escape")

    def instances(self):
        """Of calls of one name a row shows those from its place: as many as the report counts, and no others."""
        wrong, rows = self.browser.run("""(() => {
            if (theTimeline === null || theTimeline.level() > 0 || theTimeline.index.items_hidden > 0) { return [[], 0]; }
            const counted = new Map(), wrong = [];
            for (const lane of theTimeline.lanes) {
              const level = lane.finest();
              for (let i = 0; i < level.count; i++) {
                const label = theTimeline.nameOf(level, i);
                counted.set(label, (counted.get(label) || 0) + level.many[i]); } }
            const rows = theReport.calls.filter(row => row.file && row.calls_in_run > 0 && theTimeline.labels.has(placed(row.name, row)));
            for (const row of rows) {
              CHOICES.calls.show(CHOICES.calls.of(row));
              if (selection.find !== '"' + placed(row.name, row) + '"' || counted.get(placed(row.name, row)) !== row.calls_in_run) {
                wrong.push([selection.find, counted.get(placed(row.name, row)) ?? 0, row.calls_in_run]); } }
            select({...NOTHING});
            return [wrong, rows.length]; })()""")
        self.same("calls from a place that are not as many as the report counts", [], wrong)
        if self.name == "late" and rows < 5:
            self.wrong(f"calls from {rows} places only are in the timeline")

    def rows_show(self):
        """A row of a table shows what it is of: items of its name, a rank, a function."""
        for member in ("kernels", "calls"):
            if self.report[member] and self.browser.run("theTimeline !== null"):
                name = self.browser.run(f"""(() => {{ const details = [...document.querySelectorAll('#view-tables details')]
                    .find(one => one.textContent.startsWith('{TABLES[member]} ('));
                    details.open = true; const row = details.querySelector('tbody tr'); row.click(); return row.firstChild.textContent; }})()""")
                self.same(f"a row of {member} shows its items", True, self.browser.run(
                    f"[alone => alone, alone => alone.slice(0, alone.lastIndexOf(' ('))].some(of => safe(of(selection.find.slice(1, -1))) === {json.dumps(name)}) "
                    "&& theTimeline.search !== null"))
        self.instances()
        # A function of C++ by the name that the flame graphs have, too.
        name = next((one.get("function_plain", one["function"]) for one in self.report["hot_spots"] if one["function"]), None)
        if name and self.browser.run("flameGraph !== null && flameGraph.flames.kinds[0].total > 0"):
            self.browser.run(f"flameGraph.lookFor({json.dumps(name)}, 'cpu')")
            self.same("a hot function is found in the flame graph", True, self.browser.run(
                "flameGraph.kind === 'cpu' && matchedTime(flameGraph.whole, nameMatcher(flameGraph.find)) > 0"))
            self.browser.run("flameGraph.find = flameGraph.search.value = ''; flameGraph.draw()")
        pair = self.browser.run("waitPairs(theReport).find(one => Number.isInteger(one.waiter) && one.waiter !== one.awaited) || null")
        if pair and self.browser.run("theTimeline !== null"):
            self.browser.run(f"selectPair({pair['waiter']}, {pair['awaited']})")
            self.same("only the waits of a pair are in the timeline", True, self.browser.run("""(() => { const w = theTimeline.index.waits;
                theTimeline.show(...theTimeline.whole); theTimeline.draw();
                return w.start.every((start, i) => !theTimeline.isWaitInView(i) || w.rank[i] === %d && w.whom[i] === %d); })()""" %
                (pair["waiter"], pair["awaited"])))
        self.browser.key("Escape", "Escape")
        if self.report["step_table"]["rows"]:
            self.same("steps that were dragged over are selected", True, self.browser.run("""(() => {
                const rows = theReport.step_table.rows, last = Math.min(3, rows.length - 1);
                stepPart(rows)(0, last);
                return selection.range[0] === rows[0].start_rel_ns && selection.range[1] === rows[last].end_rel_ns; })()"""))
            self.browser.run("selectStep(theReport.step_table.rows[0], [])")
            self.same("a step has its own letter in the address", True, self.browser.run(
                "hashOf().endsWith('s=' + theReport.step_table.rows[0].number) || theReport.step_table.rows[0].start_rel_ns < 0"))
            self.browser.key("Escape", "Escape")
        self.same("each row that leads to a flame graph or the timeline has its target", [], self.browser.run("""(() => {
            const wrong = [];
            for (const row of document.querySelectorAll('#view-tables tr.choice')) {
              if (/flame graph/.test(row.title)) {
                const into = flameGraph ? (row.click(), matchedTime(flameGraph.whole, nameMatcher(flameGraph.find))) : 0;
                if (!(into > 0)) { wrong.push(row.textContent); }
              } else if (/timeline/.test(row.title) && theTimeline === null) { wrong.push(row.textContent); }
            }
            if (flameGraph) { flameGraph.find = flameGraph.search.value = ''; flameGraph.change({kind: flameGraph.kindButtons[0].dataset.kind}); }
            select({...NOTHING});
            return wrong; })()"""))
        if self.report["run"]:
            self.same("a command that was copied says so", True, self.browser.run("""(async () => {
                const row = document.querySelector('#view-more tr.choice'), status = document.querySelector('#view-more [role=status]');
                const shown = new Promise(done => new MutationObserver(() => done(status.textContent)).observe(status, {childList: true}));
                row.click();
                return /^(Copied|Not copied)$/.test(await shown); })()"""))
        said = self.browser.run("[...document.querySelectorAll('#view-more table')].map(one => one.textContent).join(' ')")
        if self.report["run"] and "ckmerge --quiet --output perfetto " not in said:
            self.wrong("the commands for other formats are missing")

    def address(self):
        self.browser.run("viewAt = ''; select({...NOTHING, range: [1000, 2000000], ranks: [0, 2, 3], cause: 'mpi_wait', find: 'a b'})")
        self.browser.wait("location.hash === hashOf()", "the address has what is selected")
        fragment = self.browser.run("location.hash")
        self.same("the address", "#t=1000-2000000&r=0,2-3&c=mpi_wait&q=a%20b", fragment)
        self.open(fragment)
        known = [one["rank"] for one in self.report["ranks"]]
        self.same("the selection of an address, of ranks that there are",
                  [[1000, 2000000], [rank for rank in (0, 2, 3) if rank in known or not known], "mpi_wait", "a b"],
                  self.browser.run("[selection.range, selection.ranks, selection.cause, selection.find]"))
        self.hostile_address()
        self.open("#r=<img>&t=5-1&c=%22%3E&f=99999&x&q=%E0%A4&v=<b>&s=x&w=1-&constructor=1")
        self.same("a broken address selects nothing", True, self.browser.run(
            "JSON.stringify(selection) === JSON.stringify(NOTHING)"))

    def commands(self):
        """A shell takes a run's name in a command for one word, whatever it is, and does no more."""
        for name in ("x;curl evil|sh", "with blanks", "-rf", "it's $(id) `id`", "~", "=ls", "tab\tline\nbell\x07\u202e\\",
                     "long'" + "n';id;'" * 60, "\u00e9t\u00e9"):
            commands = self.browser.run("""(name => [...exportsOf({run: name}).map(one => one.command), ...(theTimeline ? (() => {
                const {report} = theTimeline;
                theTimeline.report = {...report, run: name};
                const made = [theTimeline.command(), theTimeline.wholeCommand()];
                theTimeline.report = report;
                return made; })() : [])])(%s)""" % json.dumps(name))
            for command in commands[:1] + commands[-2:]:
                taken = subprocess.run(["/bin/bash", "-c", "ckmerge() { printf '%s\\0' \"$@\"; }\n" + command], capture_output=True,
                                       check=False, env={"PATH": "/nonexistent", "LC_ALL": "C.UTF-8"})
                self.same("the last word of " + repr(command), "./" * name.startswith("-") + name,
                          taken.stdout.decode().split("\0")[-2] if taken.stdout else taken.stderr.decode())
            self.same("a command is shown whole", True, self.browser.run("""(command => {
                const columns = [{...headColumn('command', row => row), isWhole: true}];
                return table('t', columns, [command]).querySelector('tbody th').textContent === command &&
                    tabbed(columns, [command]).split('\\n')[1] === command; })(%s)""" % json.dumps(commands[0])))
        self.same("the commands of other formats have it", True, self.browser.run("""theReport.run === null || theReport.run === undefined ||
            [...document.querySelectorAll('#view-more tbody tr')]
              .some(row => row.textContent.includes('ckmerge --quiet --output json ' + shellWord(theReport.run)))"""))

    def hostile_address(self):
        """An expression of an address waits for Enter, no address is cut within a letter,
        and a long name is whole in it."""
        began = time.monotonic()
        self.open("#q=" + quote("/(.+)+\x01/"))
        self.same("an expression of an address is selected", "/(.+)+\x01/", self.browser.run("selection.find"))
        if time.monotonic() - began > 30:
            self.wrong("an expression of an address is run")
        if self.browser.run("theTimeline !== null"):
            self.open("#q=/./")
            self.same("an expression of an address is a text", [True, True, False], self.browser.run(
                "[theTimeline.tip.textContent.includes('Enter runs it'), heldExpression === '/./', theTimeline.search.matches('plain')]"))
            self.browser.run("theTimeline.field.focus()")
            self.browser.key("Enter", "Enter")
            self.same("Enter runs it", [True, True], self.browser.run(
                "[theTimeline.search.matches('plain'), selection.range !== null]"))
        for length in (199, 4095):
            self.open("#q=" + "a" * length + quote("\U0001f600"))
            self.same("an address that ends within a letter", "#" + ("q=" + "a" * 199 + quote("\U0001f600") if length == 199 else ""),
                      self.browser.run("(viewAt = '', hashOf())"))
        self.same("half a letter in an address", "#q=" + quote("a\ufffdb"), self.browser.run(
            "(select({...NOTHING, find: 'a' + String.fromCharCode(0xd83d) + 'b'}), hashOf())"))
        self.browser.run("visit({...NOTHING}); showNamed('n'.repeat(1500)); viewAt = ''")
        self.open(self.browser.run("hashOf()"))
        self.same("a long name of an address", ['"' + "n" * 1500 + '"'], self.browser.run("[selection.find]"))

    def timeline(self):
        """It is drawn, zooms by keys, and shows the example of a finding."""
        canvas = "document.querySelector('#view-timeline .timeline canvas')"
        if not self.browser.run(canvas + " !== null"):
            return
        picture = canvas + ".toDataURL()"
        colours = self.browser.run("""(() => { const c = %s, d = c.getContext('2d')
            .getImageData(0, 0, c.width, c.height).data, seen = new Set();
            for (let i = 0; i < d.length; i += 4) seen.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]);
            return seen.size; })()""" % canvas)
        if colours < 4:
            self.wrong(f"the timeline has {colours} colours")
        self.browser.run(canvas + ".focus()")
        self.browser.key("0", "Digit0")
        self.browser.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        whole = self.browser.run(picture)
        self.browser.key("w", "KeyW")
        self.browser.wait(f"{picture} !== {json.dumps(whole)}", "key w zooms in")
        self.browser.key("0", "Digit0")
        self.browser.wait(f"{picture} === {json.dumps(whole)}", "key 0 shows all again")
        for i, cause in enumerate(self.report["causes"][:5]):
            item = f"document.querySelector('#findings > li[data-cause=\"{i}\"]')"
            if cause.get("example") and self.browser.run(item + " !== null"):
                self.browser.run(item + ".querySelector('button').click()")
                self.same("the range of Show", [cause["example"]["start_rel_ns"],
                                                cause["example"]["end_rel_ns"]],
                          self.browser.run("selection.range"))
                self.same("the end of its wait is in view, with an arrow", True, self.browser.run("""(() => {
                    const [from, to] = selection.range, end = theTimeline.arrowEnd(from, to);
                    theTimeline.draw();
                    return end <= theTimeline.span[1] && (end === to || theTimeline.arrows > 0); })()"""))
                self.browser.wait(f"{picture} !== {json.dumps(whole)}", "Show moves the timeline")
                self.typical(item, cause)
        self.browser.key("Escape", "Escape")

    def deaths(self):
        """A rank that died has a mark with a word at its end, and the heading leads there."""
        dead = [one for one in self.report["ranks"] if one["end"] == "signal" and one["end_time_ns"] and one["asked_signal"] != one["code"]]
        if not dead or not self.browser.run("theTimeline !== null"):
            return
        at = dead[0]["end_time_ns"] - self.report["whole"]["start_ns"]
        drawn = """(() => { const t = theTimeline, seen = [];
            const context = {fillRect: (...box) => seen.push(box), fillText: (...text) => seen.push(text), measureText: () => ({width: 80}), set fillStyle(colour) {}};
            t.drawDeaths(context); return seen.filter(one => typeof one[0] === 'string').map(one => one[0]); })()"""
        self.browser.run("select({...NOTHING}); theTimeline.show(...theTimeline.whole); theTimeline.draw(); 0")
        word = f"died: signal {dead[0]['code']}"
        self.same("the mark of a rank that died", True, word in self.browser.run(drawn))
        self.browser.run(f"theTimeline.show({at} + 1000, theTimeline.whole[1])")
        if at + 1000 < self.browser.run("theTimeline.whole[1]"):
            self.same("behind it there is when it was", True, any(one.startswith(word + " at ") for one in self.browser.run(drawn)))
        elif self.name == "dead":
            self.wrong("nothing is behind the death: the run is no test of that")
        self.browser.run("theTimeline.show(...theTimeline.whole); theTimeline.drawnote()")
        self.same("the note does not call it a thread in no call", True, self.browser.run(
            "/or had ended with its rank/.test(theTimeline.note.textContent) || !theTimeline.rows.some(row => row.lane.info.kind === 'calls')"))
        if not self.browser.run(f"""(() => {{ const link = [...document.querySelectorAll('header .alarm button')]
                .find(one => /^rank {dead[0]['rank']}$/.test(one.textContent)); link?.click(); return link !== undefined; }})()"""):
            if self.name == "dead":
                self.wrong("the heading has no link to the rank that died")
            return
        self.same("the link of the heading leads to its end", [True, [dead[0]["rank"]]], self.browser.run(
            f"[theTimeline.span[0] < {at} && theTimeline.span[1] > {at}, selection.ranks]"))
        self.browser.key("Escape", "Escape")

    def typical(self, item, cause):
        """A finding whose usual stretch is not its longest shows that, too, and says which it shows."""
        typical, longest = cause["typical"], cause["example"]
        if typical["end_ns"] - typical["start_ns"] > longest["end_ns"] - longest["start_ns"]:
            self.wrong("a stretch of median length is longer than the longest")
        there = self.browser.run(f"""(() => {{ const one = [...{item}.querySelectorAll('button')].find(b => b.textContent === 'Show typical');
            one?.click(); return one !== undefined; }})()""")
        self.same("the typical stretch has a button", typical["start_ns"] != longest["start_ns"], there)
        if there:
            self.same("what Show typical shows", [[typical["start_rel_ns"], typical["end_rel_ns"]], typical["rank"], True], self.browser.run(
                "[selection.range, selection.ranks.includes(%d) ? %d : selection.ranks, /median length/.test(theTimeline.tip.textContent)]" %
                (typical["rank"], typical["rank"]) if typical["rank"] is not None else "[selection.range, null, /median length/.test(theTimeline.tip.textContent)]"))

    def clocks(self):
        """How exactly clocks are known over time is where the page says how far to trust it."""
        clocks = [one for one in self.report["clocks"] if "bound_parts_ns" in one]
        grid = "[...document.querySelectorAll('#view-trust canvas')].find(one => /how exactly each clock/.test(one.getAttribute('aria-label')))"
        self.same("bounds of clocks are shown", any(any(part != 0 for part in one["bound_parts_ns"]) for one in clocks),
                  self.browser.run(grid + " !== undefined"))
        if clocks and self.browser.run(grid + " !== undefined"):
            names = self.browser.run("clockParts(theReport, theReport.clocks).map(part => part.clock)")
            self.same("names of clocks, each another one", len(clocks), len(set(names)))
            self.same("their largest", max(one["bound_max_ns"] for one in clocks),
                      max(part or 0 for one in clocks for part in one["bound_parts_ns"]))
            self.same("a part of the region is selected", [True, True], self.browser.run("""(() => { const c = %s, at = c.getBoundingClientRect();
                c.dispatchEvent(new MouseEvent('click', {clientX: at.right - 3, clientY: at.bottom - 3}));
                const {range} = selection, region = theReport.region;
                const length = region.end_rel_ns - region.start_rel_ns;
                select({...NOTHING});
                return [range[1] === region.end_rel_ns, Math.abs(64 * (range[1] - range[0]) / length - 1) < 0.01]; })()""" % grid))

    def flames(self):
        """Flame graphs zoom, find, turn over, follow the range and the heat map."""
        if not self.browser.run("flameGraph !== null"):
            return
        graph = "flameGraph."
        kinds = self.browser.run("flameGraph.kindButtons.map(b => b.dataset.kind)")
        for kind in kinds:
            self.browser.run(f"document.querySelector('#view-flames [data-kind={kind}]').click()")
            total = self.browser.run(f"flameGraph.flames.kinds.find(k => k.name === '{kind}').total")
            self.same(f"time of {kind}", total, self.browser.run(graph + "whole.ns"))
            self.same(f"frames of {kind} lie within each other", [], self.browser.run("""flameGraph.boxes
                .filter(b => b.x < -0.5 || b.x + b.w > flameGraph.width + 0.5).map(b => b.node.name)"""))
            self.browser.run("document.querySelector('#view-flames details').open = true")
            # A box that is opened reports it behind the script that opened it.
            self.browser.wait("document.querySelectorAll('#view-flames tbody tr').length > 0",
                              f"{kind} has a table of functions")
            self.browser.run("document.querySelector('#view-flames details').open = false")
        box = """flameGraph.boxes.filter(b => b.node.depth === 1).sort((a, b) => b.w - a.w)[0]"""
        self.browser.run(f"""(() => {{ const c = flameGraph.canvas, box = {box}, at = c.getBoundingClientRect();
            c.dispatchEvent(new MouseEvent('click', {{clientX: at.left + box.x + 2, clientY: at.top + box.y + 4}})); }})()""")
        self.same("a click zooms in", True, self.browser.run(
            "flameGraph.zoomed !== null && flameGraph.boxes.some(b => b.node === flameGraph.zoomed && b.w > flameGraph.width * 0.99)"))
        name = self.browser.run(graph + "zoomed.name")
        self.browser.run(f"""(() => {{ const f = flameGraph.search; f.value = {json.dumps(name)};
            f.dispatchEvent(new Event('input')); }})()""")
        if "Found: " not in self.browser.run(graph + "note.textContent"):
            self.wrong("the flame graph does not tell what was found")
        self.browser.run("""(() => { const f = flameGraph.search; f.value = '/(/'; f.dispatchEvent(new Event('input')); })()""")
        if "no regular expression" not in self.browser.run(graph + "note.textContent"):
            self.wrong("a broken expression is not refused")
        self.browser.run("""(() => { const f = flameGraph.search; f.value = ''; f.dispatchEvent(new Event('input')); })()""")
        self.browser.run(graph + "canvas.focus()")
        self.browser.key("c", "KeyC")
        self.same("key c shows callers and callees", [name, 2], self.browser.run("[flameGraph.sandwich, flameGraph.trees.length]"))
        self.browser.run(graph + "resetButton.click()")
        for one in ("ranksButton", "shapeButton", "hideButton", "resetButton"):
            self.browser.run(f"flameGraph.{one}.click()")
        self.seconds()

    def seconds(self):
        """Two clicks on the heat map select what the flame graph shows then."""
        canvas = "document.querySelector('#view-seconds canvas')"
        click = """(() => { const c = %s, at = c.getBoundingClientRect();
            c.dispatchEvent(new MouseEvent('click', {clientX: at.left + %s, clientY: at.top + %s})); })()"""
        self.browser.run(canvas + ".scrollIntoView({block: 'center'}); 0")
        top = self.browser.run(canvas + ".getBoundingClientRect().top")
        self.browser.run(click % (canvas, "1", "1"))
        self.same("the map stays where it was", True, self.browser.run(f"Math.abs({canvas}.getBoundingClientRect().top - {top}) < 2"))
        self.browser.run(click % (canvas, "c.width / 2", "c.height / 2"))
        self.same("two clicks select a range", True, self.browser.run(
            "selection.range !== null && selection.range[1] > selection.range[0]"))
        self.same("the flame graph is of the range", True, self.browser.run("""(() => {
            const kind = flameGraph.flames.kinds.find(k => k.name === flameGraph.kind);
            const sum = pathTimes(flameGraph.flames, kind, selection.range).reduce((a, b) => a + b, 0);
            return sum === flameGraph.whole.ns && sum <= kind.total; })()"""))
        self.browser.key("Escape", "Escape")
        left, top, wide, high = self.browser.run("""(c => { c.scrollIntoView({block: 'center'}); const at = c.getBoundingClientRect();
            return [at.left, at.top, at.width, at.height]; })(%s)""" % canvas)
        for kind, part in (("mousePressed", 0.4), ("mouseMoved", 0.5), ("mouseReleased", 0.8)):
            self.browser.call("Input.dispatchMouseEvent", type=kind, x=left + part * wide, y=top + part * high, button="left", clickCount=1)
        self.same("a drag selects the time between", True, self.browser.run("""(() => { const {width_ns: width, cells} = flameGraph.flames.index;
            return selection.range !== null && selection.range[1] - selection.range[0] > (cells > 2 ? width : 0); })()"""))
        self.browser.key("Escape", "Escape")

    def moving_keys(self):
        """s a d f and the arrows move the timeline, where they say."""
        if not self.browser.run("theTimeline !== null"):
            return
        self.browser.run("select({...NOTHING}); theTimeline.show(theTimeline.whole[1] * 0.4, theTimeline.whole[1] * 0.5)")
        self.browser.run("theTimeline.cursor = null; theTimeline.canvas.focus()")
        for key, code, wanted in (("s", "KeyS", [-1, 1]), ("w", "KeyW", [1, -1]), ("a", "KeyA", [-1, -1]), ("d", "KeyD", [1, 1]),
                                  ("ArrowDown", "ArrowDown", [-1, 1]), ("ArrowUp", "ArrowUp", [1, -1]),
                                  ("ArrowLeft", "ArrowLeft", [-1, -1]), ("ArrowRight", "ArrowRight", [1, 1])):
            before = self.browser.run("theTimeline.span")
            self.browser.key(key, code)
            after = self.browser.run("theTimeline.span")
            self.same(f"key {key} moves both ends", wanted, [(b > a) - (b < a) for a, b in zip(before, after)])
        self.browser.run("theTimeline.choose(theTimeline.whole[1] * 0.2, theTimeline.whole[1] * 0.3)")
        self.browser.key("f", "KeyF")
        self.same("f fits what is selected", True, self.browser.run("""(() => { const [a, b] = selection.range, [from, to] = theTimeline.span;
            return from < a && to > b && (b - a) / (to - from) > 0.7; })()"""))
        self.browser.key("Escape", "Escape")

    def tabs(self):
        """Tab reaches everything that can be clicked."""
        self.browser.run("document.activeElement.blur(); scrollTo(0, 0); window.reached = new Set()")
        self.browser.run("document.addEventListener('focusin', event => window.reached.add(event.target)); 0")
        most = self.browser.run("document.querySelectorAll('button, input, canvas, summary, [tabindex=\"0\"]').length")
        for _ in range(most + 5):
            self.browser.key("Tab", "Tab")
        self.same("what Tab does not reach", [], self.browser.run("""[...document.querySelectorAll('button, input, canvas[tabindex], summary')]
            .filter(node => isSeen(node) && !node.disabled && !node.closest('[role=grid]') && !window.reached.has(node)).map(node => node.outerHTML.slice(0, 80)).slice(0, 5)"""))

    def grids(self):
        """A table is one stop of Tab; keys go to each of its cells, and choose what a click does."""
        self.browser.run("document.querySelectorAll('#view-tables details').forEach(d => d.open = true)")
        self.same("tables that Tab does not reach once", [], self.browser.run("""[...document.querySelectorAll('[role=grid]')]
            .filter(grid => isSeen(grid) && grid.querySelectorAll('[tabindex="0"]').length !== 1).map(grid => grid.getAttribute('aria-label'))"""))
        most = "[...document.querySelectorAll('#view-tables [role=grid]')].sort((a, b) => b.rows.length - a.rows.length)[0]"
        at = "[document.activeElement.closest('tr').rowIndex, document.activeElement.closest('th, td').cellIndex]"
        rows, columns = self.browser.run(f"""(() => {{ const grid = window.grid = {most};
            grid.querySelector('[tabindex="0"]').focus(); return [grid.rows.length - 1, grid.rows[0].cells.length - 1]; }})()""")
        self.same("the first stop is the first row", [1, 0], self.browser.run(at))
        for key, modifiers, wanted in (("ArrowRight", 0, [1, 1]), ("ArrowDown", 0, [min(2, rows), 1]), ("End", 0, [min(2, rows), columns]),
                                       ("End", 2, [rows, columns]), ("ArrowDown", 0, [rows, columns]), ("Home", 2, [0, 0]),
                                       ("ArrowUp", 0, [0, 0]), ("PageDown", 0, [min(10, rows), 0]), ("PageUp", 0, [0, 0])):
            self.browser.key(key, key, modifiers)
            self.same(f"{key} of a table", wanted, self.browser.run(at))
        self.browser.key("Enter", "Enter")
        self.same("Enter on a head sorts, and the focus stays", [True, [0, 0]], self.browser.run(
            f"[document.activeElement.closest('th').getAttribute('aria-sort') !== 'none', {at}]"))
        self.same("one cell can be reached by Tab then, too", 1, self.browser.run("window.grid.querySelectorAll('[tabindex=\"0\"]').length"))
        if self.browser.run("""(() => { window.choice = document.querySelector('#view-tables tr.choice');
                window.choice?.cells[0].focus(); return window.choice !== null; })()"""):
            self.browser.run("select({...NOTHING})")
            self.browser.key("Enter", "Enter")
            self.same("Enter chooses the row, which shows it", ["true", 1], self.browser.run(
                "[window.choice.getAttribute('aria-selected'), document.querySelectorAll('tr[aria-selected]').length]"))
            self.browser.run("flameGraph && flameGraph.change({find: flameGraph.search.value = ''}); select({...NOTHING, ranks: [0]})")
            self.browser.wait("document.getElementById('selected-words').textContent === 'Selected: rank 0'", "a live region reads what is selected")
            self.browser.key("Escape", "Escape")
            self.browser.wait("document.getElementById('selected-words').textContent === 'Nothing is selected.'", "a live region reads that nothing is")
            self.same("no row is marked then", 0, self.browser.run("document.querySelectorAll('tr[aria-selected]').length"))
        self.browser.run("document.querySelectorAll('#view-tables details').forEach(d => d.open = false); document.activeElement.blur()")

    def more_keys(self):
        """g m p [ ] , . of the timeline; pictures of views."""
        if not self.browser.run("theTimeline !== null"):
            return
        self.browser.run("select({range: null, ranks: []})")
        self.browser.key("g", "KeyG")
        part = min(1000000, self.report["whole"]["ns"] // 8)  # profiles may be short
        self.browser.run(f"document.getElementById('go-to').value = '{part / 1e6:.6f}ms - {2 * part / 1e6:.6f}ms'")
        self.browser.key("Enter", "Enter")
        self.same("g goes to a range", [part, 2 * part], self.browser.run("selection.range"))
        self.browser.key("m", "KeyM")
        self.browser.run(f"select({{range: [{3 * part}, {4 * part}]}})")
        self.browser.key("M", "KeyM", 8)
        self.same("m marks, Shift+m keeps", [[3 * part, 4 * part], [part, 2 * part]], self.browser.run("theTimeline.marks"))
        rank = self.browser.run("theTimeline.rows[theTimeline.rows.length - 1].lane.info.rank")
        self.browser.run(f"theTimeline.cursor = null; select({{ranks: [{rank}]}})")
        self.browser.key("p", "KeyP")
        self.same("p puts the rank at the top", rank, self.browser.run("theTimeline.rows[0].lane.info.rank"))
        self.browser.key("p", "KeyP")
        self.browser.run("select({range: theTimeline.whole, ranks: []})")
        if self.browser.run("theTimeline.index.waits.whom.some(whom => whom >= 0)"):
            self.browser.key("[", "BracketLeft")
            self.same("[ selects the longest wait", True, self.browser.run("""(() => {
                const w = theTimeline.index.waits, i = theTimeline.chain[0];
                return w.length.every((ns, k) => w.whom[k] < 0 || ns <= w.length[i]) && selection.ranks.includes(w.whom[i]); })()"""))
            self.browser.key("[", "BracketLeft")
            self.browser.key("]", "BracketRight")
            self.browser.key("]", "BracketRight")
        if self.browser.run("theTimeline.rows.some(r => r.lane.info.items > 2)"):
            self.browser.run("""(() => { const row = theTimeline.rows.find(r => r.lane.info.items > 2), l = row.lane.finest();
                theTimeline.show(0, theTimeline.whole[1]); theTimeline.picked = {row, at: l.start[1]}; window.second = l.start[1]; })()""")
            self.browser.key(".", "Period")
            self.same(". is the next item", True, self.browser.run("theTimeline.picked.at > window.second"))
        self.browser.key("q", "KeyQ")
        self.browser.wait("theTimeline.listed.body.querySelectorAll('tbody tr').length > 0", "q lists what is in view")
        lists = """theTimeline.listed.of[0] === theTimeline.span[0] && theTimeline.listed.of[1] === theTimeline.span[1] &&
            JSON.stringify(theTimeline.listed.table.rows.map(item => [item.level.start[item.i], item.length])) ===
            JSON.stringify(theTimeline.itemsInView().map(item => [item.level.start[item.i], item.length]))"""
        self.browser.key("0", "Digit0")
        self.browser.wait(lists, "the list is of the whole run")
        self.same("the longest items in view are listed", True, self.browser.run("""(() => { const t = theTimeline, all = [], [from, to] = t.span;
            for (const {lane} of t.rows) {
              const level = t.levelAt(lane, (from + to) / 2, (to - from) / 1000);
              for (let i = firstBehind(level, from); i < level.count && level.start[i] < to; i++) { all.push(level.end[i] - level.start[i]); } }
            return JSON.stringify(t.itemsInView().map(item => item.length)) === JSON.stringify(all.sort((a, b) => b - a).slice(0, ITEMS_LISTED)); })()"""))
        self.same("a list of the same items anew keeps the focus, and which one was chosen", [True, True], self.browser.run("""(() => {
            const {table} = theTimeline.listed, line = () => document.activeElement.closest('tr'), last = table.drawn.length;
            table.body.rows[last - 1].cells[1].focus();
            document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', bubbles: true}));
            const shown = line().textContent;
            table.show(theTimeline.itemsInView());
            return [table.body.contains(document.activeElement) && line().textContent === shown, line().getAttribute('aria-selected') === 'true']; })()"""))
        self.browser.run("select({...NOTHING}); theTimeline.show(...theTimeline.whole); 0")
        self.browser.wait(lists, "the list is of the whole run still")
        shown = self.browser.run("theTimeline.listed.body.innerText")
        self.browser.run("theTimeline.canvas.focus(); theTimeline.show(...theTimeline.whole.map(ns => 0.4 * ns + theTimeline.whole[1] / 20)); 0")
        for _ in range(12):
            self.browser.key("w", "KeyW")
        self.browser.wait(lists, "the list is of what is in view")
        self.browser.key("0", "Digit0")
        self.browser.wait(lists + f" && theTimeline.listed.body.innerText === {json.dumps(shown)}", "the list is of the whole run again")
        self.browser.key("q", "KeyQ")
        self.browser.run("theTimeline.marks = []")
        self.browser.key("Escape", "Escape")
        for name in ("theTimeline", "flameGraph"):
            picture = self.browser.run("""(of => {
                if (!of) { return '<svg xmlns="http://www.w3.org/2000/svg"><rect/></svg>'; }
                const context = new SvgContext(of.canvas.getContext('2d'));
                of.paint(context);
                return context.text(of.width, of.tall); })(%s)""" % name)
            if not re.search("<[^>]*rect", ElementTree.tostring(
                    ElementTree.fromstring(picture), encoding="unicode")):
                self.wrong(f"{name} is no picture")

    def detail(self, part):
        """A page of a part of a large run, dropped on that of all, fills it in."""
        with open(part, encoding="utf8") as file:
            text = file.read()
        self.same("the page is folded", True, self.browser.run("theTimeline.index.level_ns > 0"))
        self.browser.wait("document.documentElement.dataset.fine === 'yes'", "all items are read")
        self.same("findings", True, self.browser.run("document.querySelectorAll('#findings > li').length > 1"))
        self.same("findings without a close look", [], self.browser.run("""blockJson('report').then(report =>
            [...document.querySelectorAll('#findings > li')].filter(item => {
              const {start_rel_ns: from, end_rel_ns: to} = report.causes[item.dataset.cause].example;
              theTimeline.show(from, to);
              return !theTimeline.closeRanks().includes(report.causes[item.dataset.cause].example.rank);
            }).map(item => item.textContent.slice(0, 60)))"""))
        if "ckmerge --quiet --output html=part.html --from " not in self.browser.run("theTimeline.note.textContent"):
            self.wrong("no command for the part in view")
        self.drop(("part.html", text))
        self.browser.wait("theTimeline.details.some(one => one.from > 0)", "the part is taken")
        self.same("items of the part are exact", [True, True], self.browser.run("""(() => {
            const d = theTimeline.details.at(-1), row = theTimeline.rows.find(r => r.lane.info.kind === 'queue');
            const middle = (d.from + d.to) / 2, level = theTimeline.levelAt(row.lane, middle);
            const out = theTimeline.levelAt(row.lane, d.to + 10);
            return [level !== out && level.many.slice(0, level.count).every(n => n === 1),
              selection.range[0] === d.from && selection.range[1] === d.to]; })()"""))
        self.browser.run("theTimeline.draw()")
        self.hostile_parts(text)
        self.cut_parts(text)
        with open(os.path.join(os.path.dirname(part), "all.html"), encoding="utf8") as file:
            self.drop(("all.html", file.read()))
        self.browser.wait("theTimeline.level() === 0", "a larger page of the whole run is taken")
        self.same("close looks that are not all that there was", [], self.browser.run("""(() => {
            const all = theTimeline.details.at(-1), wrong = [];
            const items = (level, from, to) => { const found = [];
              for (let i = firstBehind(level, from); i < level.count && level.start[i] < to; i++) {
                found.push([level.start[i], level.end[i], level.kind[i]]); }
              return JSON.stringify(found); };
            for (const close of theTimeline.details.filter(one => one.ranks)) {
              for (const [key, lane] of close.lanes) {
                if (items(lane.finest(), 0, Infinity) !== items(all.lanes.get(key).finest(), close.from, close.to)) {
                  wrong.push(key + ' ' + close.from); } } }
            return wrong; })()"""))
        self.same("every item is exact then", True, self.browser.run(
            "[...theTimeline.details.at(-1).lanes.values()].every(lane => lane.finest().many.every(n => n === 1))"))
        self.browser.run("theTimeline.draw()")

    def fine(self, path):
        """A long run is drawn from a copy, and has all its items behind that."""
        self.browser.open(path)
        self.browser.wait("document.documentElement.dataset.fine === 'yes'", "all items are read")
        self.same("a coarse copy has the same items, and far fewer of its own", [True, True, True],
                  self.browser.run("""(() => { const fine = [...theTimeline.details[0].lanes.values()];
                      const many = lanes => lanes.reduce((sum, lane) => sum + lane.finest().many.reduce((a, b) => a + b, 0), 0);
                      const items = lanes => lanes.reduce((sum, lane) => sum + lane.info.items, 0);
                      return [many(fine) === many(theTimeline.lanes), items(fine) > 4 * items(theTimeline.lanes),
                        fine.every(lane => lane.finest().many.every(n => n === 1))]; })()"""))
        self.same("items are exact where one looks closely", True, self.browser.run("""(() => {
            const row = theTimeline.rows.find(r => r.lane.info.kind === 'queue'), middle = theTimeline.whole[1] / 2;
            theTimeline.show(middle, middle + 20000); theTimeline.draw();
            const level = theTimeline.levelAt(row.lane, middle + 10000);
            return level.many.slice(firstBehind(level, middle), firstBehind(level, middle + 20000)).every(n => n === 1); })()"""))

    def raster(self, path):
        """Of many ranks there is a picture: each cell has the class with most time in the
        lanes, and what is rare has a pixel of its colour."""
        self.browser.open(path)
        self.browser.wait("document.documentElement.dataset.ready === 'yes'", "the page of many ranks is drawn")
        self.same("items are exact, ranks, cells", [0, 96, True], self.browser.run(
            "[theTimeline.index.level_ns, theRaster.raster.ranks.length, theRaster.raster.columns > 1000]"))
        self.same("cells that are not as the lanes", 0, self.browser.run(RASTER_CELLS))
        drawn = self.browser.run(RASTER_RARE)
        if not (drawn[0] > 100 and drawn[1] == 0):
            self.wrong(f"rare items without a pixel of their colour (of, missed): {drawn}")
        self.same("a click shows the rank", True, self.browser.run("""(() => { const c = theRaster.canvas, at = c.getBoundingClientRect();
            c.dispatchEvent(new MouseEvent('click', {clientX: at.left + at.width / 2, clientY: at.top + at.height / 2 + 1}));
            return selection.ranks.length === 1 && selection.ranks[0] === 48 && selection.range[1] > selection.range[0]; })()"""))
        refused = self.browser.run("""(() => { const {index} = theRaster.raster, bytes = new Uint8Array(4e5);
            return [{}, {columns: 1e12}, {columns: -1}, {marks: 1e9}, {ranks: 7}, {classes: []}, {cell_ns: 0}, {version: 2},
              {start_ns: null}, {columns: 4000}].map(change => {
                try { rasterOf({...index, ...change}, change.version ? bytes : Object.keys(change).length === 0 ? bytes.subarray(0, 100) : bytes); return 'taken'; }
                catch (error) { return error.message; } }).filter(why => why === 'taken' || /undefined|not a function/.test(why)); })()""")
        self.same("hostile rasters that were taken", [], refused)
        for fault in self.browser.complaints():
            self.wrong(f"many ranks: {fault}")

    def cut_parts(self, text):
        """A dropped page that ends anywhere is refused in a line, or has all that it needs."""
        said = self.browser.run("""(async text => { const wrong = [], note = document.createElement('p'), into = document.createElement('div');
            const before = theTimeline.details.length;
            for (let end = 0; end < text.length - 4096; end += 4096) {
              note.textContent = '';
              into.replaceChildren();
              await compareWith(theReport, [new File([text.slice(0, end)], 'cut.html')], into, note);
              const isTaken = theTimeline.details.length > before;
              if (isTaken) { theTimeline.details.length = before; }
              if (!isTaken && (!note.textContent.startsWith('cut.html: ') || note.textContent.includes('\\n')) && into.children.length === 0) {
                wrong.push(end); }
            }
            select({...NOTHING});
            return wrong; })(%s)""" % json.dumps(text))
        self.same("cut pages that are neither refused nor whole", [], said)

    def hostile_parts(self, text):
        """What is wrong with a dropped page is found before it is drawn."""
        cases = [("lanes", lambda j: j["lanes"][0].update(items=10 ** 12)),
                 ("lanes", lambda j: j["lanes"][0].update(offset=-5)),
                 ("lanes", lambda j: j["lanes"][0].update(bytes=10 ** 15)),
                 ("lanes", lambda j: j["lanes"][0].update(kind="<img>")),
                 ("lanes", lambda j: j["lanes"][0].update(tick_ns=0)),
                 ("lanes", lambda j: j.update(lanes=[None])),
                 ("lanes", lambda j: j.update(names={"length": 10 ** 9}))]
        whole = [("flames", lambda j: j.update(nodes=10 ** 12)),
                 ("flames", lambda j: j.update(cells=-1)),
                 ("flames", lambda j: j["kinds"][2].update(paths=10 ** 9)),
                 ("flames", lambda j: j["kinds"][2].update(name="constructor")),
                 ("flames", lambda j: j.update(frames=[])),
                 ("flames", lambda j: j.update(width_ns=0)),
                 ("report", lambda j: j.update(causes=[None])),
                 ("report", lambda j: j.update(kernels=7))]
        with open(self.path, encoding="utf8") as file:
            own = file.read()
        dropped = [changed(text, name, change) for name, change in cases]
        dropped += [changed(own, name, change) for name, change in whole]
        for name, page in (("items", text), ("stacks", own)):
            start = page.index(f'id="block-{name}">') + len(name) + 12
            dropped.append(page[:start] + "/" * 40 + page[start + 40:])
            dropped.append(with_block(page, name, block(page, name)[:-7]))
        for i, page in enumerate(dropped):
            before = self.browser.run("theTimeline.details.length")
            self.browser.run("document.querySelector('#view-compare [role=status]').textContent = ''")
            self.drop((f"bad{i}.html", page))
            self.browser.wait("document.querySelector('#view-compare [role=status]').textContent !== ''", f"the hostile page {i} is refused")
            said = self.browser.run("document.querySelector('#view-compare [role=status]').innerText")
            if not said.startswith(f"bad{i}.html: ") or "\n" in said:
                self.wrong(f"a hostile page ({i}) is not refused in a line: {said!r}")
            self.same("no part of it is taken", before, self.browser.run("theTimeline.details.length"))
        self.browser.run("theTimeline.draw(); flameGraph.change({})")

    def tables(self):
        said = self.browser.run("document.getElementById('view-tables').textContent")
        for member, title in TABLES.items():
            rows = self.report
            for name in member.split("."):
                rows = (rows or {}).get(name)
            if rows and not re.search(re.escape(title) + r" \([\d,]+\)", said):
                self.wrong(f"the rows of {member} are in no table")
        rows = """[...document.querySelectorAll('#view-tables table')].map(t =>
            [...t.querySelectorAll('tbody tr')].map(r => r.textContent))"""
        self.browser.run("document.querySelectorAll('#view-tables details').forEach(d => d.open = true)")
        before = self.browser.run(rows)
        self.browser.run("""document.querySelectorAll('#view-tables table').forEach(t => {
            const b = t.querySelectorAll('thead th button'); b[b.length - 1].click(); b[0].click(); })""")
        after = self.browser.run(rows)
        self.same("tables", len(before), len(after))
        for one, other in zip(before, after):
            if len(one) < 20:
                self.same("rows after sorting", sorted(one), sorted(other))
        sums = self.browser.run("""(() => { const t = document.querySelectorAll('th[aria-sort=ascending], th[aria-sort=descending]'); return t.length; })()""")
        if before and sums < len(before):
            self.wrong("a sorted column does not say so")
        bad = self.browser.run("""csvOf([textColumn('a', r => r)], ['=1+1', 'x,"y"', '-', 'plain'])""")
        self.same("CSV", "a\r\n'=1+1\r\n\"x,\"\"y\"\"\"\r\n'-\r\nplain\r\n", bad)

    def axe(self):
        """What axe-core finds in both colour schemes, where its script is named (CK_AXE)."""
        if not os.environ.get("CK_AXE"):
            return
        with open(os.environ["CK_AXE"], encoding="utf8") as file:
            self.browser.run(file.read() + "; 0")
        self.browser.run("document.querySelectorAll('details').forEach(d => d.open = true)")
        for scheme in ("light", "dark"):
            self.browser.media("screen", prefers_color_scheme=scheme)
            rules, found = self.browser.run("""axe.run(document).then(r => [r.passes.length,
                r.violations.map(v => v.id + ': ' + v.nodes[0].html.slice(0, 120))])""")
            if rules < 10:
                self.wrong(f"axe looked at {rules} rules only")
            for fault in found:
                self.wrong(f"axe, {scheme}: {fault}")
        self.browser.media("", prefers_color_scheme="light")
        self.browser.run("document.querySelectorAll('details').forEach(d => d.open = false)")

    def narrow(self, shots):
        """A window of half a screen, and a telephone: no column beyond it, and bars and the timeline in it."""
        for width, height in ((800, 900), (390, 844)):
            self.browser.size(width, height)
            self.browser.run("theTimeline && theTimeline.draw()")
            self.same(f"columns beyond {width} px", True, self.browser.run("document.documentElement.scrollWidth <= innerWidth"))
            self.same(f"bars of devices beyond {width} px", [], self.browser.run("""[...document.querySelectorAll('#view-ledger .bar')]
                .filter(bar => bar.getBoundingClientRect().left + 60 > innerWidth).map(bar => bar.closest('tr').textContent).slice(0, 3)"""))
            self.same(f"the timeline is most of its width of {width} px", True, self.browser.run(
                "theTimeline === null || theTimeline.gutter < 0.4 * theTimeline.width"))
            if shots and self.has_each_view:
                self.browser.shot(f"{shots}/{self.name}-{width}-whole.png", True)

    def looks(self, shots):
        self.narrow(shots)
        for width, height in ((1280, 720), (1920, 1080)):
            self.browser.size(width, height)
            for scheme in ("light", "dark"):
                self.browser.media("screen", prefers_color_scheme=scheme)
                self.same(f"columns beyond {width} px", True, self.browser.run(
                    "document.documentElement.scrollWidth <= innerWidth"))
                for fault in self.browser.run(ACCESS):
                    self.wrong(f"{scheme}, {width} px: {fault}")
            self.browser.media("screen", prefers_color_scheme="light")
            self.browser.run("scrollTo(0, 0)")
            self.same(f"the answer is on the first screen of {width} px", True, self.browser.run("""
                (() => { const first = document.querySelector('#findings > li, #view-why pre, #view-why p');
                  return first.getBoundingClientRect().top < innerHeight - 60; })()"""))
            if shots and self.has_each_view:
                self.each_view(f"{shots}/{self.name}-{width}")
            elif shots:
                self.browser.shot(f"{shots}/{self.name}-{width}.png")
                self.browser.shot(f"{shots}/{self.name}-{width}-whole.png", True)
        if shots and not self.has_each_view:
            self.browser.media("screen", prefers_color_scheme="dark")
            self.browser.shot(f"{shots}/{self.name}-dark.png")
        self.browser.media("", prefers_color_scheme="light")
        self.browser.size(1280, 720)
        if not self.browser.paper().startswith(b"%PDF"):
            self.wrong("it cannot be printed")
        self.browser.media("print")
        self.browser.size(720, 1000)
        self.browser.run("document.querySelectorAll('#view-tables details, #view-ledger details').forEach(d => d.open = true)")
        self.same("columns beyond the paper", True, self.browser.run("document.documentElement.scrollWidth <= innerWidth"))
        self.browser.run("document.querySelectorAll('#view-tables details, #view-ledger details').forEach(d => d.open = false)")
        self.browser.size(1280, 720)
        self.same("ranks of the heading that paper lacks", [], self.browser.run("""[...document.querySelectorAll('header button')]
            .filter(one => !one.closest('nav') && getComputedStyle(one).display === 'none').map(one => one.textContent)"""))
        self.browser.media("", prefers_color_scheme="light")

    def each_view(self, begin):
        """Pictures of the first screen, of each view, and of the first finding's
        place in the timeline, in both colour schemes."""
        for scheme in ("light", "dark"):
            self.browser.media("screen", prefers_color_scheme=scheme)
            self.browser.run("scrollTo(0, 0); theTimeline && theTimeline.show(...theTimeline.firstSpan())")
            self.browser.run("flameGraph && flameGraph.change({kind: flameGraph.kindButtons[0].dataset.kind, areRanksOne: true, isIcicle: true})")
            self.browser.shot(f"{begin}-{scheme}-0.png")
            places = self.browser.run("""[...document.querySelectorAll('main > section')].map(s => {
                const box = s.getBoundingClientRect();
                return [s.id.slice(5), {x: 0, y: box.top + scrollY, width: innerWidth, height: Math.min(box.height, 2400), scale: 1}]; })""")
            for view, clip in places:
                self.browser.shot(f"{begin}-{scheme}-{view}.png", True, clip)
            if self.browser.run("document.querySelector('#findings button')?.click() ?? selection.range !== null"):
                time.sleep(0.5)
                self.browser.shot(f"{begin}-{scheme}-show.png")
                self.browser.key("Escape", "Escape")
                self.browser.run("theTimeline && theTimeline.show(...theTimeline.firstSpan())")

    def drop(self, *files):
        """Files with (name, text) let go over the page."""
        self.browser.run("""(files => { const data = new DataTransfer();
            files.forEach(([name, text]) => data.items.add(new File([text], name)));
            document.dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}));
            })(%s)""" % json.dumps(files))
        time.sleep(0.3)

    def drop_file(self, path):
        """A file let go over the page, as the browser itself does it."""
        for kind in ("dragEnter", "dragOver", "drop"):
            self.browser.call("Input.dispatchDragEvent", type=kind, x=300, y=300,
                              data={"items": [], "files": [path], "dragOperationsMask": 1})

    def compare(self, other):
        """`other`: the report of another page."""
        self.drop(("other.json", json.dumps(other)))
        self.browser.wait("document.getElementById('view-compare').innerText.includes('There: other.json ')", "a dropped report is compared")
        said = self.browser.run("document.getElementById('view-compare').innerText")
        if other["size"] != self.report["size"] and "Not comparable because" not in said:
            self.wrong("other ranks, and no word of it in the comparison")
        if "There:" not in said:
            self.wrong("a dropped report is not compared: " + said[:200])
        for name, text in (("broken.json", "{\"format\": \"ck.report\""),
                           ("no.json", "{}"), ("empty.html", ""),
                           ("<img src=x onerror=hacked=1>.html", "<html>" + "x" * 100),
                           ("block.html", "<script type=\"text/plain\" id=\"block-report\">AAAA</script>")):
            self.browser.run("document.querySelector('#view-compare [role=status]').textContent = ''")
            self.drop((name, text))
            self.browser.wait("document.querySelector('#view-compare [role=status]').textContent !== ''", f"{name} is refused")
            said = self.browser.run("document.querySelector('#view-compare [role=status]').innerText")
            if not said.startswith(name.split("<")[0] or "<img"):
                self.wrong(f"{name} is not refused: {said!r}")

    def flame_difference(self, path):
        """The stacks of another page are compared with this one's."""
        with open(path, encoding="utf8") as file:
            text = file.read()
        other = json.loads(block(text, "flames"))
        self.open()
        if not self.browser.run("flameGraph !== null"):
            return
        self.drop_file(os.path.abspath(path))
        # A page with a baseline has other stacks already.
        self.browser.wait(f"flameGraph.other !== null && document.getElementById('view-compare').innerText.includes('There: {os.path.basename(path)} ')",
                          "the other page's stacks are taken")
        self.same("a cause of both is in both timelines", [True, True, 2], self.browser.run("""(() => {
            const rows = [...document.querySelectorAll('#view-compare .table tbody tr')];
            rows[0].click();
            const canvases = [...document.querySelectorAll('#view-compare .timeline canvas')];
            return [rows.length > 0, canvases.every(one => one.getBoundingClientRect().height > 50), canvases.length]; })()"""))
        self.same("each row that is a choice is shown: its example, or the items of its name", [[], True, True], self.browser.run("""(() => {
            const {show} = BothTimelines.prototype, wrong = [], rows = [...document.querySelectorAll('#view-compare tr.choice')];
            let both = null;
            BothTimelines.prototype.show = function (row) { both = this; show.call(this, row); };
            for (const row of rows) {
              both = null;
              row.click();
              if (!both || !both.here.search && !both.here.range && !both.there.range) { wrong.push(row.textContent); } }
            BothTimelines.prototype.show = show;
            const choices = title => [...document.querySelectorAll('#view-compare .table')].filter(one =>
              one.querySelector('table').getAttribute('aria-label').startsWith(title)).flatMap(one => [...one.querySelectorAll('tr.choice')]);
            return [wrong, choices('Functions that computed').length === 0, choices('Lines that launched').length > 0]; })()"""))
        for kind in other["kinds"]:
            if kind["total_ns"] > 0 and self.browser.run(
                    f"flameGraph.kindButtons.some(b => b.dataset.kind === '{kind['name']}')"):
                self.browser.run(f"flameGraph.change({{kind: '{kind['name']}'}})")
                self.same("time of the other run", kind["total_ns"], self.browser.run("flameGraph.whole.was"))
                self.same("frames of both lie within each other", [], self.browser.run("""flameGraph.boxes
                    .filter(b => b.x < -0.5 || b.x + b.w > flameGraph.width + 0.5).map(b => b.node.name)"""))
                self.browser.run("flameGraph.scaleButton.click()")
                self.same("shares are of one whole", True, self.browser.run(
                    "Math.abs(flameGraph.whole.ns - flameGraph.whole.was) < 1e-6 * flameGraph.whole.ns"))
                self.browser.run("flameGraph.scaleButton.click()")
        self.same("steps of both runs are compared", True, self.browser.run(
            "/Steps, by their slowest rank/.test(document.getElementById('view-compare').innerText)"))
        self.drop(("none.json", json.dumps(self.report)))
        self.browser.wait("/none.json/.test(document.getElementById('view-compare').innerText)", "a report without stacks is taken")
        self.same("the flame graph is no longer beside the run of before", [True, 0], self.browser.run(
            "[flameGraph.other === null, flameGraph.whole.was]"))

    def moved(self):
        """Lines that moved in the source are the same ones, in tables and in frames; what a run lacks is no 0."""
        self.same("as many lines by their order, else those of one distance", [[[5, 4], [9, 8]], [[10, 9], [21, 20]], [[7, 7]], [[20, 20]], [[3, 2], [9, 5]]], self.browser.run(
            "[pairedLines([5, 9], [4, 8]), pairedLines([4, 10, 21], [9, 20]), pairedLines([7], [1, 7, 90]), pairedLines([10, 20], [20, 31]), "
            "pairedLines([3, 9], [2, 5])]"))
        parts, calls = self.browser.run("""(() => {
            const shift = part => { if (part && typeof part === 'object') { if (isPlaced(part)) part.line++; Object.values(part).forEach(shift); } return part; };
            const other = shift(JSON.parse(JSON.stringify(theReport)));
            other.calls.forEach(call => { call.total_ns += 1e6; });
            return [comparedParts(theReport, other).map(([title, rows]) => [title, rows.filter(row => row[3] === null || row[4] === null).map(row => row[0])]),
              comparedParts(theReport, other).filter(([title]) => title === 'Calls by place').flatMap(([, rows]) => rows.map(row => row[0]))]; })()""")
        self.same("lines that moved and are called new or gone", [], [part for part in parts if part[1]])
        placed = [one for one in self.report["calls"] if one["file"] and not one.get("mpi_own")]
        self.same("both lines are shown", [], [one["name"] for one in placed if
                                               f"{one['name']} ({os.path.basename(one['file'])}:{one['line'] + 1} -> {one['line']})" not in calls])
        self.same("frames with a line that moved", [["f (a.c:4)", "f (a.c:5)"]], self.browser.run(
            "[...movedFrames(['main', 'f (a.c:5)', 'g (a.c:9)'], ['f (a.c:4)', 'main', 'g (a.c:9)', 'h (b.c:1)'])]"))
        self.same("the same run is no other one", ["it is this run itself"] if self.report["realtime_of_zero_ns"] and self.report["job"] else [],
                  self.browser.run("obstacles(theReport, theReport).slice(0, 1)"))
        heads = self.browser.run("rankColumns(theReport.ranks).map(one => one.title)")
        steps = any(one["steps"] for one in self.report["ranks"])
        self.same("ranks without steps have no step of 0 ns", [steps, steps], ["median step" in heads, "longest step" in heads])
        self.same("a rank without MPI was not 0 ns outside of it", [[0, 1, None], [0, 1]], self.browser.run("""[
            rankColumns([{mpi_calls: 1, useful_ns: 0}, {mpi_calls: 3, useful_ns: 1}, {mpi_calls: 0, useful_ns: 0}]).find(one => one.title === 'outside MPI')
              ? [0, 1, rankColumns([{mpi_calls: 1, useful_ns: 5}]).find(one => one.title === 'waited').value({mpi_calls: 0, useful_ns: 0, waited_ns: 0})] : [],
            rankColumns([{mpi_calls: 0, useful_ns: 0}]).some(one => /MPI/.test(one.title)) ? [] : [0, 1]]"""))
        figures = self.browser.run("summary(theReport, theReport).innerText")
        self.same("figures that the run lacks are left out", [steps or bool(self.report["step_table"]["count"]), bool(self.report["devices"])],
                  ["median step" in figures, "device time" in figures])

    def small(self):
        """What is little, not there, or broken is shown as such."""
        self.same("little is no nothing, nothing is the least colour", [True, True, True], self.browser.run("""(() => {
            const colourOf = heatColours(), {colour} = palette();
            return [colourOf(0) === colour('heat-0'), colourOf(1e-9) !== colourOf(0), colourOf(1) === colour('heat-6')]; })()"""))
        end = self.report["whole"]["ns"]
        known = self.report["ranks"][0]["rank"] if self.report["ranks"] else None
        self.same("no place beyond the end, and one within", [None, end > 0], self.browser.run(
            f"[placeOf(theReport, '{end / 1e9 + 1:.9f} s'), placeOf(theReport, '{max(0, end / 2e9):.9f} s') !== null]"))
        if known is not None and not (self.report.get("cut") or {}).get("ranks"):
            self.same("no rank that is not there", [[], [known]], self.browser.run(f"[knownRanks([99999]), knownRanks([{known}, 99999])]"))
        self.browser.key("?", "Slash", 8)
        self.same("the head of the keys is seen", True, self.browser.run("""(() => { const {top, bottom} = document.querySelector('dialog[open] h2').getBoundingClientRect();
            return top >= 0 && bottom <= innerHeight; })()"""))
        self.browser.key("Escape", "Escape")
        inside = [one for one in self.report["calls"] if one["calls"] or not one["calls_in_run"]]
        if inside and not (self.report.get("cut") or {}).get("calls"):
            self.same("calls that are not of the region are left out", True, self.browser.run(
                f"document.getElementById('view-tables').textContent.includes('Calls by place ({len(inside):,})')"))
        self.same("a name that begins as a place does is a name", ['"(no name)"', "(a.c:1)"], self.browser.run(
            "['(no name)', {end: '(a.c:1)'}].map(name => { showNamed(name); return selection.find; })"))
        self.browser.run("select({...NOTHING})")
        self.same("what changed most, of all tables but the library's own calls", ["B", ["y", 10, 1]], self.browser.run(
            "mostChanged([['A', [['x', 1, 2]]], ['B', [['z', 3, 3], ['y', 10, 1]]], [LIBRARY_CALLS, [['l', 1e9, 0]]]])"))
        self.same("nothing changed", ["", None], self.browser.run("mostChanged([])"))
        self.same("instances of one template differ", [" (instance 1 of 2)", " (instance 2 of 2)", None], self.browser.run(
            "withPlainNames([1, 2, 3].map(i => ({function: '_Z' + i, function_plain: i < 3 ? 'f' : 'g'}))).map(one => one.instance ?? null)"))
        said = self.browser.run("reportOf('{\"format\": \"ck.report\"').catch(error => error.message)")
        self.same("a broken report.json in plain words", "it is no whole report.json: it was cut off or changed", said)
        self.same("bars of findings without a scale", [], self.browser.run("""[...document.querySelectorAll('#findings .meter')]
            .filter(one => !/^[\\d.]+ % of .*, which is the whole bar$/.test(one.querySelector('title')?.textContent)).map(one => one.outerHTML.slice(0, 80))"""))
        self.paper()

    def paper(self):
        """Pictures are on paper, in light colours and no wider than it; it says what it has not."""
        self.browser.size(720, 1000)
        self.browser.media("print", prefers_color_scheme="dark")
        self.browser.run("window.dispatchEvent(new Event('beforeprint'))")
        self.same("pictures that paper lacks, or that are wider", [], self.browser.run("""
            [...document.querySelectorAll('main canvas')].filter(one => !one.closest('#view-compare, details:not([open])'))
              .filter(one => !isSeen(one) || one.getBoundingClientRect().right > innerWidth + 1 || one.getBoundingClientRect().height < 5)
              .map(one => one.getAttribute('aria-label'))"""))
        self.same("the ground of the timeline on paper", [255, 255, 255], self.browser.run(
            """theTimeline === null ? [255, 255, 255] : (() => {
            const copy = document.createElement('canvas').getContext('2d');
            copy.drawImage(theTimeline.canvas, 0, 0);
            return [...copy.getImageData(1, 1, 1, 1).data].slice(0, 3); })()"""))
        self.same("paper says what it has not", True, self.browser.run("isSeen(document.querySelector('.paper'))"))
        self.browser.run("window.dispatchEvent(new Event('afterprint'))")
        self.browser.media("", prefers_color_scheme="light")
        self.browser.size(1280, 720)
        self.same("the screen does not", False, self.browser.run("isSeen(document.querySelector('.paper'))"))

    def baseline(self):
        """Another run is in the page itself."""
        self.open()
        self.same("the first screen says so, why it is not comparable first, and leads there", [True, True], self.browser.run("""(() => {
            const line = document.querySelector('#view-why #compared'), {bottom} = line.getBoundingClientRect();
            const isFirst = /^Compared with .+: not comparable \\(/.test(line.textContent) && bottom < innerHeight;
            line.querySelector('button').click();
            return [isFirst, Math.abs(document.getElementById('view-compare').getBoundingClientRect().top) < innerHeight / 2]; })()"""))
        titles = self.browser.run("[...document.querySelectorAll('#view-compare h3')].map(one => one.textContent)")
        self.same("what may be a cause comes first, threads of the library behind", sorted(titles, key=[
            "Causes of idle time", "Ranks that others waited for", "Waits by place", "Functions that computed", "Lines that launched device work",
            "Kernels", "Calls by place", "Calls of the MPI library for itself", "Steps, by their slowest rank", "Both timelines"].index), titles)
        said = self.browser.run("document.getElementById('view-compare').innerText")
        if "There: the baseline" not in said or "Causes of idle time" not in said:
            self.wrong("the baseline is not compared: " + said[:200])
        if "Not comparable because" not in said:
            self.wrong("no word of why the baseline is not comparable")
        order = self.browser.run("""(() => { const view = document.getElementById('view-compare');
            const reasons = view.querySelector('.alarm'), first = view.querySelector('table');
            return (reasons.compareDocumentPosition(first) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0; })()""")
        self.same("reasons come before figures", True, order)
        self.same("its stacks are compared", True, self.browser.run(
            "/Show the difference of the flame graphs/.test(document.getElementById('view-compare').innerText) && "
            "flameGraph.other !== null && flameGraph.whole.was > 0"))

    def cxx(self):
        """Functions of C++ have one name: in tables, in what these find, and in flame graphs."""
        symbols = [one["function"] for one in self.report["hot_callers"] if "function_plain" in one]
        if not symbols:
            print(f"{self.name}: no function of C++ was sampled here")
            return
        self.same("symbols in the tables", [], self.browser.run("""[...document.querySelectorAll('#view-tables tbody')]
            .flatMap(one => one.textContent.match(/_Z\\w+/g) || [])"""))
        self.same("functions of tables that no flame graph has", [], self.browser.run("""theReport.hot_callers.concat(theReport.hot_spots)
            .filter(one => one.symbol).map(one => one.function).filter(name => !flameGraph.hasFrameOf(name, 'cpu'))"""))
        self.same("a row finds its frames", True, self.browser.run("""(() => { const name = theReport.hot_callers.find(one => one.symbol).function;
            [...document.querySelectorAll('#view-tables tr.choice')].find(row => row.textContent.startsWith(name)).click();
            return matchedTime(flameGraph.whole, nameMatcher(flameGraph.find)) > 0; })()"""))

    def hostile(self):
        """Names of the hostile run are text."""
        self.browser.run("document.querySelectorAll('details').forEach(d => d.open = true)")
        said = self.browser.run("document.body.textContent")
        for name in HOSTILE:
            if name not in said:
                self.wrong(f"{name} is not shown as text")
        if any(mark in said for mark in "\u202e\u2066\u0000"):
            self.wrong("a mark of direction or a NUL is in the text")
        self.same("elements of a name", 0, self.browser.run(
            "document.querySelectorAll('img, iframe, object, embed, svg[onload]').length"))

    def hostile_lists(self):
        """So are those of lists that this run lacks."""
        with open(self.path, encoding="utf8") as file:
            text = changed(file.read(), "report", hostile_rows)
        own, self.path = self.path, self.path + ".lists.html"
        with open(self.path, "w", encoding="utf8") as file:
            file.write(text)
        self.open()
        self.browser.run("document.querySelectorAll('details').forEach(d => d.open = true)")
        for title in ("Threads when a signal ended them", "Where threads were blocked", "Places of page faults", "Parallel regions",
                      "Waits in parallel regions", "Locks that threads waited for", "Device work by the stack that launched it"):
            shown = self.browser.run(f"""[...document.querySelectorAll('#view-tables details')].find(d =>
                d.textContent.startsWith({json.dumps(title + " (" + str(len(HOSTILE)) + ")")}))?.textContent ?? ''""")
            for name in HOSTILE:
                if name not in shown:
                    self.wrong(f"{title}: {name} is not shown as text")
        shown = self.browser.run("""(() => { const grid = document.querySelector('#view-trust table[aria-label="bounds of clocks"]');
            for (let more = grid.closest('.table').querySelector('p button'); more; more = grid.closest('.table').querySelector('p button')) { more.click(); }
            return [...grid.querySelectorAll('tbody th')].map(one => one.textContent); })()""")
        self.same("clocks are shown by their names", [64] * len(HOSTILE), [shown.count(name) for name in HOSTILE])
        self.same("elements of a name", 0, self.browser.run(
            "document.querySelectorAll('img, iframe, object, embed, svg[onload]').length"))
        self.clean("hostile lists")
        self.path = own


def hostile_rows(report):
    """Each list of report.json that has names, with names that want to be more."""
    def rows(**more):
        return [dict({"function": name, "file": name, "line": 1, "name": name, "rank": 0, "ranks": 1,
                      "caller": {"function": name}, "ns": 7}, **more) for name in HOSTILE]
    last = {"rank": 0, "thread": 1, "count": 1, "of": 2}
    report["deaths"] = rows(thread=1, state="R", system_call="", signal=11, cause=True, at_rel_ns=5)
    for row in report["deaths"]:
        row["frames"] = [{"function": row["name"], "file": row["name"], "line": 3, "users": True},
                         {"function": row["name"], "file": None, "line": 0, "users": False}]
    report["blocked_places"] = rows(waits=1, longest_ns=3, threads=1)
    report["fault_places"] = rows(minor=1, major=0, faulting_ns=1)
    report["allocations"] = {"places": rows(bytes=9, peak_bytes=8, peak_bytes_error=1, last_bytes=0, blocks=2)}
    report["device_memory"] = report["allocations"]
    report["memory"] = [{"rank": "<img src=x onerror=hacked=1>", "growth": {"steady": True, "bytes_per_second": 1}}]
    report["launch_stacks"] = {"rows": rows(launches=1, stack=[{"function": name} for name in HOSTILE])}
    for row in report["launch_stacks"]["rows"]:
        row["work"] = row["name"]
    report["openmp"] = {"regions": rows(count=1, threads=2, wall_ns=1, states={}, last=last),
                        "waits": rows(count=1, longest_ns=1, last=last)}
    for row in report["openmp"]["waits"]:
        row["what"] = row["name"]
    report["clocks"] = [{"host": name, "bound_parts_ns": [None, 0, 7] + [5] * 61} for name in HOSTILE]
    report["lock_waits"] = rows(address="<svg onload=hacked=1>", call="<b>", threads=1, count=1, serial_ns=1)
    report["threads"] = rows(tid=1, cpu_ns=1, ready_ns=1, blocked_ns=1, team_wait_ns=1, lock_wait_ns=1)


def check(browser, page, shots, others):
    began = time.monotonic()
    if page.name == "cxx":
        page.open()
        page.cxx()
        page.clean("open")
        return
    if page.is_live:
        page.open()
    page.without_scripts()
    page.open()
    page.data()
    page.views()
    page.moved()
    page.small()
    page.findings()
    page.keys()
    page.timeline()
    page.deaths()
    page.clocks()
    page.flames()
    page.more_keys()
    page.moving_keys()
    page.search()
    page.tables()
    page.grids()
    page.rows_show()
    page.looks(shots)
    page.axe()
    page.clean("open")
    page.links()
    page.address()
    page.commands()
    for other in others:
        page.compare(other)
    if page.name == "dead":
        page.flame_difference(os.path.join(os.path.dirname(page.path), "../late/report.html"))
    if page.name == "big" and not page.has_each_view:
        page.open()
        page.detail(os.path.join(os.path.dirname(page.path), "part.html"))
        page.fine(os.path.join(os.path.dirname(page.path), "all.html"))
        page.raster(os.path.join(os.path.dirname(page.path), "ranks.html"))
    if page.name == "late":
        page.open()
        page.tabs()
    if page.name == "hostile":
        page.hostile()
        page.hostile_lists()
    if page.name == "dead" and not page.has_each_view:
        page.baseline()
    page.clean("after clicks")
    size = 0 if page.is_live else os.path.getsize(page.path)
    print(f"{page.name}: {len(page.faults)} faults, {size} bytes, "
          f"{time.monotonic() - began:.1f} s")


def main():
    arguments = sys.argv[1:]
    if arguments[0] == "--each-view":
        Page.has_each_view = True
        del arguments[0]
    shots = arguments[0]
    faults = []
    pages = []
    for item in arguments[1:]:
        name, paths = item.split("=", 1)
        path, report = (paths.split(",") + [None])[:2]
        if report is None:
            pages.append((name, path, None))
            continue
        with open(report, encoding="utf8") as file:
            pages.append((name, path, json.load(file)))
    with Browser() as browser:
        browser.size(1280, 720)
        for i, (name, path, report) in enumerate(pages):
            others = [pages[0][2]] if i == len(pages) - 1 and i > 0 else []
            page = Page(browser, name, path, report)
            try:
                check(browser, page, shots, others)
            except Failed as failed:
                page.wrong(str(failed))
            faults += page.faults
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
