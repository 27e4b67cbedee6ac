#!/usr/bin/env bash
# clock_probes.sh - the ways that clock probes take, and those that are dropped
#
# SPDX-License-Identifier: Apache-2.0
#
# One machine, whose clock is probed as a stranger's (truth: offset 0). In a
# network namespace of its own datagrams are blocked by a routing rule, so TCP
# is the next way; with no network at all it is ZeroMQ. Then a stranger sends
# probes of each kind that must not be answered.
. "$(dirname "$0")/lib.sh"
[ -x "$tests/stranger" ] || skip "stranger was not built"

j() { json "$work/report.json" "$1"; }

# report DIR: its report.json, and its text.
report() {
    "$bin/ckmerge" --output json="$work/report.json" "$1" >"$work/text" ||
        fail "ckmerge $1"
}

# probed WAY DIR: by that way, the truth inside the bound, and both reports have
# it.
probed() {
    local way=$1 error bound
    report "$2"
    same "way" "$way" "$(j "j['clocks'][0]['way']")"
    error=$(j "abs(j['clocks'][0]['offset_ns'])")
    bound=$(j "j['clocks'][0]['bound_max_ns']")
    echo "by $way: off by $error ns, bound +- $bound ns," \
        "$(j "j['clocks'][0]['probes']") probes"
    [ "$error" -le "$bound" ] || fail "$way: the truth is outside"
    same "probes of $way" True "$(j "j['clocks'][0]['probes'] >= 8")"
    grep -qi "probes by $way" "$work/text" ||
        { cat "$work/text"; fail "report.txt does not name $way"; }
}

alone="$bin/ckagent --clock-shortcut=off"
export bin work alone
$alone --dir "$work/udp" -- sleep 1.2 2>"$work/err" ||
    { cat "$work/err"; fail "ckagent by UDP"; }
probed UDP "$work/udp"
same "stamped by the kernel" True "$(j "j['clocks'][0]['kernel_stamps']")"
same "nothing dropped" "[0, 0, 0, 0]" "$(j "[j['clock_probes'][k] for k in (
    'malformed', 'foreign', 'untagged', 'replayed')]")"

if ! unshare --net true 2>/dev/null; then
    echo "no network namespace: TCP and ZeroMQ are left out"
else
    # Loopback goes by table local: datagrams are sent away before.
    # shellcheck disable=SC2016 # the inner shell's
    unshare --net sh -c '
        ip link set lo up &&
        ip rule add pref 0 ipproto udp blackhole &&
        ip rule del pref 0 from all lookup local &&
        ip rule add pref 10 from all lookup local || exit 99
        exec $alone --dir "$work/tcp" -- sleep 1.2' 2>"$work/err" ||
        status=$?
    if [ "${status:-0}" = 99 ]; then
        echo "routing rules by protocol are refused: TCP is left out"
    else
        [ "${status:-0}" = 0 ] || { cat "$work/err"; fail "ckagent by TCP"; }
        probed TCP "$work/tcp"
        same "no kernel stamps" False "$(j "j['clocks'][0]['kernel_stamps']")"
    fi
fi

mkdir "$work/runs"
"$bin/ckagg" --listen tcp://127.0.0.1:0 --listen "ipc://$work/agg.sock" \
    --dir "$work/runs" >"$work/ready" 2>"$work/ckagg.log" &
ckagg=$!
agent=0
trap 'kill -9 $ckagg ${agent/#0/} 2>/dev/null || :; cleanup' EXIT
for ((i = 0; i < 2000; i++)); do
    [ ! -s "$work/ready" ] || break
    read -rt 0.05 <> <(:) || :
done
[ -s "$work/ready" ] || fail "$(cat "$work/ckagg.log")"
endpoint=$(cat "$work/ready")

if unshare --net true 2>/dev/null; then
    # Neither UDP nor TCP leaves here.
    unshare --net "$bin/ckagent" --clock-shortcut=off --report none \
        --job unnetworked --aggregator "$(echo "$endpoint" | sed \
        's/tcp:[^,;]*[,;]//')" -- sleep 1.5 || fail "ckagent by ZeroMQ"
    run=$(echo "$work/runs"/ck-unnetworked-*)
    wait_done "$run"
    probed ZeroMQ "$run"
fi

# While an honest job runs, a stranger sends what must be dropped.
mkfifo "$work/go"
CKAGENT_AGGREGATOR=$endpoint "$bin/ckagent" --clock-shortcut=off \
    --report none --job honest -- timeout 200 sh -c "read -r go <$work/go" &
agent=$!
for ((i = 0; i < 2000; i++)); do
    run=$(echo "$work/runs"/ck-honest-*)
    [ ! -s "$run/manifest.json" ] || break
    read -rt 0.05 <> <(:) || :
done
[ -s "$run/manifest.json" ] || fail "the honest job did not begin"
timeout 200 "$tests/stranger" probes 10 "$endpoint" >"$work/rogue" ||
    fail "stranger: $(cat "$work/rogue")"
cat "$work/rogue"
grep -q "good probe was answered" "$work/rogue" || fail "not even the good one"
echo >"$work/go"
wait $agent || fail "the honest job"
wait_done "$run"
report "$run"
same "malformed" 5 "$(j "j['clock_probes']['malformed']")"
same "foreign" 4 "$(j "j['clock_probes']['foreign']")"
same "untagged" 3 "$(j "j['clock_probes']['untagged']")"
same "replayed" 2 "$(j "j['clock_probes']['replayed']")"
same "answered" True "$(j "j['clock_probes']['answered'] > 8")"
grep "dropped: 5 malformed, 4 of no session, 3 with a wrong tag, 2 replayed" \
    "$work/text" || { cat "$work/text"; fail "report.txt is silent"; }
same "the honest job's clock" True "$(j "(abs(j['clocks'][0]['offset_ns']) <=
    j['clocks'][0]['bound_max_ns'])")"
kill -TERM $ckagg
wait $ckagg || :

# On a terminal the status line has clocks.
if ! command -v script >/dev/null; then
    echo "script is missing (package bsdutils): no terminal, no status line"
    exit 0
fi
TERM=xterm timeout 300 script -qc "stty cols 200; exec timeout 250 $bin/ckagg \
    --listen ipc://$work/line.sock --dir $work/line" /dev/null \
    </dev/null >"$work/terminal" 2>&1 &
ckagg=$!
timeout 200 "$bin/ckagent" --clock-shortcut=off --report none --job line \
    --aggregator "ipc://$work/line.sock" -- sh -c '
    for i in $(seq 300); do
        ! grep -aq "clock off" "$0" || exit 0
        sleep 0.1
    done' "$work/terminal" || fail "ckagent with a ckagg on a terminal"
kill $ckagg
wait $ckagg || :
tr '\r' '\n' <"$work/terminal" |
    grep -aoE '1 clock off [0-9.]+ [a-z]+, [0-9.]+ ppm, [+]- [0-9.]+ [a-z]+, grade [A-D]' |
    tail -n 1 | grep . || fail "no clock in the status line"
