#!/usr/bin/env bash
# ills.sh - a fault of a host is named with its rank and its place
#
# SPDX-License-Identifier: Apache-2.0
#
# Two ranks train; one computes late or early in the step or both, waits for a
# lock, writes or reads too much, copies image by image, waits for each of many
# short kernels, runs kernels several times, or has a device that begins late, in
# each step. The first cause of the report must be that fault: that rank, and the
# line that was sampled, the call and its line, the kernel, or the range. What the
# rank's own device was idle for it must be what the program measured itself
# within 5 %; where it is the device's work that takes the time, what the device
# did and was idle for between the first launch and the end of the read. Where
# other programs took the CPU from the ranks for longer than that, the report has
# that first, and its next cause counts.
#
# CK_RUNS (3): how often each. CK_STEPS (40), CK_ILLS. With CK_SERIES=FILE each
# run, also of windowed ills, adds a line to the file, a wrong one does not end the
# series but is kept beside the file, runs that the file has are not done again, and
# at the end it is added up. After CK_SECONDS no run begins.
. "$(dirname "$0")/lib.sh"
need mpirun openmpi-bin
[ -x "$tests/train" ] || skip "train was not built"
runs=${CK_RUNS:-3} steps=${CK_STEPS:-40}
ills=${CK_ILLS:-late early mixed lock io loader copy sync unbalanced queue${CK_SERIES:+
    windowed_late windowed_lock}}
declare -A amount=([late]=20 [early]=20 [mixed]=40 [lock]=20 [io]=16 [loader]=100
    [copy]=30 [sync]=300 [unbalanced]=6 [queue]=20)

under= # a program that runs ckagent
only=  # options of train: in which steps

# job NAME ILL RANK [ckagent options]
job() {
    local name=$1 ill=$2 rank=$3
    shift 3
    rm -rf "${work:?}/$name"
    timeout 600 mpirun -n 2 $under "$bin/ckagent" --dir "$work/$name" "$@" -- \
        "$tests/train" --steps "$steps" --inject "$ill:$rank:${amount[$ill]}" $only \
        >"$work/$name.out" 2>"$work/$name.err" </dev/null ||
        { cat "$work/$name.err"; fail "mpirun"; }
    "$bin/ckmerge" --verify "$work/$name" >"$work/$name.verify" ||
        { cat "$work/$name.verify"; fail "--verify of $name"; }
}

