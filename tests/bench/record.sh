#!/bin/sh
# record.sh BUILD_DIR - bench_record inside an LTTng-UST session, if there is one
#
# SPDX-License-Identifier: Apache-2.0
build=${1:?usage: record.sh BUILD_DIR}
bench=$build/tests/bench_record
peer=$build/tests/libbench_lttng.so
if ! command -v lttng >/dev/null || [ ! -e "$peer" ]; then
    echo "# LTTng-UST: not measured (needs lttng-tools and liblttng-ust-dev)"
    exec "$bench"
fi
home=$(mktemp -d)
export LTTNG_HOME="$home" HOME="$home" CK_TEST_LTTNG="$peer"
lttng-sessiond --daemonize --pidfile="$home/pid" >/dev/null 2>&1
lttng create bench --output="$home/trace" >/dev/null
lttng enable-channel -u --subbuf-size=4M --num-subbuf=8 c >/dev/null
lttng enable-event -u -c c 'ckbench:*' >/dev/null
lttng start >/dev/null
LTTNG_UST_REGISTER_TIMEOUT=3000 "$bench"
status=$?
lttng destroy bench >/dev/null
[ -s "$home/pid" ] && kill "$(cat "$home/pid")"
rm -rf "$home"
exit $status
