# hosts.sh - two hosts on this machine, as network namespaces
# shellcheck shell=bash
#
# SPDX-License-Identifier: Apache-2.0
#
# To be sourced after lib.sh. hosts_up makes the namespaces $a (10.77.0.1) and $b
# (10.77.0.2), which reach each other; hosts_down takes them away.

a=ck${$}a b=ck${$}b

hosts_down() {
    ip netns del "$a" 2>/dev/null || true
    ip netns del "$b" 2>/dev/null || true
}

hosts_up() {
    ip netns add "$a" 2>/dev/null || skip "network namespaces are not permitted"
    ip netns exec "$a" true 2>/dev/null || skip "ip netns exec is not permitted"
    ip netns add "$b"
    ip link add "$a" type veth peer name "$b"
    ip link set "$a" netns "$a"
    ip link set "$b" netns "$b"
    ip -n "$a" addr add 10.77.0.1/24 dev "$a"
    ip -n "$b" addr add 10.77.0.2/24 dev "$b"
    for n in "$a" "$b"; do
        ip -n "$n" link set lo up
        ip -n "$n" link set "$n" up
    done
}
