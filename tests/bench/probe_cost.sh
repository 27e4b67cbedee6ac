#!/usr/bin/env bash
# probe_cost.sh BUILD [ROUNDS [AGENTS [SECONDS]]] - cost of probing equal hosts
#
# SPDX-License-Identifier: Apache-2.0
#
# AGENTS collectors (64) of programs that sleep, on one ckagg, in turns: "off":
# the ckagg has no port and answers no probes; "one": one agent probes for all,
# as on each host; "each": every agent probes, as if each were a host of its own
# with the same boot id. CPU time of all collectors and ckagg, in % of a core an
# agent, start and end included. "off" needs a network namespace: exit 77.
set -u
build=$(cd "$1" && pwd) || exit 2
rounds=${2:-2}
agents=${3:-64}
seconds=${4:-20}
work=$(mktemp -d)
. "$(dirname "$0")/../rings.sh"
trap 'rm -rf "$work" "$rings"' EXIT
unshare --net true 2>/dev/null || exit 77

# The one port that a socket may get is taken.
cat >"$work/silent" <<'SH'
#!/usr/bin/env python3
import os, socket, sys
with open("/proc/sys/net/ipv4/ip_local_port_range", "w") as ports:
    ports.write("60000 60000")
for kind in socket.SOCK_DGRAM, socket.SOCK_STREAM:
    taken = socket.socket(socket.AF_INET6, kind)
    taken.bind(("::", 60000))
    if kind == socket.SOCK_STREAM:
        taken.listen()
    os.set_inheritable(taken.fileno(), True)
    taken.detach()
os.execv(sys.argv[1], sys.argv[1:])
SH

# CPU time of all threads of a process, ns.
cpu_of() { cat /proc/"$1"/task/*/schedstat | awk '{ t += $1 } END { print t }'; }

# turn KIND ROUND
turn() {
    local dir=$work/$1.$2 start=() service rank pids=() before cost
    mkdir -p "$dir/run"
    [ "$1" = off ] && start=(unshare --net /usr/bin/python3 "$work/silent")
    "${start[@]}" "$build/bin/ckagg" --no-merge --listen "ipc://$dir/sock" \
        --dir "$dir/run" >"$dir/ready" 2>"$dir/log" &
    service=$!
    until [ -s "$dir/ready" ] || ! kill -0 "$service" 2>/dev/null; do
        sleep 0.05
    done
    before=$(cpu_of "$service")
    mkdir -m 700 "$dir/runtime"
    for rank in $(seq 0 $((agents - 1))); do
        local runtime=$dir/runtime
        [ "$1" = each ] && runtime=$dir/r$rank && mkdir -m 700 "$runtime"
        XDG_RUNTIME_DIR=$runtime RANK=$rank WORLD_SIZE=$agents \
            LOCAL_RANK=$rank LOCAL_WORLD_SIZE=$agents \
            "$build/bin/ckagent" --aggregator "$(head -1 "$dir/ready")" \
            --job cost --report none -- sleep "$seconds" \
            >/dev/null 2>>"$dir/agents" &
        pids+=($!)
    done
    # What the service used until then: it may exit behind the last agent.
    sleep "$((seconds - 1))"
    cost=$(($(cpu_of "$service") - before))
    wait "${pids[@]}"
    kill "$service" 2>/dev/null
    wait "$service"
    /usr/bin/python3 - "$1" "$dir" "$agents" "$seconds" "$cost" <<'PY'
import glob, re, sys
kind, top, agents, seconds, service = sys.argv[1:]
agents, seconds = int(agents), float(seconds)
own, count = 0, 0
for path in glob.glob(top + "/**/manifest.json", recursive=True):
    for ns in re.findall(r'"cpu_ns": (\d+)', open(path).read()):
        own, count = own + int(ns), count + 1
if count != agents:
    sys.exit("probe_cost.sh: %d of %d agents told their cost" % (count, agents))
service = int(service)
log = open(top + "/log").read()
answered = re.findall(r"clock probes: (\d+) answered", log)
print("%-4s  agents %.4f %%  ckagg %.4f %% of a core an agent  (%d agents, "
      "%s probes answered)" % (kind, own / 1e7 / seconds / agents,
                               service / 1e7 / seconds / agents, count,
                               answered[0] if answered else "no"))
PY
}

for round in $(seq "$rounds"); do
    for kind in off one each; do
        turn "$kind" "$round"
    done
done | tee "$work/table"
awk -v rounds="$rounds" '
    { cost[$1] += ($3 + $6) / rounds }
    { turns++ }
    END {
        if (turns != 3 * rounds)
            exit 1
        one = cost["one"] - cost["off"]
        each = cost["each"] - cost["off"]
        printf "probes of equal hosts: one of all %+.4f %%, each %+.4f %% of " \
               "a core an agent (<= 0.1 %%): %s\n", one, each,
               one <= 0.1 && each <= 0.1 ? "met" : "MISSED"
    }' "$work/table"
