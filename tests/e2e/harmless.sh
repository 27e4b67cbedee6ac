#!/usr/bin/env bash
# harmless.sh - programs of many kinds run as without ckagent
#
# SPDX-License-Identifier: Apache-2.0
#
# One line a kind: its name, the commands that it needs, and a command of the
# shell. The command runs twice, with `run PROGRAM WORD...` once as the program
# alone and once as `ckagent -- PROGRAM WORD...`: output, messages and status
# must be the same. What ckagent logs (lines of stderr that begin with
# "ckagent") is set aside; it is at most one line a program. A kind whose
# commands are missing is named as left out.
#
# CK_HARMLESS=REGEX runs the kinds with such a name only, CK_HARMLESS_TIMES=N
# each N times, CK_HARMLESS_JOBS=N so many at a time.
. "$(dirname "$0")/lib.sh"
sources=$here/../targets/hard
jobs=${CK_HARMLESS_JOBS:-$((2 * $(nproc)))}
built=$work/built # programs that the kinds share: $B
mkdir -p "$built" "$work/kinds"
export LC_ALL=C
names=()
left_out=()

# once NAME WAY COMMAND: WAY is plain or traced. Each begins in the same empty
# directory, with the same path to `run`.
once() {
    local dir=$work/kinds/$1 way=$2 status=0
    rm -rf "${dir:?}/here"
    mkdir -p "$dir/here" "$dir/bin"
    {
        echo '#!/bin/sh'
        [ "$way" = plain ] && echo 'exec "$@"' ||
            echo "exec '$bin/ckagent' --report none --dir '$dir/data-'\$\$ --" \
                '"$@"'
    } >"$dir/bin/run"
    chmod +x "$dir/bin/run"
    (
        cd "$dir/here"
        PATH=$dir/bin:$PATH B=$built S=$sources timeout -k 5 60 \
            bash -c "$3" </dev/null >"$dir/$way.out" 2>"$dir/$way.all"
    ) || status=$?
    echo "$status" >"$dir/$way.status"
    # The shell names who died by its pid.
    { grep -av '^ckagent' "$dir/$way.all" || true; } |
        sed 's/^bash: line 1: *[0-9]* /bash: /' >"$dir/$way.err"
}

# compare NAME: what differs, on stdout.
compare() {
    local dir=$work/kinds/$1 part
    for part in status out err; do
        cmp -s "$dir/plain.$part" "$dir/traced.$part" && continue
        echo "$1: $part differs"
        diff -a "$dir/plain.$part" "$dir/traced.$part" | head -n 10
        [ $part = err ] || head -n 5 "$dir/traced.all"
    done
    grep -a '^ckagent' "$dir/traced.all" | sort | uniq -c |
        awk '$1 > 1 {print "said " $1 " times: " $0}'
}

one() {
    local name=$1 dir=$work/kinds/$1 time
    once "$name" plain "$2"
    for ((time = 0; time < ${CK_HARMLESS_TIMES:-1}; time++)); do
        once "$name" traced "$2"
        compare "$name" >>"$dir/differs"
    done
    discard "$dir"/data-*
}

# kind NAME 'COMMAND...' 'COMMAND LINE'
kind() {
    local command
    [[ $1 =~ ${CK_HARMLESS:-.} ]] || return 0
    for command in $2; do
        command -v "$command" >/dev/null || [ -e "$command" ] || {
            left_out+=("$1 ($command)")
            return 0
        }
    done
    names+=("$1")
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do
        wait -n || true
    done
    mkdir -p "$work/kinds/$1"
    one "$1" "$3" &
}

# compiled NAME COMPILER FLAG...: $B/NAME from tests/targets/hard/plain.c. What
# cannot be built is no kind here.
compiled() {
    local name=$1
    shift
    "$@" -g -pthread -o "$built/$name" "$sources/plain.c" 2>/dev/null || true
}
compiled asan gcc -fsanitize=address &
compiled tsan gcc -fsanitize=thread &
compiled ubsan gcc -fsanitize=undefined &
compiled lsan gcc -fsanitize=leak &
compiled clang-asan clang -fsanitize=address &
compiled clang-tsan clang -fsanitize=thread &
compiled clang-msan clang -fsanitize=memory &
wait
compiled m32 gcc -m32 &
compiled musl musl-gcc &
compiled static gcc -static &
compiled static-pie gcc -static-pie &
compiled plain gcc &
gcc -pthread -o "$built/seccomp" "$sources/seccomp.c" 2>/dev/null &
wait

# ---- shells and what they start ---------------------------------------------
kind sh 'sh' 'run sh -c "echo a; (exit 3); echo \$?; exit 7"'
kind bash 'bash' 'run bash -c "for i in 1 2 3; do echo \$i; done | tac; false"'
kind dash 'dash' 'run dash -c "trap \"echo bye\" EXIT; kill -0 \$\$; exit 5"'
kind zsh 'zsh' 'run zsh -fc "print -r -- \${(j:,:)\${(s: :)\"a b c\"}}"'
kind pipes 'bash' 'seq 20000 | run bash -c "sort -n | tail -n 1; cat"'
kind closed-output '' 'run seq 100000 | head -n 2; echo ${PIPESTATUS[0]}'
kind stdin '' 'printf "x\ny\n" | run cat -n'
kind no-descriptors 'sh' 'run sh -c "echo \$?" <&- >out; cat out'
kind no-output 'sh' 'run sh -c "echo lost || exit 9" >&-'
kind missing '' 'run ./no-such-program 2>/dev/null'
kind not-executable '' 'echo x >file; run ./file 2>/dev/null'
kind script '' 'printf "#!/bin/sh\necho \$1\n" >s; chmod +x s; run ./s hello'
kind environment 'env' \
    'run env | grep -v "^LD_PRELOAD=\|^OPENCL_LAYERS=\|^CUDA_INJ\|^CKAGENT_RING="'
