#!/usr/bin/env bash
# clock_clones.sh - machines of one boot id: are their clocks believed?
#
# SPDX-License-Identifier: Apache-2.0
#
# Rank 1 has another host name and a clock that is 5 s ahead; its boot id and
# time namespace are those of rank 0, as of a cloned machine. Then both have a
# boot id that cannot be read. Truth: what was set.
. "$(dirname "$0")/lib.sh"
need mpirun openmpi-bin
need unshare util-linux
[ -x "$tests/p2p.openmpi" ] || skip "p2p.openmpi was not built"
unshare --uts --mount true 2>/dev/null ||
    skip "unshare --uts --mount is not permitted"
j() { json "$work/report.json" "$1"; }
jobs=${CK_CLONE_JOBS:-1}

cat >"$work/rank" <<'SH'
#!/bin/sh
[ "$CLONE_HIDE" != 1 ] || mount --bind /dev/null /proc/sys/kernel/random/boot_id
if [ "$OMPI_COMM_WORLD_RANK" = "$CLONE_RANK" ]; then
    hostname clone
    export CK_TEST_CLOCK=off=5000000000,clone
fi
exec "$@"
SH
chmod +x "$work/rank"

# run DIR RANK HIDE: a job; RANK has the other clock (none: no rank).
run() {
    rm -rf "$1"
    CLONE_RANK=$2 CLONE_HIDE=$3 timeout -k 5 300 mpirun -n 2 \
        unshare --uts --mount "$work/rank" "$bin/ckagent" --dir "$1" -- \
        "$tests/p2p.openmpi" </dev/null >"$work/out" 2>"$work/err" ||
        { cat "$work/err"; fail "mpirun"; }
    "$bin/ckmerge" --output json="$work/report.json" "$1" >"$work/text" ||
        fail "ckmerge"
}

# apart NS: rank 1's clock is found where it is, no message is backwards.
apart() {
    local off bound
    same "clocks" 2 "$(j "len(j['clocks'])")"
    read -r off bound <<<"$(j "'{0} {1}'.format(
        j['clocks'][1]['offset_ns'] + $1,
        j['clock_worst_pair']['bound_max_ns'])")"
    echo "off by $off ns, bound +- $bound ns"
    [ "${off#-}" -le "$bound" ] && [ "$bound" -le 1000000 ] ||
        fail "the truth is outside, or the bound is an excuse"
    same "receives before their send" 0 \
        "$(j "j['causality']['messages_after']")"
}

for ((job = 0; job < jobs; job++)); do
    run "$work/clone" 1 0
    apart 5000000000
    same "named" True "$(j "any(c['clone'] for c in
        j['trust']['clock_domains'])")"
    grep -q "its boot id is that of another host" "$work/text" ||
        { cat "$work/text"; fail "report.txt is silent"; }
done

run "$work/hidden" 1 1
apart 5000000000

# One machine with two names is one clock, and its probes show it.
run "$work/one" none 0
same "one clock" 1 "$(j "len(j['clocks'])")"
same "looked at" True \
    "$(j "j['trust']['clock_domains'][0]['checked_by_probes'] > 8")"
grep "ranks exactly aligned.*, as .* probes confirm" "$work/text" ||
    { cat "$work/text"; fail "report.txt does not name the probes"; }
