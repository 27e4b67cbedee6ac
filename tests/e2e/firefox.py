#!/usr/bin/env python3
"""firefox.py PAGE... - HTML pages in Firefox

SPDX-License-Identifier: Apache-2.0

Firefox has no pipe as Chromium has (browser.py): it takes WebDriver BiDi, JSON
in a WebSocket on a port of loopback. What page.py tries in depth is tried here
briefly: each view is drawn, each "Show" leads into the timeline, both colour
schemes, no message on the console, no violation of the policy.
"""
import base64
import json
import os
import re
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time

TIMEOUT = 300
VIEWS = ["why", "ledger", "timeline", "steps", "waits", "tables", "efficiency", "flames", "compare", "trust", "more"]


class Failed(Exception):
    """The browser refused a command, or a script of the page threw."""


class Socket:
    """A WebSocket, as far as it is needed here."""

    def __init__(self, port):
        self.stream = socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT)
        self.stream.sendall((f"GET /session HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\n"
                             "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "
                             + base64.b64encode(os.urandom(16)).decode() + "\r\n\r\n").encode())
        self.file = self.stream.makefile("rb")
        status = self.file.readline()
        while self.file.readline().strip():
            pass
        if b" 101 " not in status:
            raise Failed(f"no WebSocket: {status!r}")

    def send(self, text):
        data, mask = text.encode(), os.urandom(4)
        size = bytes([0x80 | len(data)]) if len(data) < 126 else \
            b"\xfe" + struct.pack(">H", len(data)) if len(data) < 65536 else b"\xff" + struct.pack(">Q", len(data))
        self.stream.sendall(b"\x81" + size + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(data)))

    def message(self):
        text = b""
        while True:
            first, size = self.file.read(2)
            if size >= 126:
                size = int.from_bytes(self.file.read(2 if size == 126 else 8), "big")
            part = self.file.read(size)
            if first & 15 == 8:
                raise Failed("the browser ended")
            if first & 15 < 3:
                text += part
                if first & 128:
                    return json.loads(text)