# check NAME ILL RANK SAMPLED(yes|no)
check() {
    /usr/bin/python3 - "$work/$1" "$2" "$3" "$4" <<'PY'
import json, os, re, sys
base, ill, rank, sampled = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
report = json.load(open(base + "/report.json"))
stamped = 1000 * int(re.search(r"the ill took (\d+) us",
                               open(base + ".out").read()).group(1))
causes = report["causes"]


def is_in(place, name):
    return os.path.basename(place["file"] or "") == name


def is_place(did):
    if ill == "late" and sampled == "no":
        return (did["sampled"] is None and did["range"] == "backward" and
                did["before"]["call"] == "MPI_Allreduce")
    if ill == "late":
        seen = did["sampled"]
        return (did["range"] == "backward" and seen and
                seen["function"] == "ill_compute" and is_in(seen, "ill.c"))
    if ill == "early":
        seen = did["sampled"]
        return (did["range"] is None and seen and
                seen["function"] == "ill_prepare" and is_in(seen, "ill.c"))
    if ill == "mixed":
        seen = did["sampled"]
        return seen and is_in(seen, "ill.c") and \
            seen["function"] == ("ill_compute" if did["range"] == "backward"
                                 else "ill_prepare")
    if ill == "lock":
        held = did["holder"]
        return (did["call"] == "pthread_mutex_lock" and is_in(did, "ill.c") and
                held and held["call"] == "nanosleep" and is_in(held, "ill.c"))
    if ill == "io":
        # fclose() is the last call of its function: a jump, not a call.
        return did["call"] == "fclose" or \
            did["call"] in ("fsync", "fwrite", "fflush") and \
            is_in(did, "ill.c")
    if ill == "copy":
        return did["range"] == "copy" and \
            did["call"] == "clEnqueueWriteBuffer" and \
            is_in(did, "device_opencl.c")
    if ill == "sync":
        return did["range"] == "backward" and did["call"] == "clFinish" and \
            is_in(did, "device_opencl.c")
    if ill == "unbalanced":
        # One of the repeated kernels, and the line that launched it.
        seen = did["kernel"]
        return did["range"] == "backward" and seen and \
            seen["function"] == "device_run" and \
            is_in(seen, "device_opencl.c")
    if ill == "queue":
        # The kernel that was queued, the call that queued it, or the one that
        # the device waited for.
        seen = did["kernel"]
        return seen and seen["queued"] and \
            seen["name"] == "forward_hidden" and \
            seen["function"] == "device_run" or \
            did["range"] == "forward" and \
            did["call"] == "clEnqueueNDRangeKernel" or \
            did["call"] == "clSetUserEventStatus"
    return did["range"] == "load"


computing = ("host_compute", "offcpu_runnable", "offcpu_blocked")
own = {"late": computing, "early": computing, "mixed": computing,
       "lock": ("lock",), "io": ("io",),
       "loader": ("host_compute", "offcpu_runnable", "offcpu_blocked", "io"),
       "copy": ("h2d", "launch_latency"), "sync": ("gpu_sync", "launch_latency"),
       "unbalanced": (), "queue": ("launch_latency", "kernel_gap", "dep_event")}
ranges = {"late": "backward", "loader": "load", "copy": "copy",
          "queue": "forward"}
device = next(d for d in report["devices"] if rank in d["ranks"])


def found_on_device():
    """What the rank's device did, and stood idle for, because of the ill."""
    if ill == "copy":
        idle = [c for c in causes if c["host"]["range"] == "copy"]
        busy = device["copy_ns"]
    else:
        idle = [c for c in causes
                if c["host"]["range"] in ("forward", "backward") or
                c["cause"] == "kernel_gap"]
        busy = device["compute_ns"]
    return busy + sum(c["ns"] for c in idle if c["rank"] == rank and
                      not c["cause"].startswith("mpi"))


def is_without_cpu(did):
    return did["running"] and did["running"]["preempted_share"] > 0.5


def is_crowded(cause):
    """Other programs of the machine kept the ranks off the CPU in MPI."""
    if cause["cause"] in ("mpi_transfer", "mpi_call"):
        return is_without_cpu(cause["host"])
    return cause["cause"] == "mpi_wait" and is_without_cpu(cause["blamed"]) and \
        (cause["blamed"]["call"] or "").startswith("MPI_")


first = next(c for c in causes if not is_crowded(c))
blamed = first.get("blamed_rank") == rank and is_place(first["blamed"])
direct = first.get("blamed_rank", rank) == rank == first["rank"] and \
    first["cause"] in own[ill] and is_place(first["host"])
found = sum(c["ns"] for c in causes
            if c["rank"] == rank and c["cause"] in own[ill] and
            (c["host"]["range"] == ranges.get(ill) or
             c["cause"] in ("kernel_gap", "dep_event")))
if ill in ("copy", "sync", "unbalanced"):
    found = found_on_device()
if ill == "mixed":
    found = sum(c["ns"] for c in causes
                if c["rank"] == rank and c["cause"] in own[ill] and
                c["host"]["range"] in (None, "backward"))
error = abs(found - stamped) / stamped


def is_half(delays):
    """Both halves of the ill are there, each with about its part."""
    halves = [sum(i["ns"] for i in delays["items"] if i["rank"] == rank and
                  i["did"]["range"] == name and i["did"]["call"] is None)
              for name in (None, "backward")]
    return min(halves) > 0.4 * sum(halves) > 0


if ill == "mixed" and blamed:
    blamed = is_half(first["delays"])
good = (blamed or direct) and error <= 0.05
print("%s: %s on rank %d: first cause %s of rank %s (%s), %.1f ms found, "
      "%.1f ms stamped (%.1f %%)" %
      ("ok" if good else "WRONG", ill, rank, first["cause"],
       first.get("blamed_rank", first["rank"]),
       "place found" if blamed or direct else "another place", found / 1e6,
       stamped / 1e6, 100 * error))
if not good:
    json.dump(first, sys.stdout, indent=1)
sys.exit(not good)
PY
}

# found NAME ILL RANK SAMPLED(yes|no) [ckagent options]
found() {
    job "${@:1:3}" "${@:5}"
    check "${@:1:4}" || fail "$2 in $1"
}

