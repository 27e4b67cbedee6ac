# ringlines.py - what ringrun wrote, for checks
# SPDX-License-Identifier: Apache-2.0
"""Records of one run: lists of dicts by kind, names resolved to `text`."""
import collections
import json
import os
import subprocess
import tempfile


class Lines:
    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            self.all = [json.loads(line) for line in file]
        self.names = {(r["incarnation"], r["name"]): r["text"]
                      for r in self.all if r["kind"] == "name"}
        self.kinds = collections.defaultdict(list)
        for record in self.all:
            if record["kind"] not in ("name", "device", "queue"):
                key = (record["incarnation"], record.get("name", 0))
                record["named"] = self.names.get(key, "")
            self.kinds[record["kind"]].append(record)

    def of(self, *kinds):
        return [r for kind in kinds for r in self.kinds[kind]]

    def calls(self, name):
        return [r for r in self.of("opencl", "cuda", "cuda-driver")
                if r["named"] == name]

    def facts(self, kind):
        """Last text of each numbered object as a dict of its lines."""
        return {r["name"]: dict(line.split("=", 1)
                                for line in r["text"].splitlines())
                for r in self.kinds[kind]}

    def notes(self):
        return [r["text"] for r in self.kinds["note"]]

    def lost_in_ring(self):
        return (sum(r["dropped"] + r["reentered"] for r in self.kinds["slot"])
                + sum(r["noslot"] for r in self.kinds["ring"]))


def run(ringrun, command, environment, options=(), timeout=120):
    """(lines, completed process) of a command under a ring."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "records")
        done = subprocess.run(
            [ringrun, out, *options, "--", *command],
            env={**os.environ, **environment}, timeout=timeout,
            capture_output=True, text=True, check=False)
        return Lines(out), done