class Firefox:
    """One process of Firefox with one tab."""

    def __init__(self, program, is_dark):
        self.home = tempfile.mkdtemp(prefix="ck-firefox-")
        with open(os.path.join(self.home, "user.js"), "w", encoding="ascii") as file:
            file.write('user_pref("ui.systemUsesDarkTheme", %d);\n'
                       'user_pref("layout.css.prefers-color-scheme.content-override", %d);\n'
                       'user_pref("datareporting.policy.dataSubmissionEnabled", false);\n'
                       'user_pref("browser.shell.checkDefaultBrowser", false);\n'
                       'user_pref("app.update.enabled", false);\n' % (is_dark, 0 if is_dark else 1))
        self.process = subprocess.Popen(
            [program, "--headless", "--no-remote", "--profile", self.home, "--remote-debugging-port", "0",
             "--window-size", "1280,900", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            start_new_session=True, env=dict(os.environ, HOME=self.home, MOZ_CRASHREPORTER_DISABLE="1"))
        self.number, self.events = 0, []
        self.socket = Socket(self._port())
        self.call("session.new", capabilities={})
        self.call("session.subscribe", events=["log.entryAdded", "network.beforeRequestSent"])
        self.tab = self.call("browsingContext.getTree")["contexts"][0]["context"]

    def _port(self):
        for line in self.process.stderr:
            found = re.search(rb"ws://127\.0\.0\.1:(\d+)", line)
            if found:
                return int(found[1])
        raise Failed("Firefox has no port")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            os.killpg(self.process.pid, 9)
        except ProcessLookupError:
            pass
        self.process.wait()
        shutil.rmtree(self.home, ignore_errors=True)

    def call(self, method, **parameters):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            answer = self.socket.message()
            if answer.get("id") == self.number:
                if answer["type"] == "error":
                    raise Failed(f"{method}: {answer['message'][:300]}")
                return answer["result"]
            self.events.append(answer)

    def run(self, script):
        """The value of an expression in the page; promises are awaited."""
        answer = self.call("script.evaluate", target={"context": self.tab}, awaitPromise=True,
                           expression=f"Promise.resolve({script}).then(value => JSON.stringify(value ?? null))")
        if answer["type"] != "success":
            raise Failed(f"{script[:200]}: {answer['exceptionDetails']['text']}")
        return json.loads(answer["result"]["value"])

    def wait(self, script, what):
        until = time.monotonic() + TIMEOUT
        while not self.run(script):
            if time.monotonic() > until:
                raise Failed(f"not in {TIMEOUT} s: {what}")
            time.sleep(0.05)

    def open(self, path):
        self.events.clear()
        self.call("browsingContext.navigate", context=self.tab, wait="complete",
                  url="file://" + os.path.abspath(path))

    def complaints(self):
        found = []
        for event in self.events:
            of = event.get("params", {})
            if event.get("method") == "log.entryAdded" and of.get("level") in ("error", "warn"):
                found.append("console: " + str(of.get("text"))[:300])
            elif event.get("method") == "network.beforeRequestSent" and \
                    not of["request"]["url"].startswith(("file:", "about:", "blob:", "data:")):
                found.append("request: " + of["request"]["url"][:200])
        return found

    def shot(self, path):
        data = self.call("browsingContext.captureScreenshot", context=self.tab)["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))


def look(browser, path):
    """What is wrong with a page."""
    wrong = []
    browser.open(path)
    browser.wait("location.pathname.endsWith(%s) && document.documentElement?.dataset.fine === 'yes'"
                 % json.dumps(os.path.abspath(path)), "the page is drawn")
    there = browser.run("[...document.querySelectorAll('main > section')].map(one => one.id.replace('view-', ''))")
    absent = browser.run("document.getElementById('absent').textContent")
    titles = browser.run("Object.fromEntries(views.map(one => [one.id, one.title]))")
    for name in VIEWS:
        if name not in there and titles.get(name, name) not in absent:
            wrong.append(f"the view {name} is neither there nor named")
    for i in range(browser.run("[...document.querySelectorAll('button')].filter(one => one.textContent === 'Show').length")):
        browser.run("select({range: null, ranks: [], cause: '', finding: 0})")
        browser.run(f"[...document.querySelectorAll('button')].filter(one => one.textContent === 'Show')[{i}].click()")
        if not browser.run("selection.range === null ? findingItems().length === 0 && selection.cause !== '' : "
                           "theTimeline.span[0] <= selection.range[0] && theTimeline.span[1] >= selection.range[1]"):
            wrong.append(f"Show {i} leads to nothing in the timeline")
    if "timeline" in there:
        painted = browser.run("""(() => { theTimeline.draw(); const {width, height} = theTimeline.canvas;
            const data = theTimeline.canvas.getContext('2d').getImageData(0, 0, width, height).data, seen = new Set();
            for (let i = 0; i < data.length; i += 4) seen.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
            return seen.size; })()""")
        if painted < 4:
            wrong.append(f"the timeline has {painted} colours")
    return wrong + browser.complaints()


def main():
    program = os.environ.get("FIREFOX") or shutil.which("firefox-esr") or shutil.which("firefox")
    if not program:
        print("skipped: no Firefox (package firefox-esr)")
        return 77
    bad = 0
    for is_dark in (0, 1):
        with Firefox(program, is_dark) as browser:
            for page in sys.argv[1:]:
                wrong = look(browser, page)
                is_right = browser.run("matchMedia('(prefers-color-scheme: dark)').matches") == bool(is_dark)
                wrong += [] if is_right else ["the colour scheme is the other one"]
                bad += len(wrong)
                print("%s %s: %s" % ("FAILED" if wrong else "ok", page, "; ".join(wrong) or "dark" if is_dark else "; ".join(wrong) or "light"))
                if os.environ.get("CK_SCREENSHOTS"):
                    browser.shot(os.path.join(os.environ["CK_SCREENSHOTS"], "firefox-%d-%s.png" % (
                        is_dark, os.path.basename(os.path.dirname(page)))))
    return 1 if bad else 0


sys.exit(main())
