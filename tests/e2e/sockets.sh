#!/usr/bin/env bash
# sockets.sh - ranks without MPI that wait for each other's data
#
# SPDX-License-Identifier: Apache-2.0
#
# Three ranks in a ring of connections. A thread of each reads what comes and
# wakes the first thread, which waits on a condition; rank 1 sleeps before it
# sends, rank 2 sends only when rank 1's data came. So rank 2 waits for rank 1,
# and rank 0 for rank 2, which waited itself. With "plain" the first thread
# waits in recv() itself. The report must have it, with the lines, and the time
# that the program stamped within 5 % or 5 ms.
#
# And four ranks below one ckagent; three of them are late in turn, each in
# another way (crew.c): each one's cause is its own, with its own time. They wait
# on UNIX sockets, connected and in a pair, and on pipes with names.
#
# And three programs of a shell's pipeline, below one ckagent and without ranks
# (stage.c): the second one is slow, so the first waits until it has read and
# the third until it has written; or the first one is.
. "$(dirname "$0")/lib.sh"
need mpirun openmpi-bin
python=/usr/bin/python3

cat >"$work/ring.py" <<'PY'
import os
import select
import socket
import sys
import threading
import time

rank = int(os.environ["OMPI_COMM_WORLD_RANK"])
size = int(os.environ["OMPI_COMM_WORLD_SIZE"])
folder, is_plain = sys.argv[1], sys.argv[2] == "plain"
steps, late = 10, 0.05


def connect():
    server = socket.create_server(("127.0.0.1", 0))
    name = os.path.join(folder, "port.%d" % rank)
    with open(name + ".new", "w") as out:
        out.write(str(server.getsockname()[1]))
    os.rename(name + ".new", name)
    name = os.path.join(folder, "port.%d" % ((rank + 1) % size))
    while not os.path.exists(name):
        time.sleep(0.01)
    to = socket.create_connection(("127.0.0.1", int(open(name).read())))
    to.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return to, server.accept()[0]


class Reader(threading.Thread):
    """Counts what comes."""
    def __init__(self):
        super().__init__(daemon=True)
        self.source, self.come = None, threading.Semaphore(0)
        self.connected = threading.Semaphore(0)

    def run(self):
        self.connected.acquire()
        poll = select.epoll()
        poll.register(self.source, select.EPOLLIN)
        while True:
            poll.poll(0.02)
            if select.select([self.source], [], [], 0)[0]:
                if not self.source.recv(1):
                    return
                self.come.release()


def wait():
    start = time.monotonic()
    if is_plain:
        source.recv(1)
    else:
        reader.come.acquire()
    return time.monotonic() - start


def think():
    time.sleep(late)


time.sleep(0.2)  # a younger process is not recorded
if not is_plain:
    reader = Reader()
    reader.start()
to, source = connect()
if not is_plain:
    reader.source = source
    reader.connected.release()
waited = 0
for step in range(steps):
    if rank == 1:
        think()
        to.send(b"x")
        waited += wait()
    else:
        waited += wait()
        to.send(b"x")
with open(os.path.join(folder, "waited.%d" % rank), "w") as out:
    out.write(str(waited))
time.sleep(0.1)
PY

