#!/usr/bin/env bash
# misuse.sh BUILD - a wrong option or value is one line that names it, status 2
# (ckagent: 125, as the program's own status may be anything else)
#
# SPDX-License-Identifier: Apache-2.0
set -uo pipefail
bin=$(cd "${1:?build folder}/bin" && pwd) || exit 2
work=$(mktemp -d "${TMPDIR:-/tmp}/ck-misuse.XXXXXX")
. "$(dirname "${BASH_SOURCE[0]}")/../discard.sh"
. "$(dirname "${BASH_SOURCE[0]}")/../rings.sh"
trap 'discard "$work" "$rings"' EXIT
export XDG_RUNTIME_DIR=$work
unset CKAGENT_OPTIONS CKMERGE_OPTIONS CKAGENT_RANKS CKAGENT_AGGREGATOR \
    CKAGG_KEYFILE
cd "$work" || exit 1
bad=0
count=0
: >file
echo text >text
CKAGENT_DIR=run "$bin/ckagent" -- true >/dev/null 2>&1 || exit 1

# wrong STATUS TEXT PROGRAM WORD...: it ends so, with one line that has TEXT.
wrong() {
    local status=$1 text=$2 got=0
    shift 2
    timeout 20 "$bin/$1" "${@:2}" >out 2>err </dev/null || got=$?
    count=$((count + 1))
    # What another job's killed agent left may be found first.
    sed -i '/ records that a killed agent/d' err
    if [ "$got" = "$status" ] && [ "$(wc -l <err)" = 1 ] && [ ! -s out ] &&
        grep -qF -e "$text" err; then
        return
    fi
    bad=1
    printf 'FAILED: %s: status %s for %s, one line with: %s\n' \
        "$*" "$got" "$status" "$text"
    head -n 5 out err
}

agent() { wrong 125 "$1" ckagent "${@:2}"; }
agg() { wrong 2 "$1" ckagg "${@:2}"; }
merge() { wrong 2 "$1" ckmerge "${@:2}"; }
launch() { wrong 2 "$1" cklaunch "${@:2}"; }

for program in agent agg merge launch; do
    $program "unknown option --no-such" --no-such
    $program "unknown option -Z" -Z
done

agent '--dir' --dir '' -- true
agent '--slot-bytes: 16KiB to 1GiB' --slot-bytes 1T -- true
agent '--slot-bytes: 16KiB to 1GiB' --slot-bytes 3 -- touch ran
agent "no program given"
agent "--ranks needs a value: LIST" --ranks
agent "--ranks 'x'" --ranks x -- touch ran
agent "--ranks '3-1'" --ranks 3-1 -- touch ran
agent "a size like 64K" --limit many -- touch ran
agent "a size like 64K" --limit -1 -- touch ran
agent "auto|tsc|raw" --clock sundial -- touch ran
agent "on|off" --clock-shortcut maybe -- touch ran
agent "on|off" --posix 1 -- touch ran
agent "a time like 20ms" --posix-threshold soon -- touch ran
agent "--posix-threshold: 0 to 1s" --posix-threshold 2s -- touch ran
agent "--sample often" --sample often -- touch ran
agent "--sample 0" --sample 0 -- touch ran
agent "aggregator" --aggregator nowhere -- touch ran
agent "none|lz4|zstd" --pack zip -- touch ran
agent "give 127.0.0.1:PORT" --http 0.0.0.0:80 -- touch ran
agent "give it to the one that runs" --http 127.0.0.1:0 \
    --aggregator ipc:///nowhere -- touch ran
agent "now|later|none" --report soon -- touch ran
agent "a size like 64K" --ring-bytes big -- touch ran
agent "--ring-bytes: at least 256KiB" --ring-bytes 1 -- touch ran
agent "a size like 64K" --slot-bytes "" -- touch ran
agent "a size like 64K" --spool-limit 1X -- touch ran
[ ! -e ran ] || {
    bad=1
    echo "FAILED: ckagent ran a program though it was misused"
}

