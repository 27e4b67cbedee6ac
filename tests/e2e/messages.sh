#!/usr/bin/env bash
# messages.sh - messages and bytes by pair, size and place are the program's own
#
# SPDX-License-Identifier: Apache-2.0
#
# The program counts what it sends and receives by itself; every figure of the
# report must be equal, and all its sums one. With each MPI that is here.
. "$(dirname "$0")/lib.sh"

# compare REPORT OUTPUT MPI VERSION
compare() {
    /usr/bin/python3 - "$@" <<'PY'
import collections, json, sys
j = json.load(open(sys.argv[1]))
pairs = collections.defaultdict(lambda: [0, 0])
sizes = collections.defaultdict(lambda: [0, 0])
groups = collections.defaultdict(lambda: [0, 0, 0])
functions = collections.Counter()
for line in open(sys.argv[2]):
    what, *words = line.split()
    if what in ("sent", "received"):
        if int(words[2]):
            pairs[what, int(words[0]), int(words[1])] = list(
                map(int, words[2:]))
    elif what == "size":
        sizes[words[0], int(words[1])][0] += int(words[2])
        sizes[words[0], int(words[1])][1] += int(words[3])
    elif what == "collective":
        for i in range(3):
            groups[words[0]][i] += int(words[i + 1])
    elif what == "function":
        functions[words[0]] += int(words[1])
    else:
        raise ValueError(f"no line of the program: {line!r}")
assert pairs and sizes and groups and functions
t = j["traffic"]
seen = {(view, p["from"], p["to"]): [p[view]["messages"], p[view]["bytes"]]
        for p in t["pairs"] for view in ("sent", "received")
        if p[view]["messages"]}
assert seen == dict(pairs), [
    (k, seen.get(k), pairs.get(k)) for k in sorted({*seen, *pairs})
    if seen.get(k) != pairs.get(k)]
# Sender and receiver agree, whoever they are.
assert all(p["sent"] == p["received"] for p in t["pairs"])
seen = {(s["comm"], b["from_bytes"].bit_length()): [b["messages"], b["bytes"]]
        for s in t["sizes"] for b in s["bins"]}
assert seen == dict(sizes), (seen, dict(sizes))
seen = {s["comm"]: [s["collective"][k] for k in
                    ("calls", "bytes_out", "bytes_in")] for s in t["sizes"]}
assert {k: v for k, v in seen.items() if v[0]} == \
    {k: v for k, v in groups.items() if v[0]}, (seen, dict(groups))
by_name = {f["name"]: f for f in j["functions"]}
for name, calls in functions.items():
    if name not in by_name or by_name[name]["calls"] != calls:
        raise AssertionError((name, calls, by_name.get(name)))
    assert sum(c["calls"] for c in j["calls"] if c["name"] == name) == calls
    assert sum(c["name"] == name for c in j["calls"]) == by_name[name]["places"]
# One sum, by pair, by size, by place and by function.
whole = [sum(v[i] for v in sizes.values()) for i in (0, 1)]
for rows in (j["calls"], j["functions"]):
    for view in ("sent", "received"):
        assert whole == [sum(r[view][k] for r in rows if view in r)
                         for k in ("messages", "bytes")], (view, whole)
    assert [sum(r["collective"][k] for r in rows if "collective" in r)
            for k in ("calls", "bytes_out", "bytes_in")] == \
        [sum(v[i] for v in groups.values()) for i in range(3)]
# What came from no rank is no receive there either.
e = j["efficiency"]
assert e["receives"] == e["matched"] == \
    sum(p["received"]["messages"] for p in t["pairs"]), (e, whole)
assert by_name["MPI_Isend"]["places"] > 91
# The smallest and the largest one, by place and by function.
bins = [k[1] for k in sizes]
for rows in (j["calls"], j["functions"]):
    for view in ("sent", "received"):
        views = [r[view] for r in rows if view in r]
        ends = [min(v["min_bytes"] for v in views),
                max(v["max_bytes"] for v in views)]
        assert [e.bit_length() for e in ends] == [min(bins), max(bins)], ends
        assert all(v["min_bytes"] * v["messages"] <= v["bytes"] <=
                   v["max_bytes"] * v["messages"] for v in views), view
# What MPI asks libc for, in its own threads, within its calls, in constructors
# and in exit handlers, is not what the program did: it wrote this text, and
# slept 39 times before, between and behind all that. (What libraries below
# MPICH do behind its calls is not counted for it.)
none = {"calls": 0, "total_ns": 0}
rest = {l["name"]: {k: l[k] - l.get("mpi_own", none)[k] for k in none}
        for l in j["libc"]}
own = {name: row["calls"] for name, row in rest.items()}
truth = {"fwrite": 4, "fflush": 4, "usleep": 156}
assert own["fwrite"] == 4 and own["usleep"] == 156, own
# Whose a thread is that made no long call is not known: it has no place. Open
# MPI 6 has such threads, which take locks that are free.
assert sys.argv[3] != "openmpi" or truth == {
    name: calls for name, calls in own.items()
    if calls and (name in truth or int(sys.argv[4]) < 6 or
                  rest[name]["total_ns"])}, own
print(f"ok: {sys.argv[3]}: {len(pairs)} views of pairs, {len(sizes)} sizes, "
      f"{len(functions)} functions, {whole[0]} messages, {whole[1]} bytes")
PY
}

ran=0
for mpi in openmpi mpich; do
    start=mpirun
    [ $mpi = openmpi ] || start=mpiexec.mpich
    [ -x "$tests/messages.$mpi" ] && command -v $start >/dev/null || continue
    timeout 500 $start -n 4 "${apart[@]}" "$work/$mpi.out" \
        "$bin/ckagent" --report none --dir "$work/$mpi" -- \
        "$tests/messages.$mpi" 2>"$work/$mpi.err" \
        </dev/null || { cat "$work/$mpi.err"; fail "$start"; }
    cat "$work/$mpi.out".* >"$work/$mpi.out"
    wait_done "$work/$mpi"
    "$bin/ckmerge" --quiet --output json="$work/$mpi.json" \
        --output chrome="$work/$mpi.trace" \
        --output perfetto="$work/$mpi.pftrace" "$work/$mpi"
    /usr/bin/python3 "$here/arrows.py" "$work/$mpi.trace" "$work/$mpi.json" ||
        fail "arrows of $mpi"
    /usr/bin/python3 "$here/perfetto.py" "$work/$mpi.pftrace" "$work/$mpi.trace" \
        "$work/$mpi.json" || fail "the Perfetto trace of $mpi"
    compare "$work/$mpi.json" "$work/$mpi.out" $mpi "$($start --version |
        sed -n 's/.*) \([0-9]*\)[.].*/\1/p' | head -n 1)" || fail "figures of $mpi"
    "$bin/ckmerge" --plain "$work/$mpi" >"$work/$mpi.txt"
    grep -q '^ MPI_Isend, 9[0-9] places ' "$work/$mpi.txt" ||
        fail "MPI_Isend has no row"
    same "rows of one function that look the same" "" \
        "$(sed -n '/^ CALLS/,/^$/p' "$work/$mpi.txt" | cut -c1-37 |
            awk '/^ [^ ]/ {name = $1} {print name, $0}' | sort | uniq -d)"
    grep -q '^ *0 .*13k' "$work/$mpi.txt" || fail "no matrix"
    ran=1
done
[ $ran = 1 ] || skip "no MPI with a program messages"
