#!/usr/bin/env bash
# page.sh - the HTML page in a real browser: every view, key and button, of runs
# that differ as much as they can
#
# SPDX-License-Identifier: Apache-2.0
#
# CK_SCREENSHOTS=FOLDER keeps pictures of each page. Each is looked at with axe-core,
# which npm fetches once; CK_AXE=axe.min.js names another one.
. "$(dirname "$0")/lib.sh"
need mpirun openmpi-bin
need python3 python3
[ -n "${CHROMIUM:-}" ] || need chromium chromium
[ -x "$tests/train" ] || skip "train was not built"

. "$here/axe.sh"

# A late rank: causes of idle time, waits, steps.
timeout 300 mpirun -n 4 "$bin/ckagent" --report none --dir "$work/late" -- \
    "$tests/train" --steps 30 --inject late:2:10 >"$work/out" 2>&1
# A rank that dies.
timeout 300 mpirun -n 3 "$bin/ckagent" --report none --dir "$work/dead" -- \
    "$tests/train" --steps 30 --inject crash:1:15 >"$work/out" 2>&1 &&
    fail "no rank died"
# No device, and no step.
timeout 300 mpirun -n 2 "$bin/ckagent" --report none --dir "$work/host" -- \
    "$tests/known.openmpi" imbalance 100 sleep >"$work/out" 2>&1
# Functions of C++.
timeout 120 "$bin/ckagent" --report none --sample 499 --dir "$work/cxx" -- \
    "$tests/callers_cxx" 40 >"$work/out" 2>&1
wait_done "$work/cxx"
wait_done "$work/late"
wait_done "$work/dead"
wait_done "$work/host"
"$bin/ckmerge" --quiet --baseline "$work/late" "$work/dead" || [ $? -eq 3 ]

# No page where none is wanted, however the job was started; directories above a
# run's are made.
timeout 300 "$bin/cklaunch" -n 2 --launcher mpirun --no-page --dir "$work/new/er/launched" -- \
    "$tests/known.openmpi" balanced 5 sleep >"$work/out" 2>&1
timeout 300 mpirun -n 2 "$bin/ckagent" --no-page --ranks 1 --report none \
    --dir "$work/newer/pageless" -- "$tests/known.openmpi" balanced 5 sleep >"$work/out" 2>&1
for run in new/er/launched newer/pageless; do
    wait_done "$work/$run"
    [ -s "$work/$run/report.txt" ] || fail "$run has no report"
    [ ! -e "$work/$run/report.html" ] || fail "--no-page, and $run has a page"
    ! grep -q '^ PAGE' "$work/$run/report.txt" || fail "a page is named that is not"
done

# A run with a part missing.
cp -r "$work/host" "$work/damaged"
for segment in "$work"/damaged/seg-*.ck; do
    truncate -s -200 "$segment"
done
"$bin/ckmerge" --quiet "$work/damaged" && fail "a damaged run is whole"

# Names that want to be more than names, in profiles without a run.
/usr/bin/python3 - "$here" "$work" <<'PY'
import json, sys
sys.path.insert(0, sys.argv[1])
from page import HOSTILE
names = HOSTILE + ["\u202eevil\u2066", "nul\u0000byte", "n" * 1000000, "plain"]
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
                       "deviceProperties": [{"id": 0, "name": HOSTILE[1]}],
                       "traceEvents": events}, ensure_ascii=False)
    with open(f"{sys.argv[2]}/hostile{rank}.json", "wb") as file:
        file.write(text.replace("plain", "bad\udcff\udcfe").encode("utf8", "surrogateescape"))
PY
"$bin/ckmerge" --quiet --kernel-only --output json="$work/hostile.report" \
    "$work/hostile0.json" "$work/hostile1.json" "$work/hostile.json" ||
    [ $? -eq 3 ]
[ -s "$work/hostile.json.html" ] || fail "a merge of profiles has no page"

# A run whose page is folded, and a page of a part of it, in no place of its own.
mkdir "$work/big"
"$tests/bench_merge" --write "$work/big" 250000 4 varied >"$work/out"
for more in "html=$work/big/part.html --from 400ms --to 402ms" \
    "html=$work/big/all.html --page-bytes 24M" "html=$work/big/report.html"; do
    # shellcheck disable=SC2086
    "$bin/ckmerge" --quiet --no-page --output $more "$work/big" || [ $? -eq 3 ]
done
# As large as it may be, and no larger.
"$bin/ckmerge" --quiet --page-bytes 500000 --output html="$work/small.html" \
    "$work/big" || [ $? -eq 3 ]
[ "$(stat -c %s "$work/small.html")" -le 500000 ] || fail "--page-bytes is not kept"
[ "$(stat -c %s "$work/big/report.html")" -le 5000000 ] || fail "a page is too large"

# Many ranks, and as little room for them as may be asked for.
mkdir "$work/ranks"
"$tests/bench_merge" --write "$work/ranks" 300 96 varied >"$work/out"
for more in "html=$work/big/ranks.html" \
    "html=$work/big/least.html --page-bytes 500000"; do
    # shellcheck disable=SC2086
    "$bin/ckmerge" --quiet --no-page --output $more "$work/ranks" || [ $? -eq 3 ]
done
[ "$(stat -c %s "$work/big/least.html")" -le 500000 ] ||
    fail "--page-bytes is not kept for many ranks"

for run in late dead host; do
    [ -s "$work/$run/report.html" ] || fail "the job $run has no page"
    tail -n 1 "$work/$run/report.txt" | grep -qF "$work/$run/report.html" ||
        fail "the report's last line does not name the page"
done
/usr/bin/python3 "$here/lanes.py" "$work/late/report.html" \
    "$work/dead/report.html" "$work/host/report.html" ||
    fail "the timeline of a page does not add up"
/usr/bin/python3 "$here/flames.py" "$work/late/report.html" \
    "$work/dead/report.html" "$work/host/report.html" "$work/hostile.json.html" ||
    fail "the stacks of a page do not add up"
if [ -n "${CK_SCREENSHOTS:-}" ]; then
    mkdir -p "$CK_SCREENSHOTS"
fi
/usr/bin/python3 "$here/page.py" "${CK_SCREENSHOTS:-}" \
    late="$work/late/report.html,$work/late/report.json" \
    dead="$work/dead/report.html,$work/dead/report.json" \
    host="$work/host/report.html,$work/host/report.json" \
    damaged="$work/damaged/report.html,$work/damaged/report.json" \
    cxx="$work/cxx/report.html,$work/cxx/report.json" \
    big="$work/big/report.html,$work/big/report.json" \
    hostile="$work/hostile.json.html,$work/hostile.report" ||
    fail "a page is not as it should be"
"$bin/ckmerge" --quiet --no-page --output svg-timeline="$work/dead.svg" "$work/dead" ||
    [ $? -eq 3 ]
grep -q '<text class="x[ e]*" [^>]*>died: signal [0-9]* at ' "$work/dead.svg" ||
    fail "the picture of a rank that died does not show that"
# The other browser: each view once.
mkdir "$work/hostile"
mv "$work/hostile.json.html" "$work/hostile/report.html"
/usr/bin/python3 "$here/firefox.py" "$work"/{late,dead,host,damaged,big,hostile}/report.html ||
    [ $? -eq 77 ] || fail "a page is not as it should be in Firefox"
