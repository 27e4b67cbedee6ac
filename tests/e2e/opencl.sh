#!/usr/bin/env bash
# opencl.sh - OpenCL programs of known shape, and their reports
#
# SPDX-License-Identifier: Apache-2.0
#
# The truth of each program is at the head of cl_shapes.c. The report's
# text is read as a person reads it: its first sentences, and the cause that it
# puts first. Shares are compared with each other, never with a clock.
. "$(dirname "$0")/lib.sh"
[ -x "$tests/cl_shapes" ] || skip "cl_shapes was not built"

# run SHAPE DEVICES: its report as $work/SHAPE.txt and .json.
run() {
    POCL_DEVICES=$2 timeout 60 "$bin/ckagent" --report none \
        --dir "$work/$1" -- "$tests/cl_shapes" "$1" >"$work/$1.out" \
        2>"$work/$1.err" </dev/null || { cat "$work/$1.err"; fail "$1"; }
    wait_done "$work/$1"
    "$bin/ckmerge" --quiet --verify "$work/$1" || fail "--verify of $1"
    "$bin/ckmerge" --quiet --output text="$work/$1.txt" \
        --output json="$work/$1.json" "$work/$1"
    ! grep -qE 'rank 0|1 rank|ranks exactly' "$work/$1.txt" ||
        fail "$1 has no ranks"
}

# line NAME: of a call, as the program printed it.
line() { sed -n "s/^line $2 //p" "$work/$1.out"; }

# has SHAPE PATTERN: the report has it, on whatever lines.
has() {
    tr -s '\n ' '  ' <"$work/$1.txt" | grep -qE -- "$2" ||
        { cat "$work/$1.txt"; fail "$1: no '$2'"; }
    echo "ok: $1: $2"
}

hasnt() {
    ! tr -s '\n ' '  ' <"$work/$1.txt" | grep -qE -- "$2" ||
        { cat "$work/$1.txt"; fail "$1: '$2'"; }
    echo "ok: $1: no $2"
}

j() { json "$work/$1.json" "$2"; }

# Where others have the CPUs, hosts are late with everything, and that may be first.
is_beside_others() {
    [ "$(j "$1" "(j['load'] is not None and j['load'].get('other_cpus', 0) >
        0.2 * j['load'].get('online_cpus', 1))")" = True ]
}

remote() {
    run remote "pthread pthread"
    hasnt remote "fewer and larger launches"
    # All that spin took but for the warm-up, in which nothing waited, and with
    # its time in the queue where others have the CPUs.
    same "device 1 waited as long as spin took" True "$(j remote "(lambda w, s:
        0.5 * s <= w <= 1.5 * s)(
        sum(c['ns'] for c in j['causes'] if c['cause'] == 'dep_remote'),
        sum(k['total_ns'] for k in j['kernels'] if k['name'] == 'spin'))")"
    same "which device waited for which" "[(1, 0)]" "$(j remote "sorted({
        (c['device'], c['awaited_device']) for c in j['causes']
        if c['cause'] == 'dep_remote' and c['ns'] > 1000000})")"
    ! is_beside_others remote || return 3
    has remote " 1\. [0-9.]+ % of all device time \([^)]*\): device [^ ]+ #1 of \
the program, dep_remote .*for spin \(launched by cl_shapes.c:$(line remote spin)\) \
on device [^ ]+ #0"
}

# Where the host waits for one device, the other one waits for it, too: it did not
# wake up late.
turns() {
    run turns "pthread pthread"
    has turns ": devices of the program, startup"
    same "each waited as long as the other one's spins took" True "$(j turns "(lambda w, s:
        0.7 * s <= w <= 1.1 * s)(
        sum(c['ns'] for c in j['causes'] if c['cause'] == 'dep_remote'),
        sum(k['total_ns'] for k in j['kernels'] if k['name'] == 'spin'))")"
    same "which device waited for which" "[(0, 1), (1, 0)]" "$(j turns "sorted({
        (c['device'], c['awaited_device']) for c in j['causes']
        if c['cause'] == 'dep_remote' and c['ns'] > 1000000})")"
    ! is_beside_others turns || return 3
    has turns " 1\. [0-9.]+ % of all device time \([^)]*\): device [^ ]+ #[01] of \
the program, dep_remote .*for spin \(launched by cl_shapes.c:[0-9]+\) on device [^ ]+ #[01]"
    same "next to none is a late wake-up" True "$(j turns "(lambda of: of('gpu_sync') <
        0.2 * of('dep_remote'))(lambda name: sum(c['ns'] for c in j['causes']
        if c['cause'] == name))")"
}