# ring plain|threads
ring() {
    local how=$1
    rm -rf "${work:?}/$how"
    mkdir "$work/$how"
    timeout 60 mpirun -n 3 "$bin/ckagent" --report none --dir "$work/$how/run" \
        -- "$python" "$work/ring.py" "$work/$how" "$how"
    wait_done "$work/$how/run"
    "$bin/ckmerge" --verify "$work/$how/run" >"$work/$how/verify" ||
        fail "--verify: $(cat "$work/$how/verify")"
    "$bin/ckmerge" --output json "$work/$how/run" >"$work/$how/report.json"
    "$bin/ckmerge" "$work/$how/run" >"$work/$how/report.txt"
    grep -q "for each other's data, on sockets" "$work/$how/report.txt" ||
        fail "$how: the report does not say that ranks waited"
    "$python" - "$work/$how" "$how" <<'PY'
import json, os, sys
folder, how = sys.argv[1:]
report = json.load(open(folder + "/report.json"))
line = {name: number for number, text in enumerate(
    open(os.path.join(os.path.dirname(folder), "ring.py")), 1)
    for name in ("source.recv(1)", "come.acquire()", "time.sleep(late)")
    if name in text and "if not" not in text}
place = line["source.recv(1)" if how == "plain" else "come.acquire()"]
ranks = {r["rank"]: r for r in report["ranks"]}
for rank in (0, 2):
    # The first message of rank 1 may have come before any rank waited.
    truth = float(open(folder + "/waited.%d" % rank).read()) * 1e9
    seen = ranks[rank]["waited_data_ns"]
    near = max(0.05 * truth, 5e6)
    assert seen < truth + near, (rank, truth, seen)
    if seen < truth - near:
        # It may have had no CPU when the data had come.
        print("rank %d waited %.0f ms, stamped %.0f" %
              (rank, seen / 1e6, truth / 1e6))
        sys.exit(3 if report["load"].get("other_cpus", 1) > 0.5 else 1)
    assert ranks[rank]["waited_ns"] == seen
    print("ok: %s: rank %d waited %.0f ms, stamped %.0f" %
          (how, rank, seen / 1e6, truth / 1e6))
row = report["waits"][0]
assert row["wait"] == "late_data" and row["blamed_rank"] == 1, row
assert row["ns"] > 0.6 * sum(ranks[r]["waited_ns"] for r in (0, 2)), row
assert row["host"]["line"] == place, row["host"]
assert row["blamed"]["line"] == line["time.sleep(late)"], row["blamed"]
worst = report["stragglers"][0]
assert worst["rank"] == 1, report["stragglers"]
assert sum(r["waited_ns"] for r in report["ranks"]) == \
    sum(r["caused_ns"] for r in report["ranks"])
PY
}

crew() {
    rm -rf "${work:?}/crew"
    mkdir "$work/crew"
    timeout 60 "$bin/ckagent" --report none --dir "$work/crew/run" -- \
        "$work/late" "$work/crew"
    wait_done "$work/crew/run"
    "$bin/ckmerge" --verify "$work/crew/run" >"$work/crew/verify" ||
        fail "--verify: $(cat "$work/crew/verify")"
    "$bin/ckmerge" --output json "$work/crew/run" >"$work/crew/report.json"
    "$bin/ckmerge" --ranks 1,3 --output json "$work/crew/run" \
        >"$work/crew/some.json"
    "$python" - "$work/crew" "$here/crew.c" <<'PY'
import json, sys
folder, source = sys.argv[1:]
report = json.load(open(folder + "/report.json"))
late = {s["rank"]: s for s in report["stragglers"]}
sleeps = [number for number, text in enumerate(open(source), 1)
          if "nanosleep(" in text]
# All three others waited for each of them, but before the first turn.
for rank in range(3):
    truth = 3e9 * float(open(folder + "/took.%d" % rank).read())
    seen = late[rank]["caused_ns"]
    assert 0.8 * truth < seen < 1.1 * truth, (rank, truth, seen)
    print("ok: rank %d: others waited %.0f ms, stamped %.0f" %
          (rank, seen / 1e6, truth / 1e6))
assert late.get(3, {"caused_ns": 0})["caused_ns"] < late[0]["caused_ns"]
assert late[2]["did"]["call"] == "nanosleep", late[2]
assert late[2]["did"]["line"] in sleeps, late[2]
assert late[1]["did"]["call"] is None, late[1]
assert late[0]["did"]["call"] in (None, "poll"), late[0]
if report["sampled"]["total_ns"] > 0:
    where = [late[rank]["did"]["sampled"] for rank in (0, 1)]
    assert where[1]["function"] == "grind", where
    assert where[1]["share"] > 0.9, where
    assert where[0] is None or where[0]["function"] != "grind", where
assert sum(r["waited_ns"] for r in report["ranks"]) == \
    sum(r["caused_ns"] for r in report["ranks"])
some = json.load(open(folder + "/some.json"))
waited = {r["rank"]: r["waited_ns"] for r in report["ranks"]}
assert {r["rank"]: r["waited_ns"] for r in some["ranks"]} == \
    {rank: waited[rank] for rank in (1, 3)}, some["ranks"]
assert sum(s["caused_ns"] for s in some["stragglers"]) == \
    sum(w["ns"] for w in some["waits"]) == waited[1] + waited[3]
assert 0 in {s["rank"] for s in some["stragglers"]}
assert some["region"] == report["region"]
print("ok: what ranks 1 and 3 waited alone, for whomever")
PY
}

