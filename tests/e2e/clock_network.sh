#!/usr/bin/env bash
# clock_network.sh - clocks over a network that delays, loses and reorders
#
# SPDX-License-Identifier: Apache-2.0
#
# An agent reaches ckagg through delayproxy.py only. Its clock is the machine's
# and probed as a stranger's (truth: offset 0). 20 ms there and 26 ms back look
# like 3 ms of offset, which cannot be known; the bound must cover it. All of it
# runs in a network namespace, in which the proxy has an address of its own.
if [ -z "${CK_IN_NAMESPACE:-}" ]; then
    unshare --net true 2>/dev/null && command -v ip >/dev/null || {
        echo "skipped: no network namespace (root), or no ip (iproute2)"
        exit 77
    }
    CK_IN_NAMESPACE=1 exec unshare --net "$0"
fi
. "$(dirname "$0")/lib.sh"
ip link set lo up
ip addr add 10.77.0.9/32 dev lo

j() { json "$work/report.json" "$1"; }

# ready FILE: wait until it has a line.
ready() {
    for ((i = 0; i < 6000; i++)); do
        [ ! -s "$1" ] || return 0
        read -rt 0.05 <> <(:) || :
    done
    fail "nothing in $1: $(cat "$work"/*.log)"
}

mkdir "$work/runs"
"$bin/ckagg" --listen tcp://127.0.0.1:0 --dir "$work/runs" \
    >"$work/ready" 2>"$work/ckagg.log" &
ckagg=$!
proxy=0
trap 'kill -9 $ckagg ${proxy/#0/} 2>/dev/null || :; cleanup' EXIT
ready "$work/ready"
endpoint=$(cat "$work/ready")
tcp=${endpoint##*:}
"$bin/ckagg" --clocks --json "$endpoint" >"$work/clocks.json" ||
    fail "ckagg --clocks"
udp=$(json "$work/clocks.json" "j['clock']['port']")

# across NAME PROXY_OPTION...: a job whose agent is behind that network.
across() {
    local name=$1
    shift
    : >"$work/proxy"
    /usr/bin/python3 "$here/delayproxy.py" 10.77.0.9 127.0.0.1 "$tcp" "$udp" \
        "$@" >"$work/proxy" 2>"$work/proxy.log" &
    proxy=$!
    ready "$work/proxy"
    CKAGENT_AGGREGATOR=tcp://10.77.0.9:$tcp "$bin/ckagent" --report none \
        --clock-shortcut=off --job "$name" -- sleep 3.2 2>"$work/err" ||
        { cat "$work/err"; fail "ckagent $name"; }
    run=$(echo "$work/runs/ck-$name"-*)
    wait_done "$run"
    kill "$proxy"
    wait "$proxy" || fail "the proxy: $(cat "$work/proxy.log")"
    proxy=0
    "$bin/ckmerge" --quiet --output json="$work/report.json" "$run"
    error=$(j "abs(j['clocks'][0]['offset_ns'])")
    bound=$(j "j['clocks'][0]['bound_max_ns']")
    echo "$name: off by $error ns, bound +- $bound ns, $(tail -n 1 \
        "$work/proxy"), lost $(j "j['clocks'][0]['lost']") of $(
        j "j['clocks'][0]['probes']") probes"
    [ "$error" -le "$bound" ] || fail "$name: the truth is outside"
    same "$name: no false fault" 0 "$(j "len(j['clocks'][0]['faults'])")"
}

across near

# Where the machine stops for 0.1 s, datagrams seem not to pass, and the
# agent takes another way: then once more.
for try in 1 2 3; do
    across "far$try" --there 20 --back 26 --jitter 5 --lose 7
    way=$(j "j['clocks'][0]['way']")
    [ "$way" != UDP ] || break
done
same "far: by UDP" UDP "$way"
same "a round trip is what it is" True \
    "$(j "j['clocks'][0]['rtt_min_ns'] >= 46000000")"
same "no bound below half of it" True \
    "$(j "j['clocks'][0]['bound_median_ns'] >= 20000000")"
same "lost ones are counted" True "$(j "j['clocks'][0]['lost'] > 0")"
kill -TERM $ckagg
wait $ckagg || :