agg "only --status, --clocks and --where take an operand" RUN
agg "tcp://HOST:PORT" --listen 7700
agg "udp://" --listen udp://127.0.0.1:1
agg "--clock-port: 65536 is not in 0 to 65535" --clock-port 65536
agg "a whole number" --retain few
agg "--retain: -1 is less than 0" --retain -1
agg "--job and --size belong to --embedded" --job x
agg "--size: -1 is not in 0 to" --embedded --size -1
agg "a time like 20ms" --job-timeout never
agg "--beat-timeout: 0" --beat-timeout 0
agg "give 127.0.0.1:PORT" --embedded --http 192.0.2.1:80
agg "--output xml" --output xml
agg "both go to stdout" --output json --output text=-
agg "nowhere" --status nowhere

merge "no run directory given"
merge "one run directory at a time" a b
merge "--output xml" --output xml RUN
merge "--output json=" --output json= RUN
merge "both go to stdout" --output json=- --output svg-ledger RUN
merge "both go to stdout" --kernel-only --output text IN -
merge "--ranks x" --ranks x RUN
merge "a time like 20ms" --from soon RUN
merge "--from is not before --to" --from 2s --to 1s RUN
merge "--verify checks and writes no output: leave --output chrome=x out" \
    --verify --output chrome=x RUN
merge "a time like 500ns" --max-clock-error much RUN
merge "'1' has no unit; write 1us, 1ms or 1s" --max-clock-error 1 RUN
merge "all|probes|messages" --clock-facts none RUN
merge "--kernel-only takes one or more" --kernel-only OUT
merge "--rank goes with --kernel-only" --rank a=1 RUN
CKMERGE_OPTIONS="--plane" merge "CKMERGE_OPTIONS: unknown option --plane" RUN

launch "which program?"
launch "--np: 0 is not a number of ranks" -n 0 -- touch ran
launch "a whole number" -n four -- touch ran
launch "write hosts as a,b" --hosts "" -- touch ran
launch "give 127.0.0.1:PORT" --http example.org:80 -- touch ran
launch "give it to the one that runs" --http 127.0.0.1:0 \
    --aggregator ipc:///nowhere -- touch ran
launch "--listen: 'foo' is no URL" --listen foo -- touch ran
launch "--aggregator: 'foo' is no URL" --aggregator foo -- touch ran
launch "write hosts as a,b" --hosts a:x,b -- touch ran
launch "mpirun|hydra|srun|torchrun" --launcher rocket -- touch ran
launch "now|later|none" --report soon -- touch ran
launch "--output xml" --output xml -- touch ran
[ ! -e ran ] || {
    bad=1
    echo "FAILED: cklaunch ran a program though it was misused"
}
# What cannot be had is no misuse: one line, status 1.
timeout 60 "$bin/ckagg" --listen tcp://127.0.0.1:0 --dir runs >ready 2>/dev/null &
agg=$!
for _ in $(seq 100); do
    [ ! -s ready ] || break
    sleep 0.1
done
url=$(cat ready)
wrong 1 "cannot listen on $url: Address already in use (port 0 takes" \
    ckagg --listen "$url" --dir runs
kill $agg
wait $agg
wrong 1 "cannot make file/runs: Not a directory" ckagg --listen tcp://127.0.0.1:0 --dir file/runs
wrong 1 "cannot open run directory nowhere" ckmerge nowhere
mkdir empty
wrong 1 "empty has no segments" ckmerge empty
wrong 1 "text has no readable frame" ckmerge text
wrong 1 "none of these ranks" ckmerge --ranks 7 run
wrong 1 "cannot write nowhere/trace.json" \
    ckmerge --output chrome=nowhere/trace.json run
wrong 127 "cannot run './none': No such file" ckagent --report none -- ./none
wrong 126 "cannot run './text': Permission denied" \
    ckagent --report none -- ./text

echo "$count wrong command lines"
exit $bad