# user SHAPE: directly, or through a marker and a barrier.
user() {
    run "$1" pthread
    has "$1" " 1\. [0-9.]+ % of all device time \([^)]*\): device of the program, \
dep_event .*set by clSetUserEventStatus \(cl_shapes.c:[0-9]+\)\. Until then the \
thread that set it was, [0-9.]+ % of that time, in nanosleep"
    hasnt "$1" "fewer and larger launches"
    same "$1: the event was waited for for most of 5 times 40 ms" True \
        "$(j "$1" "sum(c['ns'] for c in j['causes']
            if c['cause'] == 'dep_event') > 0.8 * 5 * 40e6")"
    same "$1: asleep" True "$(j "$1" "[c for c in j['causes']
        if c['cause'] == 'dep_event'][0]['blamed_cause'] == 'sleep'")"
}

unfinished() {
    run never pthread
    has never "^ck .* never ended: spin \(launched by cl_shapes.c:[0-9]+\) at .*; \
2 more commands were queued behind it\. Devices were busy"
    has never "For [0-9.]+ % \([^)]*\) they had work that never ended"
    same "never: the commands" "[('spin', 3, None)]" "$(j never "[(u['name'],
        u['commands'], u['waited_for']) for u in j['unfinished']]")"
    same "never: most of the 0.4 s" True "$(j never "sum(c['ns']
        for c in j['causes'] if c['cause'] == 'unfinished') > 0.35e9")"
    run gate pthread
    has gate "never ended: add .* it waited for a user event \(made by \
cl_shapes.c:[0-9]+\) that was never set"
    run done pthread
    hasnt "done" "never ended"
    same "done: nothing is open" "[]" "$(j "done" "j['unfinished']")"
}

# Does this OpenCL make parts of a device, without ck? PoCL 7.1 does not.
makes_parts() {
    POCL_DEVICES=pthread timeout 60 "$tests/cl_shapes" sub \
        >"$work/plain.out" 2>"$work/plain.err" </dev/null && return
    grep -q '^sub-devices: OpenCL error -18$' "$work/plain.err" ||
        fail "sub without ck: $(cat "$work/plain.err")"
    return 1
}

parts() {
    if ! makes_parts; then
        echo "this OpenCL makes no parts of a device, without ck too: left out"
        return
    fi
    run sub pthread
    same "sub: one device" 1 "$(j sub "len(j['devices'])")"
    same "sub: its time is the region's" True "$(j sub "(lambda all, ns:
        all['wall_ns'] == ns >= all['busy_ns'])(
        j['all_devices'], j['region']['ns'])")"
    same "sub: two parts beneath it" "[(0, 5), (1, 5)]" "$(j sub "[(s['number'],
        s['kernels']) for s in j['sub_devices']]")"
    same "sub: each a part of it" True "$(j sub "all(0 < s['busy_ns'] <=
        j['devices'][0]['busy_ns'] for s in j['sub_devices'])")"
    has sub "part 0 +[0-9.]+ .* part 1 "
}

copies() {
    run copies pthread
    has copies "Of all device time they spent [0-9.]+ % copying with no kernel \
beside it, and 0.0 % computing"
    has copies "host to device 16 134 MB [0-9.]+ [0-9.e+]+ \
cl_shapes.c:$(line copies write)"
    has copies "device to host 4 33.6 MB [0-9.]+ [0-9.e+]+ \
cl_shapes.c:$(line copies read)"
    same "copies: rows" "[('d2h', 4, 33554432), ('h2d', 16, 134217728)]" \
        "$(j copies "sorted((c['name'], c['calls'], c['bytes'])
            for c in j['copy_places'])")"
    run bound pthread
    same "bound: copies are most of the busy time" True "$(j bound "(lambda all:
        all['copy_ns'] > all['compute_ns'])(j['all_devices'])")"
    # In the first three sentences.
    has bound "^ck .* bound Devices were busy .* Of all device time they spent \
[0-9.]+ % copying"
}

failed() {
    run fail pthread
    has fail "failed: 3 times add \(launched by cl_shapes.c:[0-9]+\), error -"
    has fail "failed: 2 times clEnqueueNDRangeKernel \
\(cl_shapes.c:$(line fail refused)\), error -54 \(CL_INVALID_WORK_GROUP_SIZE\)"
    same "fail: rows" "[('add', False, 3), ('clEnqueueNDRangeKernel', True, 2)]" \
        "$(j fail "[(f['name'], f['refused'], f['count'])
            for f in j['failed']][:2]")"
}

started() {
    run build pthread
    has build "startup .*[0-9.]+ % of it in clBuildProgram \
\(cl_shapes.c:$(line build build)\).* Try: build each program once"
    run slow pthread
    same "slow: 0.3 s of sleep" True "$(j slow "sum(p['ns'] for c in j['causes']
        if c['cause'] == 'startup' for p in c['parts']
        if p['host']['call'] == 'nanosleep') > 0.29e9")"
    ! is_beside_others slow || return 3
    has slow "startup .*[0-9.]+ % of it in nanosleep"
}

by_truth remote
by_truth turns
once user user
once user barrier
once unfinished
once parts
once copies
once failed
by_truth started
