# lttng.py - the records of a stored run as a trace of LTTng-UST
#
# SPDX-License-Identifier: Apache-2.0
"""Used by the programs of tests/bench that set ck beside LTTng."""
import os
import shutil
import signal

from job import remark

PACKAGES = "packages lttng-tools liblttng-ust-dev"


def is_there(bench):
    return shutil.which("lttng") is not None and os.path.exists(
        bench.test("bench_replay"))


def replayed(bench, directory):
    """(folder of the CTF trace, output of bench_replay)."""
    home = os.path.join(bench.work, "lttng")
    trace = os.path.join(home, "trace")
    os.mkdir(home)
    bench.environment.update(HOME=home, LTTNG_HOME=home,
                             LTTNG_UST_REGISTER_TIMEOUT="3000")
    pid_file = os.path.join(home, "pid")
    bench.plain(["lttng-sessiond", "--daemonize", "--pidfile=" + pid_file])
    try:
        bench.plain(["lttng", "create", "replay", "--output=" + trace])
        bench.plain(["lttng", "enable-channel", "-u", "--subbuf-size=1M",
                     "--num-subbuf=8", "c"])
        bench.plain(["lttng", "enable-event", "-u", "-c", "c", "ckreplay:*"])
        bench.plain(["lttng", "start"])
        output = bench.plain([bench.test("bench_replay"), directory])
        stopped = bench.plain(["lttng", "destroy", "replay"])
        if "discarded" in stopped:
            remark("LTTng: " + stopped.strip())
    finally:
        with open(pid_file) as file:
            os.kill(int(file.read()), signal.SIGTERM)
    return trace, output.strip()
