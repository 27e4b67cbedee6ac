"""browser.py - Chromium without a window, driven over two pipes

SPDX-License-Identifier: Apache-2.0

DevTools' protocol is JSON with a NUL behind each message; with
--remote-debugging-pipe the browser reads descriptor 3 and writes descriptor 4,
so neither a port nor a client library is needed.
"""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

TIMEOUT = 300  # ends what hangs; beside a load all takes 15 times as long
# Reported by the page itself, before any script of it runs.
WATCH = """
window.violations = [];
document.addEventListener('securitypolicyviolation', event => {
  window.violations.push(event.violatedDirective + ' ' + event.blockedURI);
});
"""


class Failed(Exception):
    """The browser refused a command, or a script of the page threw."""


def program():
    """Path of Chromium, None = not here."""
    return os.environ.get("CHROMIUM") or shutil.which("chromium") or \
        shutil.which("chromium-browser")


class Browser:
    """One process of Chromium with one tab."""

    def __init__(self):
        self.home = tempfile.mkdtemp(prefix="ck-chromium-")
        to_read, self.to = os.pipe()
        self.of, of_write = os.pipe()

        def descriptors():
            # Away from 3 and 4 first: either may be one of them.
            high_read = os.dup(to_read)
            high_write = os.dup(of_write)
            while high_read < 10:
                high_read = os.dup(high_read)
            while high_write < 10:
                high_write = os.dup(high_write)
            os.dup2(high_read, 3, inheritable=True)
            os.dup2(high_write, 4, inheritable=True)

        self.process = subprocess.Popen(
            [program(), "--headless=new", "--no-sandbox", "--disable-gpu",
             "--no-first-run", "--disable-background-networking",
             "--disable-component-update", "--disable-dev-shm-usage",
             "--disable-extensions", "--hide-scrollbars", "--force-color-profile=srgb",
             "--user-data-dir=" + self.home, "--remote-debugging-pipe",
             "about:blank"],
            preexec_fn=descriptors, close_fds=False, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            start_new_session=True)
        os.close(to_read)
        os.close(of_write)
        self.buffer = b""
        self.number = 0
        self.session = None
        self.events = []
        targets = self.call("Target.getTargets")["targetInfos"]
        tab = next(one for one in targets if one["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=tab["targetId"],
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(domain + ".enable")
        self.call("Page.addScriptToEvaluateOnNewDocument", source=WATCH)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            os.killpg(self.process.pid, 9)
        except ProcessLookupError:
            pass
        self.process.wait()
        os.close(self.to)
        os.close(self.of)
        shutil.rmtree(self.home, ignore_errors=True)

    def _message(self, until):
        while b"\0" not in self.buffer:
            left = until - time.monotonic()
            if left <= 0 or not select.select([self.of], [], [], left)[0]:
                raise Failed(f"no answer of the browser in {TIMEOUT} s")
            part = os.read(self.of, 1 << 20)
            if not part:
                raise Failed("the browser ended")
            self.buffer += part
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **parameters):
        """The result of one command; events that come before it are kept."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.to, data):]
        until = time.monotonic() + TIMEOUT
        while True:
            answer = self._message(until)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise Failed(f"{method}: {answer['error']['message']}")
                return answer["result"]
            if "method" in answer:
                self.events.append(answer)

    def run(self, script):
        """The value of an expression in the page; promises are awaited."""
        result = self.call("Runtime.evaluate", expression=script,
                           awaitPromise=True, returnByValue=True,
                           userGesture=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            text = details.get("exception", {}).get("description") or details["text"]
            raise Failed(f"{script[:200]}: {text}")
        return result["result"].get("value")

    def wait(self, script, what):
        """Until the expression is true."""
        until = time.monotonic() + TIMEOUT
        while not self.run(script):
            if time.monotonic() > until:
                raise Failed(f"not in {TIMEOUT} s: {what}")
            time.sleep(0.02)

    def size(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width,
                  height=height, deviceScaleFactor=1, mobile=False)

    def media(self, media="", **features):
        self.call("Emulation.setEmulatedMedia", media=media, features=[
            {"name": name.replace("_", "-"), "value": value}
            for name, value in features.items()])

    def scripts(self, are_allowed):
        self.call("Emulation.setScriptExecutionDisabled", value=not are_allowed)

    def open(self, path, fragment=""):
        """Open a file, or an address, as a new page, and forget what came before."""
        url = path if path.startswith("http:") else "file://" + os.path.abspath(path)
        self.call("Page.navigate", url="about:blank")
        self.events.clear()
        self.call("Page.navigate", url=url + fragment)
        self.wait("document.readyState === 'complete' && location.protocol !== 'about:'",
                  "the page is loaded")

    def key(self, key, code, modifiers=0):
        text = key if len(key) == 1 else ""
        number = {"Escape": 27, "Tab": 9, "Enter": 13}.get(key, 0)
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, code=code,
                  modifiers=modifiers, text=text, windowsVirtualKeyCode=number)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code=code,
                  modifiers=modifiers)

    def complaints(self, own="file:"):
        """What a clean page has none of: messages on the console, exceptions,
        violations of its policy, requests but those that begin with `own`."""
        found = ["policy: " + one for one in self.run("window.violations")]
        for event in self.events:
            of = event["params"]
            if event["method"] == "Runtime.consoleAPICalled" and \
                    of["type"] in ("error", "warning", "assert"):
                found.append("console: " + " ".join(
                    str(one.get("value", one.get("description")))
                    for one in of["args"]))
            elif event["method"] == "Runtime.exceptionThrown":
                found.append("exception: " + str(
                    of["exceptionDetails"].get("exception", {}).get("description")))
            elif event["method"] == "Log.entryAdded" and \
                    of["entry"]["level"] in ("error", "warning"):
                found.append("log: " + of["entry"]["text"])
            elif event["method"] == "Network.requestWillBeSent" and \
                    not of["request"]["url"].startswith(("about:", own, "blob:")):
                found.append("request: " + of["request"]["url"][:200])
        files = {event["params"]["request"]["url"].split("#")[0] for event in self.events
                 if event["method"] == "Network.requestWillBeSent"
                 and event["params"]["request"]["url"].startswith("file:")}
        if len(files) > 1:
            found.append("more than one file was read: " + ", ".join(sorted(files)))
        return found

    def shot(self, path, is_whole=False, clip=None):
        """Of the window, of the whole page, or of a part of that."""
        more = {"clip": clip} if clip else {}
        picture = self.call("Page.captureScreenshot", format="png",
                            captureBeyondViewport=is_whole, **more)
        with open(path, "wb") as file:
            file.write(base64.b64decode(picture["data"]))

    def paper(self):
        """The page as PDF."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])
