#!/usr/bin/env python3
"""live.py URL CKAGG JOB RUNS - a running job's page and metrics
live.py --first URL - print the address of the job's page, once it is there

SPDX-License-Identifier: Apache-2.0

URL has the token; CKAGG and JOB are processes, RUNS is ckagg's directory. Ends
the job, and looks at what its page becomes.
"""
import glob
import http.client
import json
import os
import random
import re
import signal
import socket
import sys
import threading
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import Browser, Failed, program  # noqa: E402

LIMIT = 400
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')


class Site:
    """Where ckagg listens, and the secret."""

    def __init__(self, url):
        parts = urllib.parse.urlsplit(url)
        self.url = url
        self.address = (parts.hostname, parts.port)
        self.token = parts.path.strip("/")

    def raw(self, data, timeout=LIMIT):
        """What comes back for these bytes until the connection is closed."""
        with socket.create_connection(self.address, timeout=timeout) as one:
            answer = b""
            try:
                one.sendall(data)
                one.shutdown(socket.SHUT_WR)
                while True:
                    part = one.recv(65536)
                    if not part:
                        break
                    answer += part
            except OSError:  # it was closed meanwhile
                pass
            return answer

    def get(self, path, headers=None, method="GET"):
        """Status, headers and body; no redirection is followed."""
        one = http.client.HTTPConnection(*self.address, timeout=LIMIT)
        one.request(method, path, headers=headers or {})
        answer = one.getresponse()
        body = answer.read()
        one.close()
        return answer.status, answer.headers, body

    def own(self, path):
        return self.get("/" + self.token + "/" + path)

    def follow(self, path):
        """The path behind all redirections, and its answer."""
        at = "/" + self.token + "/" + path
        for _ in range(8):
            status, headers, body = self.get(at)
            if status != 302:
                return at, status, headers, body
            at = urllib.parse.urljoin(at, headers["Location"])
        raise AssertionError("redirections go round")


def check(is_good, what):
    if not is_good:
        raise AssertionError(what)
    print("ok:", what)


def until(condition, what):
    end = time.monotonic() + LIMIT
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise AssertionError(f"not in {LIMIT} s: {what}")
        time.sleep(0.1)


def undated(answer):
    return re.sub(rb"Date: [^\r]*\r\n", b"", answer)


def strangers(site):
    """Whoever lacks the token, or comes by another name, learns nothing."""
    token, port = site.token, site.address[1]
    wrong = ("0" if token[0] != "0" else "1") + token[1:]

    def ask(path, host=f"127.0.0.1:{port}", method="GET", more=""):
        return undated(site.raw(
            f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n{more}"
            "Connection: close\r\n\r\n".encode("latin1")))

    nothing = ask("/")
    check(nothing.startswith(b"HTTP/1.1 404"), "a stranger gets 404")
    good = ask(f"/{token}/metrics")
    check(good.startswith(b"HTTP/1.1 200"), "the token opens the metrics")
    cases = {
        "no token": ask("/metrics"),
        "a wrong token": ask(f"/{wrong}/metrics"),
        "a part of the token": ask(f"/{token[:-1]}/metrics"),
        "more than the token": ask(f"/{token}0/metrics"),
        "the token without a slash": ask(f"/{token}"),
        "the token elsewhere": ask(f"/x/{token}/metrics"),
        "the token as a query": ask(f"/metrics?token={token}"),
        "another path": ask("/etc/passwd"),
        "a path upwards": ask("/../../../../etc/passwd"),
        "a NUL": ask("/%00"),
        "a long path": ask("/" + "a" * 4000),
        "another site's name": ask(f"/{token}/metrics", host="rebound.example"),
        "a name that begins well": ask(f"/{token}/metrics",
                                       host="127.0.0.1.rebound.example"),
        "another host": ask(f"/{token}/metrics", host="192.0.2.1"),
        "a wrong bearer": ask("/metrics", more=f"Authorization: Bearer {wrong}\r\n"),
        "an empty bearer": ask("/metrics", more="Authorization: Bearer \r\n"),
        "POST": ask(f"/{token}/metrics", method="POST", more="Content-Length: 0\r\n"),
        "DELETE": ask(f"/{token}/", method="DELETE"),
        "an unknown file": ask(f"/{token}/report.json"),
        "an unknown job": ask(f"/{token}/00000000/state"),
        "a path out of the run": ask(f"/{token}/../../etc/passwd"),
    }
    different = [name for name, answer in cases.items() if answer != nothing]
    check(not different, f"all of {len(cases)} refusals have the same bytes {different}")
    for host in (f"localhost:{port}", "LOCALHOST", "127.0.0.1:1", f"[::1]:{port}"):
        check(ask(f"/{token}/metrics", host=host).startswith(b"HTTP/1.1 200"),
              f"Host {host} is loopback")
    check(ask("/metrics", more=f"Authorization: Bearer {token}\r\n").startswith(b"HTTP/1.1 200"),
          "the bearer opens the metrics")
    with socket.create_connection(site.address, timeout=LIMIT) as one:
        one.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer, begun = b"", time.monotonic()
        while part := one.recv(65536):
            answer += part
        check(answer.startswith(b"HTTP/1.1 404") and time.monotonic() - begun < 9,
              "a connection without the token is closed with its answer")
    status, _, body = site.get(f"/{token}/metrics", method="HEAD")
    check(status == 200 and body == b"", "HEAD has no body")