kind empty-environment 'env' 'run env -i /bin/sh -c "echo \${PATH:+path}"'
kind directory 'pwd' 'run pwd | sed "s|.*/kinds||"'
kind umask 'sh' 'umask 027; run sh -c "umask; : >f; stat -c %a f"'
kind xargs 'xargs' 'seq 40 | run xargs -n 1 -P 4 true; echo $?'
kind make 'make' 'printf "all: a b\na b:\n\t@echo \$@\n" >Makefile; run make'
kind find 'find' 'mkdir -p a/b; run find . -type d -exec echo {} +'
kind tar 'tar gzip' \
    'echo x >f; run tar -czf t.tgz f; run tar -xOzf t.tgz f; run gzip -t t.tgz'
kind git 'git' 'run git init -q .; run git status --porcelain; ls -A'
kind background 'sh' 'run sh -c "sleep 0.1 & wait \$!; echo \$?"'
kind daemon 'setsid' 'run setsid -w sh -c "echo in"'

# ---- interpreters -----------------------------------------------------------
kind python 'python3' 'run python3 -c "print(sum(range(10))); raise SystemExit(4)"'
kind python-fails 'python3' 'run python3 -c "1/0"'
kind python-subprocess 'python3' \
    'run python3 -c "import subprocess as s; print(s.check_output([\"echo\",\"a\"]))"'
kind python-multiprocessing 'python3' \
    'run python3 -c "import multiprocessing as m; print(m.Pool(2).map(abs,[-1,2]))"'
kind perl 'perl' 'run perl -e "print join q(,), map {\$_*2} 1..5; exit 6"'
kind awk 'awk' 'run awk "BEGIN {print 6 * 7; exit 2}"'
kind node 'node' 'run node -e "setTimeout(() => console.log(1), 20)"'
kind java 'java' 'run java -version 2>&1 | head -n 1'
kind ruby 'ruby' 'run ruby -e "puts [3,1].sort.inspect; exit 3"'
kind lua 'lua5.4' 'run lua5.4 -e "print(#\"four\") os.exit(8)"'
kind tcl 'tclsh' 'echo "puts [expr 6*7]; exit 2" | run tclsh'
kind sqlite 'sqlite3' 'run sqlite3 a.db "create table t(x); select count(*) from t"'

# ---- built in other ways ----------------------------------------------------
for name in asan tsan ubsan lsan clang-asan clang-tsan clang-msan m32 musl \
    static static-pie plain; do
    kind "$name" "$built/$name" "run \$B/$name"
    kind "child-$name" "$built/$name" "run sh -c '\$B/$name; \$B/plain'"
done
for name in strict filter syscall early; do
    kind "seccomp-$name" "$built/seccomp" "run \$B/seccomp $name; echo \$?"
done
kind asan-finds "$built/asan" 'run $B/asan x 2>&1 | grep -c "heap-buffer-over"'
kind mpi-openmpi "$tests/refused.openmpi" "run $tests/refused.openmpi"
kind mpi-mpich "$tests/refused.mpich" "run $tests/refused.mpich"

# ---- what they may use -------------------------------------------------------
kind address-space 'python3' 'run python3 -c "
import re, time; time.sleep(0.15)
text = open(\"/proc/self/status\").read()
print(int(re.search(r\"VmSize:\s*(\d+)\", text)[1]) < 300000)"'
kind address-limit 'python3' \
    '(ulimit -v 3300000; run python3 -c "print(len(bytearray(400 << 20)))")'

# ---- how they end -----------------------------------------------------------
for signal in HUP INT QUIT ILL TRAP BUS FPE KILL SEGV USR1 PIPE ALRM TERM; do
    kind "dies-of-$signal" 'sh' \
        "ulimit -c 0; run sh -c 'kill -$signal \$\$'; echo \$?"
done
kind exit-255 'sh' 'run sh -c "exit 255"'
kind handled-term 'bash' \
    'run bash -c "trap \"echo got; exit 3\" TERM; kill \$\$; sleep 5"'

wait
failed=()
for name in "${names[@]}"; do
    [ -s "$work/kinds/$name/differs" ] || continue
    failed+=("$name")
    cat "$work/kinds/$name/differs"
done
echo "${#names[@]} kinds run as without ckagent, but ${#failed[@]};" \
    "left out: ${left_out[*]:-none}"
[ ${#names[@]} -gt 0 ] || fail "no kind of that name"
[ ${#failed[@]} -eq 0 ] || fail "changed by ckagent: ${failed[*]}"
