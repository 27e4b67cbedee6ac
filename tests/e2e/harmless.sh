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
        PATH=$dir/bin:$PATH B=$built S=$sources timeout -k 5 300 \
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
for name in odd strange timers uncommon; do
    gcc -D_GNU_SOURCE -pthread -o "$built/$name" "$sources/$name.c" -ldl -lrt \
        -lm 2>/dev/null &
done
# linked NAME FLAG...: $B/NAME from tests/targets/hard/linking.c.
linked() {
    local name=$1
    shift
    gcc -D_GNU_SOURCE -g -pthread "$@" -o "$built/$name" \
        "$sources/linking.c" -ldl 2>/dev/null || true
}
linked linking &
linked library.so -DLIBRARY -shared -fPIC &
linked alone.so -DLIBRARY -shared -fPIC -Wl,-z,nodlopen &
linked audit.so -DAUDIT -shared -fPIC &
# teams NAME COMPILER FLAG...: $B/NAME from tests/targets/hard/parallel.c.
teams() {
    local name=$1
    shift
    "$@" -D_GNU_SOURCE -pthread -o "$built/$name" "$sources/parallel.c" \
        2>/dev/null || true
}
teams teams-gcc gcc -O2 -fopenmp &
teams teams-clang clang -O2 -fopenmp &
teams teams-tsan clang -g -O1 -fopenmp -fsanitize=thread &
teams teams-static gcc -fopenmp -static &
teams teams-alone gcc -DALONE -rdynamic &
teams tool.so gcc -DTOOL -shared -fPIC &
echo 'fn main() {
    let sum = std::thread::spawn(|| (1..=5).sum::<i32>()).join().unwrap();
    println!("{}", sum);
    std::process::exit(5)
}' | rustc -o "$built/rust" - 2>/dev/null &
wait

# ---- shells and what they start ---------------------------------------------
kind sh 'sh' 'run sh -c "echo a; (exit 3); echo \$?; exit 7"'
kind bash 'bash' 'run bash -c "for i in 1 2 3; do echo \$i; done | tac; false"'
kind dash 'dash' 'run dash -c "trap \"echo bye\" EXIT; kill -0 \$\$; exit 5"'
kind zsh 'zsh' 'run zsh -fc "print -r -- \${(j:,:)\${(s: :)\${:-a b c}}}"'
kind pipes 'bash' 'seq 20000 | run bash -c "sort -n | tail -n 1; cat"'
kind closed-output '' 'run seq 100000 | head -n 2; echo ${PIPESTATUS[0]}'
kind stdin '' 'printf "x\ny\n" | run cat -n'
kind no-descriptors 'sh' 'run sh -c "echo \$?" <&- >out; cat out'
kind no-output 'sh' 'run sh -c "echo lost || exit 9" >&-'
kind missing '' 'run ./no-such-program 2>/dev/null'
kind not-executable '' 'echo x >file; run ./file 2>/dev/null'
kind script '' 'printf "#!/bin/sh\necho \$1\n" >s; chmod +x s; run ./s hello'
# Of its own it has a library in variables, and the place of the ring.
kind environment 'env' \
    'run env | grep -v "/lib/ck/[^:]*libck\|^CKAGENT_RING="'
kind empty-environment 'env' 'run env -i /bin/sh -c "echo \${PATH:+path}"'
kind directory 'pwd' 'run pwd | sed "s|.*/kinds||"'
kind umask 'sh' 'umask 027; run sh -c "umask; : >f; stat -c %a f"'
kind xargs 'xargs' 'seq 40 | run xargs -n 1 -P 4 true; echo $?'
kind make 'make' 'printf "all: a b\na b:\n\t@echo \$@\n" >Makefile; run make'
kind find 'find' 'mkdir -p a/b; run find . -type d -exec echo {} +'
kind tar 'tar gzip' \
    'echo x >f; run tar -czf t.tgz f; run tar -xOzf t.tgz f; run gzip -t t.tgz'
