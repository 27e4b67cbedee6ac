#!/usr/bin/env bash
# allocations.sh - where memory came from, against what programs know
#
# SPDX-License-Identifier: Apache-2.0
#
# allocations_target.cpp prints what its functions asked for, had at the peak and
# have at the end: the report's estimates are within five of their own standard
# deviations, at the function and line, as are those of a Python program. The
# program's allocator stays its own: jemalloc and tcmalloc, preloaded, and the
# address sanitizer's, whose reports do not change. Without the option nothing
# is loaded.
. "$(dirname "$0")/lib.sh"
program=$tests/allocations_target
source=$here/allocations_target.cpp

line() {
    grep -n "here: $1 " "$source" | cut -d: -f1
}

# record NAME OPTIONS... -- PROGRAM...
record() {
    local name=$1
    shift
    rm -rf "${work:?}/$name"
    timeout 100 "$bin/ckagent" --report none --no-page --dir "$work/$name" "$@" \
        >"$work/$name.truth" 2>"$work/$name.err" </dev/null ||
        { cat "$work/$name.err"; fail "$name"; }
    wait_done "$work/$name"
    "$bin/ckmerge" --verify "$work/$name" >/dev/null || fail "--verify of $name"
    "$bin/ckmerge" --quiet --output json="$work/$name/report.json" \
        --output text="$work/$name.txt" \
        --output folded-memory="$work/$name.folded" "$work/$name"
}

# right NAME [LEFT_OUT]: the estimates are the program's own figures.
right() {
    /usr/bin/python3 - "$work/$1/report.json" "$work/$1.truth" "${2:-}" \
        "$(line keep_by_thread)" <<'PY'
import json, sys
of = json.load(open(sys.argv[1]))["allocations"]
rows = {}
# Of a few blocks of doubling sizes most of the deviation may be in those that
# no sample met: what it is, of sizes 4 KiB to 4 MiB and a mean of 32 KiB.
known = {"grow_array": 49000}
for row in of["places"]:
    function = (row["function"] or "").split("(")[0]
    rows.setdefault(function, row)
for text in open(sys.argv[2]):
    name, *truth = text.split()
    if name in sys.argv[3].split():
        continue
    row = rows[name]
    for key, is_of in zip(("bytes", "peak_bytes"), map(int, truth)):
        off = row[key] - is_of
        print("%s: %s %d, by samples %d +- %d (%+.1f)" % (
            name, key, is_of, row[key], row[key + "_error"],
            off / max(row[key + "_error"], 1)))
        error = max(row[key + "_error"], known.get(name, 0))
        assert abs(off) <= 5 * error + 1, (name, key)
        assert row[key + "_error"] < 0.1 * is_of + 1e6, (name, key)
    assert abs(row["last_bytes"] - int(truth[2])) <= 5 * row["bytes_error"] + 1
# A thread gave it back at its end, when it records nothing itself.
(own,) = [row for row in of["places"] if row["line"] == int(sys.argv[4])]
assert own["bytes"] >= 4 << 20 and own["last_bytes"] == 0, own
assert of["ranks"][0]["peak_bytes"] >= rows["keep_mixed"]["peak_bytes"]
PY
}

record cxx --allocations=32K -- "$program"
right cxx || fail "C++"
for function in keep_mixed grow_nodes churn fill_vector map_large grow_array; do
    same "line of $function" "$(line "$function")" \
        "$(json "$work/cxx/report.json" "[r['line'] for r in
            j['allocations']['places'] if (r['function'] or
            '').startswith('$function')][0]")"
done
same "one in" 32768 "$(json "$work/cxx/report.json" \
    "j['allocations']['mean_bytes']")"
grep -q '^ WHERE MEMORY CAME FROM' "$work/cxx.txt" || fail "no table"
grep -q 'memory: .* blocks sampled, one in 32.8 kB on average' \
    "$work/cxx.txt" || fail "no line in TRUST: $(cat "$work/cxx.txt")"
# The folded bytes are those of the report; callers outermost first.
/usr/bin/python3 - "$work/cxx/report.json" "$work/cxx.folded" <<'PY'
import json, sys
of = json.load(open(sys.argv[1]))["allocations"]
lines = [text.rsplit(" ", 1) for text in open(sys.argv[2])]
every = sum(int(amount) for _, amount in lines)
report = sum(row["bytes"] for row in of["ranks"])
assert abs(every - report) <= sum(row["samples"] for row in of["ranks"])
assert any(";main;churn" in stack for stack, _ in lines), lines[:9]
PY

