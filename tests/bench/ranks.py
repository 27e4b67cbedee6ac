#!/usr/bin/env python3
"""ranks.py - very many ranks: speed, memory, and every idle nanosecond

SPDX-License-Identifier: Apache-2.0

ranks.py BUILD_DIR [RANKS [TURNS [ROUNDS]]]: a made-up run (bench_many: default
1024 ranks, 5208 turns of three events, 16 million in all). Reading and merging
it is set against a bare tree of losers that decodes the same files; memory that
belongs to no file is looked at while ckmerge runs; each rank's ledger and waits
must be those that follow from its times. CPU seconds, best of ROUNDS (3) in
turn. Prints figure and target side by side; exit 1 when a target is missed.
"""
import json
import os
import subprocess
import sys
import tempfile

from job import watched

CAUSES = ("host_compute", "mpi_wait", "mpi_transfer", "launch_latency")


def cpu(args):
    """(CPU seconds, stdout) of a process."""
    child = subprocess.Popen(args, stdout=subprocess.PIPE, text=True)
    said = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    if status != 0:
        sys.exit("%s: status %d" % (args[0], status))
    return usage.ru_utime + usage.ru_stime, said


def differences(report, expected):
    """Ranks whose busy time, causes or waits are not what they must be."""
    devices = {device["ranks"][0]: device for device in report["devices"]}
    ranks = {rank["rank"]: rank for rank in report["ranks"]}
    wrong = []
    for rank, busy, *rest in expected:
        found = [devices[rank]["busy_ns"]]
        found += [devices[rank]["ledger"][cause] for cause in CAUSES]
        found += [ranks[rank]["waited_ns"]]
        if found != [busy] + rest:
            wrong.append((rank, found, [busy] + rest))
    return wrong


class Table:
    missed = False

    def row(self, what, value, target, is_good):
        print("%-50s %12s   %-12s %s" % (what, value, target,
                                         "ok" if is_good else "MISSED"))
        self.missed = self.missed or not is_good


def main():
    build = sys.argv[1]
    ranks = int(sys.argv[2]) if len(sys.argv) > 2 else 1024
    turns = int(sys.argv[3]) if len(sys.argv) > 3 else 5208
    rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 3
    events = ranks * turns * 3
    table = Table()
    with tempfile.TemporaryDirectory() as run:
        many = build + "/tests/bench_many"
        said = cpu([many, "--write", run, str(ranks), str(turns)])[1]
        expected = [tuple(int(word) for word in line.split())
                    for line in said.strip().split("\n")]
        bare, alone, whole, peak = [], [], [], 0
        for _ in range(rounds):
            line = cpu([many, "--bare", run])[1].split()
            bare.append(float(line[3]))
            line = cpu([build + "/tests/bench_merge", "--alone", run])[1]
            alone.append(float(line.split("CPU ")[1].split()[0]))
            seconds, kib = watched([build + "/bin/ckmerge", "-q", run])
            whole.append(seconds)
            peak = max(peak, kib)
        with open(os.path.join(run, "report.json")) as file:
            report = json.load(file)
        # Host thread and device queue; the collector's has a few records.
        limit = 64 * 1024 + 32 * 2 * ranks
        ratio = min(bare) / min(alone)
        table.row("events of %d ranks" % ranks, events, "", True)
        table.row("read, verify, decode, merge / bare tree", "%.2f" % ratio,
                  ">= 0.5", ratio >= 0.5)
        table.row("anonymous memory of the whole analysis, MiB",
                  "%.1f" % (peak / 1024), "<= %d" % (limit / 1024),
                  peak <= limit)
        wrong = differences(report, expected)
        table.row("ranks whose ledger or waits differ", len(wrong), "0",
                  not wrong)
        for line in wrong[:3]:
            print(line)
        print("bare %.2f s, alone %.2f s, whole %.2f s of CPU: %.1f, %.1f, "
              "%.1f M events/s" % (
                  min(bare), min(alone), min(whole), events / min(bare) / 1e6,
                  events / min(alone) / 1e6, events / min(whole) / 1e6))
    return int(table.missed)


sys.exit(main())