def attacks(site, agg):
    """What is not HTTP, too much or too slow ends nothing but itself."""
    seed = int(os.environ.get("CK_SEED", random.randrange(1 << 32)))
    rng = random.Random(seed)
    print("seed", seed)
    request = (f"GET /{site.token}/metrics HTTP/1.1\r\nHost: localhost\r\n"
               "Connection: close\r\n\r\n").encode()
    huge = site.raw(b"GET /" + b"a" * (1 << 20) + b" HTTP/1.1\r\n\r\n")
    check(not huge.startswith(b"HTTP/1.1 200"), "a line of 1 MiB is refused")
    huge = site.raw(b"GET / HTTP/1.1\r\n" + b"X: " + b"b" * (1 << 20) + b"\r\n\r\n")
    check(not huge.startswith(b"HTTP/1.1 200"), "a header of 1 MiB is refused")
    site.raw(b"POST /" + site.token.encode() + b"/ HTTP/1.1\r\nHost: localhost\r\n"
             b"Content-Length: 99999999999\r\n\r\n" + b"c" * (1 << 20))
    for _ in range(200):
        data = bytearray(request)
        for _ in range(rng.randrange(1, 8)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        site.raw(bytes(data[:rng.randrange(1, len(data) + 1)]), 0.2)
    for _ in range(50):
        site.raw(rng.randbytes(rng.randrange(1, 20000)), 0.2)
    # Connections that send nothing, or a byte now and then: all places are
    # taken, and given back.
    slow = [socket.create_connection(site.address, timeout=LIMIT) for _ in range(64)]
    begun = time.monotonic()
    open_ones = list(slow)
    while open_ones and time.monotonic() - begun < LIMIT:
        for one in list(open_ones):
            try:
                one.send(b"G")
            except OSError:
                open_ones.remove(one)
        time.sleep(0.2)
    check(not open_ones, "64 connections that dribble are closed")
    for one in slow:
        one.close()
    crowd(site)
    # Answers that are not read.
    deaf = []
    for _ in range(32):
        one = socket.create_connection(site.address, timeout=LIMIT)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.sendall(request * 20)
        deaf.append(one)
    status, _, _ = site.own("metrics")
    check(status == 200, "others are answered beside 32 that do not read")
    for one in deaf:
        one.close()
    os.kill(agg, 0)


def crowd(site):
    """Strangers that take each place anew keep no client out."""
    is_over = threading.Event()

    def hold():
        held = []
        while not is_over.is_set():
            try:
                one = socket.create_connection(site.address, timeout=1)
                one.setblocking(False)
                one.send(b"G")
                held.append(one)
            except OSError:
                pass
            for old in list(held):
                try:
                    if old.recv(1) == b"":
                        held.remove(old)
                        old.close()
                except BlockingIOError:
                    pass
                except OSError:
                    held.remove(old)
                    old.close()
            time.sleep(0.01)
        for old in held:
            old.close()

    holders = [threading.Thread(target=hold) for _ in range(4)]
    for one in holders:
        one.start()
    time.sleep(3)
    waits = []
    for _ in range(10):
        begun = time.monotonic()
        status, _, _ = site.own("metrics")
        assert status == 200
        waits.append(time.monotonic() - begun)
    is_over.set()
    for one in holders:
        one.join()
    # Without a bound on strangers each waits for the end of theirs: 10 s.
    check(sorted(waits)[len(waits) // 2] < 5,
          f"the one with the token waits {max(waits):.2f} s at most")


def merge_of(agg):
    """The pid of the merge that is at work, or None."""
    for name in glob.glob("/proc/[0-9]*/stat"):
        try:
            text = open(name, encoding="latin1").read()
        except OSError:
            continue
        pid, rest = text.split(" (", 1)
        command, rest = rest.rsplit(")", 1)
        if command == "ckmerge" and int(rest.split()[1]) == agg and rest.split()[0] != "Z":
            return int(pid)
    return None


def stopped_merge(site, job, agg):
    """A merge that does not go on is ended, and the next one works."""
    def stop():
        site.own(job + "/state")  # a client looks
        pid = merge_of(agg)
        try:
            if pid:
                os.kill(pid, signal.SIGSTOP)
        except OSError:
            return None
        return pid
    pid = until(stop, "a merge is at work")
    number = json.loads(site.own(job + "/state")[2])["merge"]
    until(lambda: merge_of(agg) != pid, "a stopped merge is ended")
    until(lambda: json.loads(site.own(job + "/state")[2])["merge"] > number,
          "merges go on after a stopped one")


SAMPLE = re.compile(r'([a-z_]+)\{((?:[a-z]+="(?:[^"\\\n]|\\["\\n])*",?)+)\} (-?[0-9.e+-]+)')


def metrics_of(site):
    """{(name, labels): value} by OpenMetrics' rules, strictly."""
    status, headers, body = site.own("metrics")
    check(status == 200, "metrics are there")
    check(headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0"),
          "they say what they are")
    lines = body.decode("ascii").split("\n")
    assert lines[-2:] == ["# EOF", ""], lines[-2:]
    values, types, family = {}, {}, None
    for line in lines[:-2]:
        if line.startswith("# TYPE "):
            _, _, family, kind = line.split(" ")
            assert family not in types, f"{family} comes twice"
            types[family] = kind
        elif line.startswith("# HELP "):
            assert line.split(" ")[2] == family, line
        else:
            found = SAMPLE.fullmatch(line)
            assert found, line
            suffixes = {"counter": ["_total"], "gauge": [""],
                        "histogram": ["_bucket", "_count", "_sum"]}[types[family]]
            assert found[1] in [family + one for one in suffixes], line
            assert (found[1], found[2]) not in values, f"{line}: twice"
            values[found[1], found[2]] = float(found[3])
    try:
        from prometheus_client.openmetrics.parser import text_string_to_metric_families
        families = list(text_string_to_metric_families(body.decode()))
        assert len(families) == len(types)
    except ImportError:
        print("prometheus_client is not here: its parser was not asked")
    return values, types


def rising(values, types):
    """Those samples that may never fall."""
    kinds = tuple(name for name, kind in types.items() if kind != "gauge")
    return {key: value for key, value in values.items() if key[0].startswith(kinds)}


def measured(site):
    """Absent before they are known, then there; counters never fall."""
    values, _ = metrics_of(site)
    names = {name for name, _ in values}
    check("ck_job_records_total" in names or not names, "ckagg's own metrics come first")
    before = {}

    def know_all():
        nonlocal before
        values, types = metrics_of(site)
        now = rising(values, types)
        fallen = [key for key in before if key in now and now[key] < before[key]]
        assert not fallen, f"fell: {fallen}"
        before = now
        names = {name for name, _ in values}
        return {"ck_job_steps_total", "ck_job_step_seconds_bucket",
                "ck_job_last_step_timestamp_seconds", "ck_device_idle_seconds_total",
                "ck_rank_caused_wait_seconds_total", "ck_lost_records_total",
                "ck_merge_age_seconds"} <= names and values
    values = until(know_all, "all metrics")
    check(not [name for name, _ in values if name.startswith("ck_overhead")],
          "what is not measured is absent")
    caused = {labels: value for (name, labels), value in values.items()
              if name == "ck_rank_caused_wait_seconds_total"}
    check(len(caused) <= 32, "no more ranks than the worst")
    last = next(value for (name, _), value in values.items()
                if name == "ck_job_last_step_timestamp_seconds")
    check(abs(time.time() - last) < 3600, "the last step is of today")


def job_of(site):
    """The address of the one job."""
    path, status, _, _ = until(lambda: (lambda found: found if found[1] == 200 and
                                        found[0].count("/") == 4 else None)(site.follow("")),
                               "the job is shown")
    check(status == 200, "the job has a page")
    return path.split("/")[2]


def paid(site, job):
    """Merges take no more than was promised, once the first is paid for."""
    state = json.loads(site.own(job + "/state")[2])
    check(state["state"] == "run" and state["ranks"] == 3 and state["size"] == 3,
          f"the state is that of the job: {state}")
    share = state["cpu_ns"] / state["wall_ns"]
    # Each was expected to cost 5 % before it began; one may cost twice as much.
    check(state["cpu_ns"] <= 0.1 * state["wall_ns"],
          f"merges took {100 * share:.1f} % of a CPU")


def page_policy(site, job):
    """The policy of the page, which differs by one word from any page's."""
    def merged():
        path, status, headers, body = site.follow(job + "/")
        return (headers, body) if status == 200 and b"data-live" in body else None
    headers, body = until(merged, "the first merge")
    live = POLICY.search(body.decode("utf8"))[1]
    check("connect-src 'self'; " in live, "the page may ask its own server")
    text = body.decode("utf8")
    red = re.findall('class="alarm".*?</', text, re.S)
    check(not red, f"nothing is red in the page of a healthy job {red}")
    check(re.search(r'class="running"[^>]*><ul>\s*<li>.*was still running', text, re.S),
          "the page has where the ranks are")
    check(headers["X-Frame-Options"] == "DENY" and headers["Referrer-Policy"] == "no-referrer"
          and headers["Cache-Control"] == "no-store"
          and headers["X-Content-Type-Options"] == "nosniff", "headers keep it for itself")
    return live


def seen(browser, script):
    """The value in a page that may be replaced meanwhile; None = not now."""
    try:
        return browser.run("document.documentElement?.dataset.ready === 'yes' ? (" +
                           script + ") : null")
    except Failed as error:
        if "ontext" not in str(error) and "navigat" not in str(error):
            raise
        return None


def shown(browser, script, what):
    """Wait until it is true."""
    return until(lambda: seen(browser, script), what)


def held(browser):
    """Switch the following off; is the page the same when there is a newer one?"""
    shown(browser, """(() => {
        const box = document.getElementById('live-follows');
        if (box.checked) box.click();
        return !box.checked;
    })()""", "it does not follow")
    number = seen(browser, "liveNumber()")
    shown(browser, "!document.querySelector('#live button').disabled", "there is a newer page")
    return number if seen(browser, "!live.follows && liveNumber()") == number else None


def in_browser(site, job):
    """The page shows newer results by itself, and keeps what is selected."""
    with Browser() as browser:
        browser.size(1280, 900)
        browser.open(site.url + job + "/", "#r=2")
        first = shown(browser, "liveNumber()", "the page is drawn")
        shown(browser, "/records so far/.test(document.querySelector('#live').textContent)",
              "the page knows of the job")
        shown(browser, f"liveNumber() > {first}", "newer results come by themselves")
        check(until(lambda: seen(browser, "location.hash + JSON.stringify(selection.ranks)"),
                    "the page is there") == "#r=2[2]", "what is selected stays")
        number = until(lambda: held(browser), "the page stays where it is told to")
        shown(browser, "document.querySelector('#live button').click() ?? true", "a newer one")
        shown(browser, f"liveNumber() > {number}", "the button shows it")
        check(not shown(browser, "[live.follows]", "the page is there")[0],
              "what was chosen is kept")
        wrong = browser.complaints(site.url)
        check(not wrong, f"no complaint of the browser {wrong}")
        shots = os.environ.get("CK_SCREENSHOTS")
        if shots:
            browser.shot(os.path.join(shots, "live.png"))
        browser.run("document.getElementById('live-follows').click()")
        yield
        shown(browser, "!document.documentElement.dataset.live", "the page becomes the final one")
        check(browser.run("location.pathname").endswith("/done/"), "which is the last")


def ended(site, job, live):
    path, status, _, body = until(
        lambda: (lambda found: found if found[1] == 200 and b"data-live" not in found[3] and
                 b"refresh" not in found[3] else None)(site.follow(job + "/")), "the final page")
    check(path.endswith("/done/") and status == 200, "the final page has its address")
    final = POLICY.search(body.decode("utf8"))[1]
    check(final == live.replace("connect-src 'self'; ", ""),
          "policies differ by connect-src alone")


def main():
    if sys.argv[1] == "--first":
        print(sys.argv[2] + job_of(Site(sys.argv[2])) + "/")
        return
    site = Site(sys.argv[1])
    agg, launcher = int(sys.argv[2]), int(sys.argv[3])
    strangers(site)
    job = job_of(site)
    attacks(site, agg)
    measured(site)
    paid(site, job)
    stopped_merge(site, job, agg)
    live = page_policy(site, job)
    browsing = in_browser(site, job) if program() else iter(())
    if not program():
        print("no Chromium: the page was not opened")
    next(browsing, None)
    secret = [name for name in glob.glob(sys.argv[4] + "/*/live")
              if os.stat(name).st_mode & 0o77]
    check(not secret, "what merges write is for this user alone")
    os.kill(launcher, signal.SIGTERM)
    next(browsing, None)
    ended(site, job, live)


try:
    main()
except (AssertionError, Failed, OSError, http.client.HTTPException) as error:
    sys.exit(f"{type(error).__name__}: {error}")