kind busybox 'busybox' 'run busybox sh -c "busybox seq 3 | busybox tac; exit 4"'
kind job-control 'bash' 'run bash -mc "sleep 0.05 & fg; sh -c \"exit 3\" & wait %1" 2>/dev/null'
kind terminal 'script' 'run script -qec "tty | tr -d 0-9; exit 3" /dev/null'
kind nohup 'nohup' 'run nohup sh -c "echo in; exit 2"'
kind timeout 'timeout' 'run timeout 0.2 sleep 5'
kind timeout-shell 'timeout' 'run timeout 0.2 sh -c "trap \"exit 9\" TERM; sleep 5 & wait"'
kind processor-limit 'sh' \
    "ulimit -c 0; ulimit -t 1; run sh -c 'while :; do :; done'; echo \$?"
kind nice 'nice' 'run nice -n 5 nice'
kind affinity 'taskset' 'run taskset -c 0 nproc'
kind limits 'prlimit' 'run prlimit --nofile=64 sh -c "ulimit -n"'
kind few-files 'sh' '(ulimit -n 8; run sh -c "echo in; exit 6")'
# Descriptors for some of what the kernel is asked for, and not for all.
for most in 24 32 33 36 40 44 48 56; do
    kind "files-$most" 'sh' \
        "(ulimit -n $most; run sh -c 'ulimit -n; sleep 0.2; exit 6')"
done
kind small-stack 'sh' '(ulimit -s 64; run sh -c "ulimit -s; exit 6")'
kind smaller-stack 'sh' '(ulimit -s 48; run sh -c "ulimit -s; exit 6")'
kind soft-small-stack 'sh' '(ulimit -Ss 24; run sh -c "ulimit -s; exit 6")'
kind lock 'flock' 'run flock file sh -c "echo in; exit 4"'
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

