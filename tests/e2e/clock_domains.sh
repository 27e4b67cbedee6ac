#!/usr/bin/env bash
# clock_domains.sh - four ranks, four clocks: are they found, within the bounds?
#
# SPDX-License-Identifier: Apache-2.0
#
# Each rank runs in a time namespace of its own, 1000 s apart, so that the
# kernel itself gives each another RAW; CK_TEST_CLOCK adds odd nanoseconds, and
# to rank 3 a drift. All are probed as strangers. Truth: what was set.
. "$(dirname "$0")/lib.sh"
need mpirun openmpi-bin
need unshare util-linux
[ -x "$tests/train" ] || skip "train was not built"
[ -x "$tests/p2p.openmpi" ] || skip "p2p.openmpi was not built"
unshare --time --monotonic 1 true 2>/dev/null ||
    skip "unshare --time is not permitted"

# RAW must follow the namespace here: that is what the test rests on.
raw() { /usr/bin/python3 -c 'import time; print(int(time.clock_gettime(4)))'; }
outside=$(raw)
there=$(unshare --time --monotonic 5000 /usr/bin/python3 -c \
    'import time; print(int(time.clock_gettime(4)))')
[ $((there - outside)) -ge 5000 ] || skip "RAW does not follow the time namespace"

cat >"$work/rank" <<'SH'
#!/bin/sh
rank=$OMPI_COMM_WORLD_RANK
case $rank in
1) export CK_TEST_CLOCK=off=123456789 ;;
2) export CK_TEST_CLOCK=off=-987654321 ;;
3) export CK_TEST_CLOCK=ppm=20,at=$CK_TEST_ORIGIN ;;
esac
exec unshare --time --monotonic $((rank * 1000)) --boottime $((rank * 1000)) \
    "$@"
SH
chmod +x "$work/rank"

# domains DIR N PROGRAM...: the program on N ranks with as many clocks.
domains() {
    local dir=$1 ranks=$2
    shift 2
    # Rank 3's drift begins about now, on its own RAW.
    CK_TEST_ORIGIN=$((($(raw) + 3000) * 1000000000)) \
        timeout -k 5 500 mpirun -n "$ranks" "$work/rank" "$bin/ckagent" \
        --clock-shortcut=off --dir "$dir" -- "$@" \
        </dev/null >"$work/out" 2>"$work/err" || {
        cat "$work/err"
        fail "mpirun $*"
    }
    "$bin/ckmerge" --quiet --output json="$work/report.json" "$dir"
}
j() { json "$work/report.json" "$1"; }

