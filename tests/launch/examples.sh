#!/usr/bin/env bash
# examples.sh BUILD - what docs/examples holds builds, runs, and is seen by ck
#
# SPDX-License-Identifier: Apache-2.0
set -euo pipefail
build=$(cd "${1:?build folder}" && pwd)
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
examples=$here/../../docs/examples
work=$(mktemp -d "${TMPDIR:-/tmp}/ck-examples.XXXXXX")
. "$here/../discard.sh"
. "$here/../rings.sh"
trap 'discard "$work" "$rings"' EXIT
export PATH="$build/bin:$PATH"
cd "$work"

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# expect NAME PROGRAM...: its 20 steps are in the report.
expect() {
    local name=$1
    shift
    ckagent --report none --dir "run-$name" -- "$@" >"out-$name" 2>&1 ||
        fail "$name: $(tail -n 3 "out-$name")"
    ckmerge --output json "run-$name" >"$name.json" 2>err ||
        fail "$name: $(cat err)"
    grep -q '"number": 19' "$name.json" || fail "$name: no step 19"
}

include=$here/../../agent/inject
cc -O1 -I"$include" "$examples/annotate.c" -o annotate-c -lm -ldl
expect c ./annotate-c
grep -q '"train"' c.json || fail "no range of the C program"
c++ -O1 -I"$include" "$examples/annotate.cpp" -o annotate-cpp -ldl
expect cpp ./annotate-cpp
if command -v gfortran >/dev/null; then
    cc -I"$include" -c "$examples/ck_fortran.c"
    gfortran "$examples/annotate.f90" ck_fortran.o -o annotate-f90 -ldl
    expect f90 ./annotate-f90
fi
expect python python3 "$examples/annotate.py"
[ "$(python3 "$examples/annotate.py")" = "$(cat out-python)" ] ||
    fail "the Python program prints something else under ckagent"
ckmerge run-c >text 2>err || fail "$(cat err)"
python3 "$examples/read_run.py" run-c/report.json >read ||
    fail "read_run.py failed"
grep -q 'ranks, region' read || fail "read_run.py prints: $(cat read)"
if command -v mpirun >/dev/null && [ -x "$build/tests/sleeps.openmpi" ]; then
    status=0
    "$examples/ci.sh" 0 -n 2 -- "$build/tests/sleeps.openmpi" imbalance 20 10 >ci 2>&1 ||
        status=$?
    [ "$status" = 0 ] || fail "ci.sh with limit 0: $status, $(tail -n 3 ci)"
    rm -rf ck-run
    "$examples/ci.sh" 1.01 -n 2 -- "$build/tests/sleeps.openmpi" imbalance 20 10 >ci 2>&1 ||
        status=$?
    [ "$status" = 4 ] || fail "ci.sh with limit 1.01: $status"
fi
# The module file, by Environment Modules or Lmod: ck and ck.h are found, and
# after unloading it nothing is left.
modules=$(command -v modulecmd || ls /usr/share/lmod/lmod/libexec/lmod \
    2>/dev/null || true)
if [ -n "$modules" ]; then
    cmake --install "$build" --prefix "$work/prefix" >install 2>&1 ||
        fail "cmake --install: $(tail -n 3 install)"
    mkdir modulefiles
    sed "s|^set prefix .*|set prefix $work/prefix|" \
        "$examples/modulefiles/ck" >modulefiles/ck
    "$modules" bash use "$work/modulefiles" >use 2>err || fail "use: $(cat err)"
    (
        path=$PATH
        eval "$(cat use)"
        eval "$("$modules" bash load ck 2>err)"
        [ "$(command -v ckagent)" = "$work/prefix/bin/ckagent" ] ||
            fail "the module's ckagent is $(command -v ckagent): $(cat err)"
        [ -e "${PKG_CONFIG_PATH%%:*}/ck.pc" ] ||
            fail "ck.pc is not in $PKG_CONFIG_PATH"
        cc "$examples/annotate.c" -o annotate-module -lm -ldl
        ckagent --report none --dir run-module -- ./annotate-module >out 2>&1 ||
            fail "a job with the module: $(tail -n 3 out)"
        eval "$("$modules" bash unload ck 2>err)"
        [ "$PATH" = "$path" ] && [ -z "${CPATH:-}${PKG_CONFIG_PATH:-}" ] ||
            fail "left by the module: $PATH ${CPATH:-} ${PKG_CONFIG_PATH:-}"
    ) || exit 1
fi
# The unit starts what is there, and its options are ckagg's.
if command -v systemd-analyze >/dev/null; then
    mkdir -p home/.config/systemd/user
    sed "s|ExecStart=ckagg|ExecStart=$build/bin/ckagg|" \
        "$examples/ckagg.service" >home/.config/systemd/user/ckagg.service
    HOME=$work/home XDG_RUNTIME_DIR=$work/home systemd-analyze verify --user \
        --man=no home/.config/systemd/user/ckagg.service >verify 2>&1 ||
        fail "ckagg.service: $(cat verify)"
    ! grep -q 'ckagg.service' verify || fail "ckagg.service: $(cat verify)"
fi
sed -n 's/^ExecStart=ckagg //p' "$examples/ckagg.service" |
    sed "s|%S/ck|$work/state|; s|7700|0|" >options
[ -s options ] || fail "ckagg.service starts no ckagg"
mkdir state
# shellcheck disable=SC2046
CKAGG_KEYFILE=$work/endpoint ckagg $(cat options) >ready 2>log &
service=$!
for _ in $(seq 600); do
    [ -s endpoint ] && [ -s ready ] && break
    sleep 0.1
done
ckagent --report none --aggregator "$(cat endpoint)" -- true ||
    fail "no run by the service: $(cat log)"
# The collector goes on when the program has ended.
for _ in $(seq 600); do
    CKAGG_KEYFILE=$work/endpoint ckagg --status >status 2>err ||
        fail "$(cat err)"
    grep -q ": complete, 1 of 1 ranks" status && break
    sleep 0.1
done
kill "$service"
wait "$service" || fail "ckagg ended with $?: $(cat log)"
grep -q "user $(id -un), since .* UTC" status || fail "status: $(cat status)"

echo "examples: C, C++, Fortran, Python, a reader, a pipeline step,${modules:+ a module file,} a service run"