kind python-threads 'python3' 'run python3 -c "
import threading as t
k = [t.Thread(target=print, args=(i,)) for i in range(9)]
[(x.start(), x.join()) for x in k]"'
kind python-timer 'python3' 'run python3 -c "
import signal as s
s.signal(s.SIGALRM, lambda *_: print(1)); s.setitimer(s.ITIMER_REAL, 0.02)
s.pause()"'
kind python-socket 'python3' 'run python3 -c "
import os, socket as s
a, b = s.socketpair()
if os.fork() == 0: a.sendall(b\"x\" * 99999); os._exit(0)
a.close(); print(len(b.makefile(\"rb\").read())); print(os.wait()[1])"'
kind perl-fork 'perl' \
    'run perl -e "exit 3 unless \$p = fork; waitpid \$p, 0; print \$? >> 8"'
kind jq 'jq' 'run jq -n "[1, 2] | add"'
kind bc 'bc' 'echo "6 * 7" | run bc -q'
kind m4 'm4' 'echo "eval(6 * 7)" | run m4'
kind vim 'vim' 'echo a >f; run vim -u NONE -es -c "s/a/b/" -c wq f; cat f'
kind openssl 'openssl' 'run openssl dgst -sha256 </dev/null'
kind curl 'curl' 'echo x >f; run curl -s "file://$PWD/f"; run curl -s file:///no'
kind zstd 'zstd' 'seq 9999 | run zstd -qcT2 | zstd -dc | cksum'
kind gcc 'gcc' 'echo "int main(){return 3;}" >a.c; run gcc a.c; ./a.out'
kind cmake 'cmake' 'echo "message(in)" >a.cmake; run cmake -P a.cmake'

# Runtimes of their own threads and stacks. These packages are large: they are
# taken where they are installed.
if command -v go >/dev/null; then
    mkdir "$work/go"
    echo 'package main
import ("fmt"; "os"; "os/exec")
func main() {
    c := make(chan int)
    for i := 0; i < 100; i++ { go func(i int) { c <- i }(i) }
    sum := 0
    for i := 0; i < 100; i++ { sum += <-c }
    out, err := exec.Command("sh", "-c", "echo child; exit 3").Output()
    fmt.Println(sum, string(out), err)
    os.Exit(5)
}' >"$work/go/main.go"
    (cd "$work/go" && HOME=$work GOCACHE=$work/go/cache \
        go build -o "$built/go" main.go) || true
fi
kind go "$built/go" 'run $B/go'
kind child-go "$built/go" 'run sh -c "$B/go; echo \$?"'
kind gofmt 'gofmt' 'echo "package a; func  f() { }" | run gofmt'
kind fzf 'fzf' 'printf "ab\nbc\nac\n" | run fzf -f a'
kind age 'age age-keygen' 'age-keygen -o k 2>/dev/null
    echo in | run age -r "$(age-keygen -y k)" | run age -d -i k'
kind java-source 'javac' 'echo "class A { public static void main(String[] a)
    throws Exception { var t = new Thread(() -> System.out.println(6 * 7));
    t.start(); t.join(); System.exit(4); } }" >A.java; run java A.java'
kind node-worker 'node' 'run node -e "
const w = require(\"worker_threads\")
new w.Worker(\"console.log(6 * 7)\", {eval: true}).on(\"exit\", () =>
    process.exit(require(\"child_process\").spawnSync(\"sh\",
        [\"-c\", \"exit 3\"]).status))"'

# ---- with more rights than the user's ---------------------------------------
# The user `nobody` runs ckagent: that user has to be able to.
chmod 711 "$work" "$work/kinds"
chmod 1777 "$rings"
nobody='setpriv --reuid=65534 --regid=65534 --clear-groups'
if [ "$(id -u)" = 0 ] && $nobody test -x "$bin/ckagent"; then
    open="chmod 777 . ..; exec $nobody bash -c"
    kind other-user 'setpriv' "$open 'run sh -c \"id -u; exit 3\"'"
    kind setuid 'setpriv' "cp /usr/bin/id s; chmod 4755 s
        $open 'run ./s -u; run sh -c \"./s -u; exit 3\"'"
    kind setuid-of-other 'setpriv' "cp /usr/bin/id s; chown 64321 s
        chmod 6755 s; $open 'run ./s -u; run env ./s -g'"
    kind capabilities 'setpriv ping' \
        "$open 'run ping -qc 1 -W 1 127.0.0.1 >/dev/null; echo \$?'"
    for most in 1 3; do
        kind "processes-$most" 'setpriv' "chmod 777 . ..
            exec setpriv --reuid=64777 --regid=64777 --clear-groups \
                bash -c 'ulimit -u $most; exec run /bin/echo in'"
    done
    kind sudo 'setpriv sudo' "$open 'run sudo -n id -u 2>&1; echo \$?'"
    kind sudo-as-root 'sudo' 'run sudo -n -u nobody sh -c "id -u; exit 3"'
    kind su 'su' 'run su -s /bin/sh nobody -c "id -u; exit 3"'
fi

# ---- watched, or with other libraries in front ------------------------------
library() { compgen -G "/usr/lib*/$1" || compgen -G "/usr/lib/*/$1" || echo "$1"; }
for name in jemalloc.so.2 tcmalloc_minimal.so.4; do
    path=$(library "lib$name" | head -n 1)
    kind "${name%%.*}" "$path $built/plain" "LD_PRELOAD=$path run \$B/plain"
done
for how in open space deep; do
    kind "linking-$how" "$built/linking $built/library.so" \
        "run \$B/linking $how \$B/library.so"
done
kind linking-refused "$built/linking $built/alone.so" \
    'run $B/linking refused $B/alone.so'
kind linking-next "$built/linking" 'run $B/linking next'
kind linking-now "$built/plain" 'LD_BIND_NOW=1 run $B/plain'
kind linking-audit "$built/plain $built/audit.so" \
    'LD_AUDIT=$B/audit.so run $B/plain'
kind linking-before "$built/plain $built/library.so" \
    'LD_PRELOAD=$B/library.so run $B/plain'
kind capabilities "setcap setpriv $built/plain" 'd=$(mktemp -d); chmod 777 $d
cp $B/plain $d/p; setcap cap_net_raw+ep $d/p; cd $d
run setpriv --reuid 65534 --clear-groups $d/p; echo $?; rm -r $d'
kind stdbuf 'stdbuf' 'run stdbuf -oL sh -c "echo in; exit 4"'
kind fakeroot 'fakeroot' \
    'run fakeroot sh -c "touch f; chown 12 f; stat -c %u f"; stat -c %u f'
kind gdb "gdb $built/plain" \
    'run gdb -nx -q -batch -ex run $B/plain 2>&1 | grep -c "exited"'
kind strace 'strace' \
    'run strace -qq -f -o trace sh -c "sh -c \"exit 3\"; exit 4"'
kind valgrind "valgrind $built/plain" 'run valgrind -q --tool=none $B/plain'

# ---- elsewhere --------------------------------------------------------------
kind chroot 'chroot' 'run chroot / /bin/sh -c "echo in; exit 3"'
kind chroot-empty "chroot $built/static" 'cp $B/static s; run chroot . /s'
for space in user mount net pid ipc uts; do
    fork=
    [ $space = pid ] && fork=--fork
    kind "namespace-$space" 'unshare' \
        "run unshare --$space $fork sh -c 'echo in; exit 3'"
done

# The build may be below the /tmp that the box hides.
box="bwrap --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp --unshare-all\
    --ro-bind ${bin%/bin} ${bin%/bin}"
kind bubblewrap 'bwrap' \
    "run $box --die-with-parent --new-session sh -c 'id -u; exit 3'"
# As a unit of systemd with PrivateTmp, PrivateDevices, PrivateNetwork,
# ProtectSystem=strict, ProtectHome and no capability: ckagent inside.
kind sandbox 'bwrap' "$box --dir /tmp --ro-bind $work $work --bind .. \$(cd ..; pwd) \
    --ro-bind $bin $bin --tmpfs /dev/shm --cap-drop ALL \\
    --unsetenv CK_TEST_RINGS \
    \$(command -v run) sh -c 'echo in; exit 3'"
# As Podman and Docker make them (container.py), from outside and from inside.
kind container 'runc' "$here/container.py b \$PWD /none sh -c 'echo in; exit 3'
    run runc --root \$PWD/r run -b b ck-\$\$; echo \$?"
kind container-inside 'runc' "p=\$(cd ..; pwd)
    $here/container.py b \$p ${bin%/bin} \$(command -v run) sh -c 'echo in; exit 3'
    runc --root \$PWD/r run -b b ck-\$\$; echo \$?"

# As a transient unit of systemd with its own sandbox options: ckagent inside.
kind unit 'systemd-run /lib/systemd/systemd unshare' \
    "$here/unit.sh \$(cd ..; pwd) ${bin%/bin} \$(command -v run) sh -c 'echo in; exit 3'"
# Podman, where it runs as root with the file system at hand, from outside and
# from inside. It warns now and then, by itself, of a cgroup of the container
# before, which is just being removed.
podman="podman --log-level error --root \$PWD/s --runroot \$PWD/r --tmpdir \$PWD/t
    --storage-driver vfs --cgroup-manager cgroupfs --events-backend file
    --runtime runc"
mounts=$(for path in /usr /bin /lib /lib64 /etc "${bin%/bin}"; do
    echo "-v $path:$path:ro"
done | xargs)
podman_run="run --rm --network none --log-driver none --ulimit nofile=1024:1024
    --ulimit nproc=1000:1000 $mounts -v \$(cd ..; pwd):\$(cd ..; pwd)
    --rootfs \$PWD/rootfs"
podman=$(xargs <<<"$podman")
podman_run=$(xargs <<<"$podman_run")
if command -v podman >/dev/null && (cd "$work" && mkdir rootfs &&
    eval "timeout 60 $podman $podman_run true" >/dev/null 2>&1); then
    kind podman 'podman runc' \
        "mkdir rootfs; run $podman $podman_run sh -c 'echo in; exit 3'"
    # Inside, the status is printed: podman now and then ends with 127 of its
    # own, whatever the container's command ended with.
    kind podman-inside 'podman runc' "mkdir rootfs
        $podman $podman_run sh -c '\$0 sh -c \"echo in; exit 3\"; echo \$?' \
            \$(command -v run) || true"
else
    left_out+=('podman')
fi

# ---- built in other ways ----------------------------------------------------
for name in asan tsan ubsan lsan clang-asan clang-tsan clang-msan m32 musl \
    static static-pie rust plain; do
    kind "$name" "$built/$name" "run \$B/$name"
    kind "child-$name" "$built/$name" "run sh -c '\$B/$name; \$B/plain'"
done
for name in strict filter syscall early; do
    kind "seccomp-$name" "$built/seccomp" "run \$B/seccomp $name; echo \$?"
done
kind seccomp-start "$built/seccomp" \
    '$B/seccomp start $(command -v run) sh -c "echo in; exit 3"; echo $?'
for name in thread-exec vfork clone forks hidden daemon closed limits chroot \
    stacks; do
    kind "odd-$name" "$built/odd" "run \$B/odd $name; echo \$?"
done
kind asan-finds "$built/asan" 'run $B/asan x 2>&1 | grep -c "heap-buffer-over"'
for name in abort adopted all-numbers cleared clone-stack closed contexts \
    cpu-limit daemon descriptor dispatch exits-in-handler faults file-limit \
    first-ends forks-in-handler handler-stack locked many-variables \
    memory-file mpi-comes-and-goes no-counter no-new-code no-variables \
    personality second-libc spaces spawned stopped threads-left titled traced \
    unnamed uring vforks; do
    kind "strange-$name" "$built/strange" "run \$B/strange $name; echo \$?"
done
for name in all-memory around-main asynchronous bad-addresses cancelled \
    descriptors errno forks-among-threads interrupted limited locks \
    many-signals no-more-maps not-waited-for number-modes number-traps \
    pid-space quick seen spawned user-space; do
    kind "uncommon-$name" "$built/uncommon" "run \$B/uncommon $name; echo \$?"
done
for name in descriptor epoll interrupted mended profiled queued thread timers \
    untouched; do
    kind "timers-$name" "$built/timers" "run \$B/timers $name; echo \$?"
done
# Threads of OpenMP, by two compilers' runtimes.
for name in cancels dies-inside exits-inside figures forks-before \
    forks-inside jumps locks loops nested pools sizes tasks ticking; do
    for of in gcc clang; do
        kind "teams-$of-$name" "$built/teams-$of" \
            "OMP_CANCELLATION=true run \$B/teams-$of $name; echo \$?"
    done
done
# With archer, which LLVM has in a folder of its own, there is no race.
archer=$(compgen -G '/usr/lib/llvm-*/lib/libarcher.so' | head -n 1 || true)
kind teams-tsan "$built/teams-tsan $archer" \
    "TSAN_OPTIONS=ignore_noninstrumented_modules=1 LD_LIBRARY_PATH=${archer%/*} run \$B/teams-tsan sizes 2>&1; echo \$?"
kind teams-static "$built/teams-static" 'run $B/teams-static loops; echo $?'
kind teams-alone "$built/teams-alone" 'run $B/teams-alone; echo $?'
for name in OMP_TOOL=disabled OMP_THREAD_LIMIT=2 \
    OMP_STACKSIZE=32K OMP_WAIT_POLICY=active OMP_DYNAMIC=true \
    OMP_NUM_THREADS=50 OMP_PROC_BIND=spread OMP_DISPLAY_ENV=true; do
    for of in gcc clang; do
        kind "teams-$of-with-$name" "$built/teams-$of" \
            "$name run \$B/teams-$of locks 2>&1; echo \$?"
    done
done
kind teams-tool "$built/teams-clang $built/tool.so" \
    'OMP_TOOL_LIBRARIES=$B/tool.so run $B/teams-clang tasks; echo $?'
kind teams-tool-before "$built/teams-clang $built/tool.so" \
    'LD_PRELOAD=$B/tool.so run $B/teams-clang tasks; echo $?'
kind mpi-openmpi "$tests/refused.openmpi" "run $tests/refused.openmpi"
kind mpi-mpich "$tests/refused.mpich" "run $tests/refused.mpich"

# ---- what they may use -------------------------------------------------------
kind address-space 'python3' 'run python3 -c "
import re, time; time.sleep(0.15)
text = open(\"/proc/self/status\").read()
print(int(re.search(r\"VmSize:\s*(\d+)\", text)[1]) < 300000)"'
kind address-limit 'python3' \
    '(ulimit -v 3300000; run python3 -c "print(len(bytearray(400 << 20)))")'
for kb in 4000 8000 16000 31000 33000 60000; do # what `sort` needs is 4 MB
    kind "address-of-$kb" 'sh seq sort' \
        "run sh -c 'ulimit -v $kb; seq 9 | sort -r | tr -d \"\\n\"; echo \$?'"
done

# ---- how they end -----------------------------------------------------------
for signal in HUP INT QUIT ILL TRAP BUS FPE KILL SEGV USR1 PIPE ALRM TERM \
    ABRT XCPU XFSZ VTALRM PROF SYS RTMIN; do
    kind "dies-of-$signal" 'sh' \
        "ulimit -c 0; run sh -c 'kill -$signal \$\$'; echo \$?"
done
for signal in URG CHLD WINCH CONT; do
    kind "ignores-$signal" 'sh' "run sh -c 'kill -$signal \$\$; echo on'"
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