# Other allocators stay, and are sampled as well, but for their own operator new.
for library in libjemalloc.so.2 libtcmalloc_minimal.so.4; do
    path=/usr/lib/$(uname -m)-linux-gnu/$library
    [ -e "$path" ] || continue
    LD_PRELOAD=$path record "$library" --allocations=32K -- "$program"
    right "$library" "grow_nodes fill_vector" || fail "$library"
    grep -q "memory of C++'s operator new is not recorded" \
        "$work/$library.txt" || fail "no note about operator new"
done

# A Python program: the user's line. Each object is one of malloc's here.
cat >"$work/lists.py" <<'PY'
import sys
def build(n):
    return [bytearray(1000 + i % 50) for i in range(n)]
def main():
    kept = build(20000)
    size = sum(sys.getsizeof(b) - sys.getsizeof(bytearray()) for b in kept)
    print("build", size)
main()
PY
PYTHONMALLOC=malloc record python --allocations=16K -- /usr/bin/python3 \
    "$work/lists.py"
/usr/bin/python3 - "$work/python/report.json" "$work/python.truth" <<'PY'
import json, sys
places = json.load(open(sys.argv[1]))["allocations"]["places"]
truth = int(open(sys.argv[2]).read().split()[1])
rows = [row for row in places if (row["file"] or "").endswith("lists.py") and
        row["line"] == 3]
print([(row["function"], row["line"], row["bytes"]) for row in places[:4]])
assert rows, places[:4]
seen = sum(row["bytes"] for row in rows)
error = sum(row["bytes_error"] ** 2 for row in rows) ** 0.5
# The objects' own heads, 56 bytes each, come from there, too.
assert truth - 5 * error < seen < truth + 20000 * 120 + 5 * error, (seen, truth)
PY

# A sanitizer's allocator is left alone: what it reports is the same.
cat >"$work/leak.c" <<'C'
#include <stdlib.h>
int main(void)
{
    volatile char *p = malloc(10);
    free((void *)p);
    return p[1];
}
C
if gcc -g -fsanitize=address -o "$work/leak" "$work/leak.c" 2>/dev/null; then
    plain=$("$work/leak" 2>&1 | grep -o '#[0-9].*' | sed 's/0x[0-9a-f]*//g') ||
        true
    with=$("$bin/ckagent" --report none --no-page --dir "$work/asan" \
        --allocations=1K -- "$work/leak" 2>&1 | grep -o '#[0-9].*' |
        sed 's/0x[0-9a-f]*//g') || true
    [ -n "$plain" ] || fail "the address sanitizer reports nothing"
    same "the sanitizer's stacks" "$plain" "$with"
fi

# A thread that the processor's counter is forbidden to goes on, as without ck.
if gcc -D_GNU_SOURCE -pthread -o "$work/strange" \
    "$here/../targets/hard/strange.c" -ldl -lrt 2>"$work/gcc.err"; then
    status=0
    alone=$("$work/strange" no-counter) || status=$?
    with=0
    said=$("$bin/ckagent" --report none --no-page --dir "$work/counter" \
        --allocations=1K -- "$work/strange" no-counter) || with=$?
    same "what a program without the counter says" "$alone" "$said"
    same "its status" "$status" "$with"
fi

# More Python lines than are kept: a stack ends at the first that is not known,
# and never joins what is on both sides of it.
cat >"$work/many.py" <<'PY'
LINES = 6000
text = "def leaf():\n    return bytearray(40000)\ndef mid(n):\n"
text += "".join("    if n == %d:\n        return leaf()\n" % n
                for n in range(LINES))
of = {}
exec(compile(text, __file__.replace("many.py", "lines.py"), "exec"), of)
for n in range(0, LINES):
    of["mid"](n)
PY
PYTHONMALLOC=malloc record many --allocations=1K -- /usr/bin/python3 \
    "$work/many.py"
grep -q ';mid.*;leaf' "$work/many.folded" || fail "no stack by mid"
! grep ';leaf' "$work/many.folded" | grep -v ';mid.*;leaf' | grep -v '^rank 0;thread main;leaf ' ||
    fail "stacks without their middle"
grep -q 'more Python lines than ck keeps' "$work/many.txt" ||
    fail "no note about Python lines"

# Nothing is loaded without it.
"$bin/ckagent" --report none --no-page --dir "$work/off" -- cat /proc/self/maps \
    >"$work/maps"
grep -q libck.so "$work/maps" || fail "nothing was loaded at all"
grep -q libckmemory "$work/maps" && fail "ckmemory is loaded without the option"
if "$bin/ckagent" --allocations=10 -- true 2>"$work/err"; then
    fail "--allocations=10 was taken"
fi
grep -q -- '--allocations: 1KiB to 1GiB' "$work/err" || fail "$(cat "$work/err")"
exit 0