# pipeline SLOW: which of the three stages sleeps
pipeline() {
    local slow=$1
    rm -rf "${work:?}/pipeline"
    mkdir "$work/pipeline"
    # shellcheck disable=SC2016
    timeout 60 "$bin/ckagent" --report none --dir "$work/pipeline/run" -- \
        env FOLDER="$work/pipeline" SLOW="$slow" \
        sh -c '"$0" 1 | "$0" 2 | "$0" 3' "$work/stage"
    wait_done "$work/pipeline/run"
    "$bin/ckmerge" "$work/pipeline/run" >"$work/pipeline/report.txt"
    "$bin/ckmerge" --output json "$work/pipeline/run" \
        >"$work/pipeline/report.json"
    "$python" - "$work/pipeline" "$slow" "$here/stage.c" <<'PY'
import json, sys
folder, slow, source = sys.argv[1:]
slow = int(slow)
report = json.load(open(folder + "/report.json"))
text = open(folder + "/report.txt").read()
line = {word: number for number, text_ in enumerate(open(source), 1)
        for word in ("read(0", "write(1", "nanosleep(") if word in text_}
stages = [open("%s/stage.%d" % (folder, i)).read().split() for i in (1, 2, 3)]
pids = [int(s[0]) for s in stages]
rows = {(r["waiter"]["pid"], r["awaited"]["pid"], r["until"]): r
        for r in report["process_waits"]}
assert report["program"].split()[0].endswith("/stage"), report["program"]
# Who waits for whom to do what, and how long it stamped.
truths = [(i, i - 1, "written", float(stages[i][1]), "read(0")
          for i in (1, 2) if slow <= i] + \
    [(i, i + 1, "read", float(stages[i][2]), "write(1")
     for i in (0, 1) if slow > i + 1]
for waiter, awaited, until, truth, call in truths:
    row = rows[pids[waiter], pids[awaited], until]
    assert abs(row["ns"] / 1e9 - truth) < max(0.1 * truth, 0.12), (row, truth)
    assert row["over"] == "pipe" and row["line"] == line[call], row
    sentence = "stage (pid %d) waited" % pids[waiter]
    assert sentence in text, (sentence, text)
    if awaited == slow - 1:
        assert row["awaited_was_in"]["line"] == line["nanosleep("], row
        assert row["awaited_was_in"]["ns"] > 0.7 * row["ns"], row
    print("ok: stage %d waited %.0f ms for stage %d, stamped %.0f" %
          (waiter + 1, row["ns"] / 1e6, awaited + 1, truth * 1e3))
assert " 0 is the first thread of stage (pid " in text, text
assert text.startswith("ck  stage "), text
PY
}

gcc -g -O1 "$here/stage.c" -o "$work/stage"
gcc -g -O1 -fno-inline -fno-omit-frame-pointer -fno-optimize-sibling-calls \
    "$here/crew.c" -o "$work/late"
fair crew
fair pipeline 1
fair pipeline 2
by_truth ring plain
by_truth ring threads
