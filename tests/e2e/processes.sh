#!/usr/bin/env bash
# processes.sh - jobs of odd shapes end as they would without ck
#
# SPDX-License-Identifier: Apache-2.0
#
# Programs without MPI, static, in shells, half untraced, half failing: none
# hangs, none changes its status or its output.
. "$(dirname "$0")/lib.sh"
need mpirun openmpi-bin
agent="$bin/ckagent --report none"

# run NAME EXPECTED_STATUS COMMAND...: status and time bound.
run() {
    local name=$1 expected=$2 status=0
    shift 2
    timeout -k 5 300 "$@" >"$work/$name.out" 2>"$work/$name.err" </dev/null ||
        status=$?
    if [ "$status" != "$expected" ]; then
        sed 's/^/  /' "$work/$name.err" | head -n 20
    fi
    same "$name: status" "$expected" "$status"
}

cd "$work"
# shellcheck disable=SC2086
{
    run plain 0 $agent --dir "$work/r1" -- /bin/true
    run status 7 $agent --dir "$work/r2" -- sh -c 'exit 7'
    run signal 143 bash -c "$agent --dir $work/r3 -- sh -c 'kill -TERM \$\$'"
    run shell 3 $agent --dir "$work/r4" -- sh -c '/bin/echo a; exit 3'
    same "shell: stdout" a "$(cat "$work/shell.out")"
    run missing 127 $agent --dir "$work/r5" -- /no/such/program
    grep -q '/no/such/program' "$work/missing.err" || fail "missing: not named"
    touch "$work/text"
    run not-executable 126 $agent --dir "$work/r6" -- "$work/text"
    grep -q "$work/text" "$work/not-executable.err" || fail "126: not named"
    run wrong-option 125 $agent --no-such-option -- /bin/true
    grep -q 'no-such-option' "$work/wrong-option.err" || fail "125: not named"
}

printf 'int main(void) { return 5; }\n' >"$work/static.c"
gcc -static "$work/static.c" -o "$work/static" 2>/dev/null &&
    run static 5 "$bin/ckagent" --report none --dir "$work/r7" -- ./static

# stdin goes through untouched.
same "stdin" "through" "$(echo through |
    "$bin/ckagent" --report none --dir "$work/r8" -- cat)"

if [ -x "$tests/train" ]; then
    # PRRTE 3.0.8's mpirun dies of SIGSEGV of any command line with a ":".
    if mpirun -n 1 true : -n 1 true >/dev/null 2>&1; then
        run half-traced 0 mpirun -n 1 "$bin/ckagent" --report none \
            --dir "$work/r9" -- "$tests/train" --steps 5 : \
            -n 1 "$tests/train" --steps 5
        # Only rank 1 can show the report.
        run first-plain 0 mpirun -n 1 "$tests/train" --steps 5 : \
            -n 1 "$bin/ckagent" --dir "$work/r13" -- "$tests/train" --steps 5
        grep -q '1 of 2 ranks' "$work/first-plain.err" ||
            fail "rank 0 is not recorded, and nobody shows the report"
    else
        echo "left out: two programs in a job, this mpirun fails with both plain"
    fi
    run half-failing 139 mpirun -n 2 "$bin/ckagent" --report none \
        --dir "$work/r10" -- "$tests/train" --steps 10 --ill crash:1:4
    mpirun -n 2 "$tests/train" --steps 10 --ill exit >/dev/null 2>&1 &&
        plain=0 || plain=$?
    run no-finalize "$plain" mpirun -n 2 "$bin/ckagent" --report none \
        --dir "$work/r11" -- "$tests/train" --steps 10 --ill exit
fi
run no-mpi 0 mpirun -n 2 "$bin/ckagent" --report none --dir "$work/r12" \
    -- /bin/echo hello
same "no-mpi: stdout lines" 2 "$(grep -c hello "$work/no-mpi.out")"

# A program that only computes calls nothing that is recorded: its samples show
# where it was.
cat >"$work/compute.c" <<'C'
#include <time.h>
static double work(clock_t end)
{
    double x = 1;
    while (clock() < end)
        for (int i = 0; i < 10000; i++)
            x = x * 1.0000001 + 1e-9;
    return x;
}
int main(void) { return work(CLOCKS_PER_SEC) < 0; }
C
gcc -g -O1 "$work/compute.c" -o "$work/compute"
run compute 0 "$bin/ckagent" --dir "$work/r14" -- ./compute
grep -q "no CPU samples" "$work/compute.err" ||
    same "where it computed" "compute.c" "$(json "$work/r14/report.json" \
        "j['hot_spots'][0]['file'].split('/')[-1]")"

# Its children compute as well: one as it was forked, one as another program.
cat >"$work/family.c" <<'C'
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
static volatile double x = 1;
static void turn(clock_t end)
{
    while (clock() < end)
        for (int i = 0; i < 10000; i++)
            x = x * 1.0000001 + 1e-9;
}
__attribute__((noinline)) void of_the_child(void) { turn(CLOCKS_PER_SEC); }
__attribute__((noinline)) void of_the_parent(void) { turn(CLOCKS_PER_SEC / 4); }
int main(void)
{
    if (fork() == 0) {
        of_the_child();
        _exit(0);
    }
    wait(0);
    of_the_parent();
    return 0;
}
C
gcc -g -O1 -fno-inline -fno-optimize-sibling-calls "$work/family.c" \
    -o "$work/family"
run family 0 "$bin/ckagent" --dir "$work/r16" -- sh -c './family; ./compute'
grep -q "no CPU samples" "$work/family.err" ||
    same "two children and a grandchild that computed" True "$(json \
        "$work/r16/report.json" \
        "(1.9e9 < sum(h['ns'] for h in j['hot_spots']) < 2.9e9 and
            {'compute.c', 'family.c'} <= {(h['file'] or '').split('/')[-1]
                for h in j['hot_spots']})")"

# One that reads clocks and marks without end: the time is the kernel's code,
# and ck's own, which is no hot spot of the program.
cat >"$work/marks.c" <<'C'
#include <time.h>
#include "ck.h"
static void clocks(clock_t end)
{
    struct timespec now;
    while (clock() < end)
        for (int i = 0; i < 1000; i++)
            clock_gettime(CLOCK_MONOTONIC, &now);
}
static void marks(clock_t end)
{
    while (clock() < end)
        for (int i = 0; i < 1000; i++)
            ck_mark("mark", i);
}
int main(void)
{
    clocks(CLOCKS_PER_SEC);
    marks(2 * CLOCKS_PER_SEC);
    return 0;
}
C
gcc -g -O1 -I"$here/../../agent/inject" "$work/marks.c" \
    -o "$work/marks" -ldl
run marks 0 "$bin/ckagent" --dir "$work/r15" -- ./marks
wait_done "$work/r15"
if ! grep -q "no CPU samples" "$work/marks.err"; then
    same "samples in ck's libraries are ck's" True "$(json \
        "$work/r15/report.json" "j['sampled']['ck_ns'] > 1e8")"
    same "functions of ck among the program's" "[]" "$(json \
        "$work/r15/report.json" "[h['function'] for h in j['hot_spots']
            if (h['function'] or '').startswith(('point_', 'annotate_'))]")"
    same "time that is known" True "$(json "$work/r15/report.json" \
        "sum(h['ns'] for h in j['hot_spots'] if not h['function']) < 2e8")"
fi