# offset RANK NS: the report's offset of the rank's clock, less the truth,
# is within its own bound, and the bound is no excuse.
offset() {
    local said off bound
    said=$(j "'{offset_ns} {bound_max_ns}'.format(**j['clocks'][$1])")
    read -r off bound <<<"$said"
    local error=$((off - $2))
    echo "rank $1: error $error ns, bound +- $bound ns"
    [ ${error#-} -le "$bound" ] || fail "rank $1: error $error > $bound ns"
    [ "$bound" -le 100000 ] || fail "rank $1: a bound of $bound ns"
}

domains "$work/train" 4 "$tests/train" --steps 40
grep -A12 '^ TRUST' "$work/err"
same "clock domains" 4 "$(j "len(j['clocks'])")"
same "calibrated" True \
    "$(j "all(c['calibrated'] for c in j['trust']['clock_domains'])")"
same "probed" True "$(j "all(c.get('probes', 8) >= 8 for c in j['clocks'])")"
offset 1 -1000123456789
offset 2 -1999012345679
drift=$(j "j['clocks'][3]['drift_ppb']")
echo "rank 3: drift $drift ppb, truth -20000"
[ "$drift" -ge -20300 ] && [ "$drift" -le -19700 ] || fail "drift of rank 3"
same "the bounds of the region's parts: 64, and the largest" "True True" \
    "$(j "' '.join(map(str, (all(len(c['bound_parts_ns']) == 64 for c in j['clocks']),
        all(max(c['bound_parts_ns']) == c['bound_max_ns'] for c in j['clocks']))))")"
same "no false fault" 0 "$(j "sum(len(c['faults']) for c in j['clocks'])")"
grep -q 'CK_TEST_CLOCK' "$work/train/report.txt" ||
    fail "the report does not say that clocks are skewed"
"$bin/ckmerge" --verify "$work/train" >"$work/verify" ||
    { cat "$work/verify"; fail "--verify"; }
cat "$work/verify"
same "collectives left before the last entered" 0 \
    "$(j "j['causality']['collectives_after']")"
same "they would be as recorded" True \
    "$(j "j['causality']['collectives_before'] > 0")"

# Each rank is late once, by far more than the clocks may be off.
domains "$work/p2p" 2 "$tests/p2p.openmpi" late
"$bin/ckmerge" --verify "$work/p2p" >"$work/verify" ||
    { cat "$work/verify"; fail "--verify of messages"; }
cat "$work/verify"
same "messages across clocks" True "$(j "j['causality']['messages'] > 0")"
same "receives before their send" 0 "$(j "j['causality']['messages_after']")"
# Each wait is longer than it may be off; so is their sum.
same "waits between clocks may be off" "[True, True]" "$(j "[
    0 < r['caused_error_ns'] < r['caused_ns'] for r in j['ranks']]")"
same "late ranks as the ranks, waits as late ranks" True "$(j "(
    lambda e: e(j['stragglers'], 'error_ns') ==
        e(j['ranks'], 'caused_error_ns') ==
        e([w for w in j['waits'] if w['cause'] == 'mpi_wait'], 'error_ns'))(
        lambda rows, key: sum(row.get(key, 0) for row in rows))")"

# With no option that splits clocks: one clock, exact, and no probe. (RAW: what
# pairs of ticks leave open in a run of a second depends on who was preempted.)
timeout 300 mpirun -n 2 "$bin/ckagent" --clock raw --dir "$work/plain" -- \
    "$tests/train" --steps 5 </dev/null >"$work/out" 2>"$work/err" ||
    fail "mpirun with one clock"
"$bin/ckmerge" --quiet --output json="$work/report.json" "$work/plain"
same "one clock: offset" 0 "$(j "j['clocks'][0]['offset_ns']")"
same "one clock: waits are exact" 0 "$(grep -c '"[a-z_]*error_ns": [1-9]' \
    "$work/report.json" || true)"
same "one clock: probes" 0 "$(j "j['clocks'][0].get('probes', 0)")"

# A service whose clock is the machine's; two ranks share another one.
mkdir "$work/service"
"$bin/ckagg" --listen "ipc://$work/agg.sock" --dir "$work/service" \
    >"$work/ready" 2>"$work/ckagg.err" &
service=$!
for _ in $(seq 1000); do
    [ -s "$work/ready" ] && break
    sleep 0.1
done
[ -s "$work/ready" ] || fail "$(cat "$work/ckagg.err")"
# The one that leads hands the lead on at its end: where the other one ends
# much later, on a busy machine, it probes as well. That is another job.
for shared in shared shared2 shared3; do
    CK_TEST_CLOCK=off=5000000 timeout 300 mpirun -n 2 "$bin/ckagent" \
        --report none --job $shared --aggregator "ipc://$work/agg.sock" -- \
        "$tests/train" --steps 40 </dev/null >"$work/out" 2>"$work/err" ||
        fail "mpirun with a service"
    wait_done "$(echo "$work/service/ck-$shared"-*)"
    probed=$(grep -lc clock_asked= "$work/service/ck-$shared"-*/seg-* | wc -l)
    [ "$probed" = 2 ] || break
done
status=0
if unshare --net true 2>/dev/null; then
    # No datagram and no TCP leaves here: the last way is ZeroMQ.
    unshare --net "$bin/ckagent" --clock-shortcut=off --report none \
        --job unnetworked --aggregator "ipc://$work/agg.sock" -- sleep 1.5 ||
        fail "ckagent without a network"
fi
kill "$service"
wait "$service" || fail "ckagg ended with status $?"
merged() {
    "$bin/ckmerge" --quiet --output json="$work/report.json" \
        "$(echo "$work/service/ck-$1"-*)"
}
merged $shared
same "one clock of two ranks" 1 "$(j "len(j['clocks'])")"
error=$(($(j "j['clocks'][0]['offset_ns']") + 5000000))
bound=$(j "j['clocks'][0]['bound_max_ns']")
echo "shared clock: error $error ns, bound +- $bound ns"
[ ${error#-} -le "$bound" ] && [ "$bound" -le 100000 ] || fail "shared clock"
same "agents of it that probed" 1 "$probed"
if [ -d "$(echo "$work/service/ck-unnetworked"-*)" ]; then
    merged unnetworked
    error=$(j "j['clocks'][0]['offset_ns']")
    bound=$(j "j['clocks'][0]['bound_max_ns']")
    echo "by ZeroMQ: error $error ns, bound +- $bound ns"
    [ ${error#-} -le "$bound" ] || fail "by ZeroMQ: $error > $bound ns"
    grep -q 'clock_way=zmq' "$work/service"/ck-unnetworked-*/seg-* ||
        fail "not by ZeroMQ"
fi

# A skew that cannot be understood is one clear line.
status=0
CK_TEST_CLOCK=off=soon "$bin/ckagent" -- true 2>"$work/err" || status=$?
same "bad CK_TEST_CLOCK" 125 "$status"
grep -q "CK_TEST_CLOCK='off=soon'" "$work/err" || fail "$(cat "$work/err")"