# in_window NAME RANK: the first cause of the rank and the late rank have steps 60
# to 89 of 120, within 2. Both are of the rank, so no other has a window there.
in_window() {
    local seen
    seen=$(json "$work/$1/report.json" "(lambda fits: '%s %s' % (
            fits(next(c for c in j['causes'] if c.get('blamed_rank',
                c['rank']) == $2)), fits(next(s for s in j['stragglers']
                if s['rank'] == $2))))(lambda row: row['window'] is not None and
            abs(row['window']['first_step'] - 60) <= 2 and
            abs(row['window']['last_step'] - 89) <= 2)")
    echo "steps in which rank $2 has it, within 2: $seen"
    [ "$seen" = "True True" ] || return 1
    grep -q "of it in steps [0-9]* to [0-9]* (of 120), from" \
        "$work/$1/report.txt" || { echo "the text has no window"; return 1; }
}

# windowed ILL RANK: in steps 60 to 89 of 120.
windowed() {
    local steps=120 only="--inject-steps 60-89"
    found "windowed_$1" "$1" "$2" yes
    in_window "windowed_$1" "$2" || fail "the window of $1"
}

# run_once ILL RUN: with a series, only what it lacks.
run_once() {
    local name=$1$2 rank=$(($2 % 2))
    if [ -z "${CK_SERIES:-}" ]; then
        fair found "$name" "$1" "$rank" yes
        return
    fi
    [ $SECONDS -lt "${CK_SECONDS:-1000000}" ] || return 0
    grep -qs "^$name " "$CK_SERIES" || series_add "$name" "$1" "$rank"
}

# series_add NAME ILL RANK: ILL is one of the ills, or windowed_ and one of them.
series_add() {
    local name=$1 ill=${2#windowed_} rank=$3 line
    if [ "$ill" = "$2" ]; then
        job "$name" "$ill" "$rank"
    else
        only="--inject-steps 60-89" steps=120 job "$name" "$ill" "$rank"
    fi
    line=$(check "$name" "$ill" "$rank" yes) || true
    line=${line%%$'\n'*}
    [ "$ill" = "$2" ] || in_window "$name" "$rank" >"$work/windows" ||
        line="WRONG: $(tail -n 1 "$work/windows"), ${line#*: }"
    echo "$name $line" | tee -a "$CK_SERIES"
    [[ $line == ok* ]] || cp -r "$work/$name" "$work/$name.out" "$(dirname "$CK_SERIES")"
    discard "${work:?}/$name"
}

# Right ranks and places, and the worst time, of each ill in the series.
series_print() {
    /usr/bin/python3 - "$CK_SERIES" <<'PY'
import collections, re, sys
rows = collections.defaultdict(list)
for line in open(sys.argv[1]):
    name, verdict, rest = line.split(" ", 2)
    rows[re.sub(r"\d+$", "", name)].append(
        ("(place found)" in rest, verdict == "ok:",
         float(re.search(r"\(([\d.]+) %\)", rest).group(1))))
for ill, runs in rows.items():
    print("%-11s rank and place %d of %d, all right %d, time off by %.1f %% "
          "in the middle, %.1f %% at most" %
          (ill, sum(r[0] for r in runs), len(runs), sum(r[1] for r in runs),
           sorted(r[2] for r in runs)[len(runs) // 2],
           max(r[2] for r in runs)))
sys.exit(not all(r[1] for runs in rows.values() for r in runs))
PY
}

for run in $(seq "$runs"); do
    for ill in $ills; do
        run_once "$ill" "$run"
    done
done
if [ -n "${CK_SERIES:-}" ]; then
    series_print
    exit
fi

fair windowed late 1
fair windowed lock 0

# Without samples the cause is the same, its place coarser.
fair found plain late 1 no --sample off
grep -q "no CPU samples" "$work/plain/report.txt" && fail "--sample off warns"

# Nor without the right to sample, which the report has with the cure.
under=$tests/noperf
fair found forbidden late 1 no
grep -q "no CPU samples: perf_event is not permitted.*perf_event_paranoid" \
    "$work/forbidden/report.txt" || fail "no word of the missing right"
echo "ok: the missing right is said with its cure"
