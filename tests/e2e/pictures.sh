#!/usr/bin/env bash
# pictures.sh - pictures of a report without a browser: hostile names are text, a
# full disk is an error
#
# SPDX-License-Identifier: Apache-2.0
. "$(dirname "$0")/lib.sh"
need python3 python3

# Two ranks whose kernels, devices and hosts have names that want to be more.
/usr/bin/python3 - "$here" "$work" <<'PY'
import json, sys
sys.path.insert(0, sys.argv[1])
from page import HOSTILE
names = HOSTILE + ["]]>", "&#x3c;", "\u202eevil\u2066", "nul\u0000byte", "n" * 100000, "plain"]
for rank in range(2):
    events = []
    for i, name in enumerate(names * 3):
        at = 1000.0 + 100 * i + 10 * rank
        events += [
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 7,
             "tid": 9, "ts": at, "dur": 5, "args": {"correlation": i + 1}},
            {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": at + 8,
             "dur": 60, "args": {"device": 0, "stream": 7, "correlation": i + 1}}]
    text = json.dumps({"schemaVersion": 1, "distributedInfo": {"rank": rank, "world_size": 2},
                       "deviceProperties": [{"id": 0, "name": HOSTILE[rank]}],
                       "traceEvents": events}, ensure_ascii=False)
    with open(f"{sys.argv[2]}/rank{rank}.json", "wb") as file:
        file.write(text.replace("plain", "bad\udcff\udcfe").encode("utf8", "surrogateescape"))
PY
merge() {
    "$bin/ckmerge" --quiet --no-page --force --kernel-only "$@" \
        "$work/rank0.json" "$work/rank1.json" "$work/merged \"<&>'.json"
}

for what in ledger timeline steps flame; do
    rc=0
    merge --output "svg-$what=$work/$what.svg" || rc=$?
    [ $rc = 0 ] || [ $rc = 3 ] || fail "svg-$what ends with $rc"
    # On stdout it is the same.
    merge --output "svg-$what" >"$work/stdout.svg" || [ $? -eq 3 ]
    cmp "$work/stdout.svg" "$work/$what.svg" || fail "svg-$what=FILE is another picture"

    # A full disk gets one line.
    rc=0
    merge --output "svg-$what=/dev/full" 2>"$work/err" || rc=$?
    [ $rc = 1 ] || fail "svg-$what on a full disk ends with $rc"
    same "lines about svg-$what" 1 "$(wc -l <"$work/err")"
    grep -q "cannot write /dev/full: No space left" "$work/err" || fail "$(cat "$work/err")"
    if merge --output "svg-$what=$work/no/such/folder.svg" 2>"$work/err"; then
        fail "a picture in no folder"
    fi
    grep -q "cannot write $work/no/such/folder.svg" "$work/err" || fail "$(cat "$work/err")"
done

/usr/bin/python3 - "$work" <<'PY' || fail "a picture is not as it should be"
import sys, xml.etree.ElementTree as tree
SPACE = "{http://www.w3.org/2000/svg}"
for name in ("ledger", "timeline", "steps", "flame"):
    path = "%s/%s.svg" % (sys.argv[1], name)
    with open(path, "rb") as file:
        data = file.read()
    text = data.decode("utf8")
    root = tree.fromstring(data)
    tags = {node.tag for node in root.iter()}
    if name == "flame":
        # One script of our own; each frame is drawn on the one that called it.
        assert len([node for node in root.iter() if node.tag == SPACE + "script"]) == 1
        tags -= {SPACE + "script"}
        frames = [node for node in root.iter() if node.get("class") == "f"]
        assert {node.get("data-k") for node in frames} >= {"dev", "idle"}, frames
        for kind in ("dev", "idle"):
            mine = [(int(node.get("data-d")), float(node.get("data-a")),
                     float(node.get("data-b"))) for node in frames
                    if node.get("data-k") == kind]
            assert [(a, b) for depth, a, b in mine if depth == 0] == [(0, 1)], kind
            for depth, a, b in mine:
                assert depth == 0 or any(
                    d == depth - 1 and x <= a + 2e-9 and b <= y + 2e-9
                    for d, x, y in mine), (kind, depth, a, b)
            for depth in range(1, 3):  # the idle time has a cause and more below
                row = sorted((a, b) for d, a, b in mine if d == depth)
                assert all(x[1] <= y[0] + 2e-9 for x, y in zip(row, row[1:])), row
            assert sum(b - a for d, a, b in mine if d == 1) > 0.99, kind
    assert tags <= {SPACE + one for one in ("svg", "title", "desc", "style", "defs", "pattern",
                                            "g", "rect", "text", "tspan", "path", "line",
                                            "marker")}, tags
    attributes = {key for node in root.iter() for key in node.attrib}
    assert not [key for key in attributes if key.lower().startswith("on") or "href" in key], \
        attributes
    assert "\u202e" not in text and "\x00" not in text, name
    assert len(data) < 1 << 20, len(data)
    print("ok:", name, len(data), "bytes,", len(list(root.iter())), "elements")
PY
