#!/usr/bin/env python3
"""arrows.py TRACE REPORT - each message of a run is an arrow of its Chrome trace

SPDX-License-Identifier: Apache-2.0

From a call of the sending rank to one of the receiving rank, as many for each
pair of ranks as the report has received messages.
"""
import bisect
import collections
import json
import sys


class Rows:
    """The slices of each row, to find those around a time."""

    def __init__(self, events):
        self.rows = collections.defaultdict(list)
        for event in events:
            if event["ph"] == "X" and event["cat"] not in ("kernel", "copy", "wait"):
                self.rows[event["pid"], event["tid"]].append(
                    (event["ts"], event["ts"] + event["dur"], event))
        for row in self.rows.values():
            row.sort(key=lambda one: one[0])

    def innermost(self, event):
        """What a viewer binds the end of an arrow to; None = nothing."""
        row = self.rows[event["pid"], event["tid"]]
        at = bisect.bisect_right(row, event["ts"], key=lambda one: one[0])
        for start, end, one in reversed(row[max(0, at - 200):at]):
            if start <= event["ts"] < end:
                return one
        return None


def main():
    with open(sys.argv[1], encoding="utf8") as file:
        events = json.load(file)["traceEvents"]
    with open(sys.argv[2], encoding="utf8") as file:
        report = json.load(file)
    rows = Rows(events)
    ends = collections.defaultdict(dict)
    for event in events:
        if event.get("cat") == "message":
            assert event["ph"] not in ends[event["id"]], event
            ends[event["id"]][event["ph"]] = event
    pairs = collections.Counter()
    calls = collections.Counter()
    for number, arrow in ends.items():
        assert set(arrow) == {"s", "f"}, (number, arrow)
        assert arrow["f"]["bp"] == "e", arrow
        source, target = (rows.innermost(arrow[end]) for end in "sf")
        assert source and target, (number, arrow, source, target)
        assert source["name"].startswith("MPI_"), (arrow, source)
        assert target["name"].startswith("MPI_"), (arrow, target)
        calls[target["name"]] += 1
        pairs[source["pid"], target["pid"]] += 1
    expected = {(p["from"], p["to"]): p["received"]["messages"]
                for p in report["traffic"]["pairs"] if p["received"]["messages"]}
    assert expected and dict(pairs) == expected, (dict(pairs), expected)
    launches = {event["id"] for event in events if event.get("cat") == "launch"}
    assert not launches & set(ends), "an arrow of a launch has a message's number"
    print(f"ok: {len(ends)} arrows of messages, to {dict(calls)}")


try:
    main()
except AssertionError as error:
    sys.exit(f"wrong: {error}")
