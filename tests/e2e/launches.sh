#!/usr/bin/env bash
# launches.sh - device work by launching stack, native and Python; device memory
#
# SPDX-License-Identifier: Apache-2.0
#
# cl_callers.c launches from one line below two functions, in the proportion 3 to
# 1; a Python program, by ctypes, below two functions in the proportion 2 to 1. Each
# launch is joined with a stack, and the folded file has the device's time.
. "$(dirname "$0")/lib.sh"
[ -x "$tests/cl_callers" ] || skip "cl_callers was not built"
export POCL_DEVICES=pthread

# record NAME PROGRAM...
record() {
    timeout 100 "$bin/ckagent" --report none --no-page --sample off \
        --dir "$work/$1" -- "${@:2}" >"$work/$1.out" 2>"$work/$1.err" \
        </dev/null || { cat "$work/$1.err"; fail "$1"; }
    wait_done "$work/$1"
    "$bin/ckmerge" --verify "$work/$1" >/dev/null || fail "--verify of $1"
    "$bin/ckmerge" --quiet --output json="$work/$1/report.json" \
        --output text="$work/$1.txt" \
        --output folded-device="$work/$1.folded" "$work/$1"
}

# right NAME WORK LAUNCHES FUNCTION=SHARE...: by stacks, within 12 points.
right() {
    /usr/bin/python3 - "$work/$1/report.json" "$work/$1.folded" "${@:2}" <<'PY'
import json, sys
of = json.load(open(sys.argv[1]))["launch_stacks"]
work, launches = sys.argv[3], int(sys.argv[4])
rows = [row for row in of["rows"] if row["work"] == work]
every = sum(row["ns"] for row in rows)
assert sum(row["launches"] for row in rows) == launches, rows
assert of["unmatched"] == of["by_function"] == of["deferred"] == 0, of
assert of["matched"] >= launches, of
folded = {}
for text in open(sys.argv[2]):
    stack, us = text.rsplit(" ", 1)
    folded[stack] = int(us)
for text in sys.argv[5:]:
    function, share = text.split("=")
    its = [row for row in rows
           if function in [frame["function"] for frame in row["stack"]]]
    ns = sum(row["ns"] for row in its)
    print("%s: %.3f of the time, reported %.3f" % (
        function, float(share), ns / every))
    assert abs(ns / every - float(share)) < 0.12
    us = sum(amount for stack, amount in folded.items()
             if stack.endswith(";" + work + "_[g]") and
             function in stack.split(";"))
    assert abs(us - ns / 1000) <= len(its), (us, ns)
PY
}

record native "$tests/cl_callers"
right native add 4000 train=0.75 check=0.25 || fail "native"
same "the line" "cl_callers.c:$(grep -n 'here: launch' \
    "$here/../targets/opencl/cl_callers.c" | cut -d: -f1)" \
    "$(json "$work/native/report.json" "(lambda r: r['file'].split('/')[-1] +
        ':' + str(r['line']))(j['launch_stacks']['rows'][0])")"
grep -q '^ LAUNCHED BY (stacks of launches' "$work/native.txt" ||
    fail "no table"
grep -q '^rank 0;.*;main;train;launch;add_\[g\] [0-9]*$' \
    "$work/native.folded" || fail "$(head -3 "$work/native.folded")"

# What the program had on its device, and when it gave it back.
grep -q 'no shared memory' "$work/native.out" && shared=0 || shared=65536
same "device memory" "[('make_one', $((4 << 20)), $((4 << 20)), $((2 << 20)), 3)]" \
    "$(json "$work/native/report.json" "[(r['function'], r['bytes'],
        r['peak_bytes'], r['last_bytes'], r['blocks'])
        for r in j['device_memory']['places'] if r['function'] == 'make_one']")"
same "all of it" "$(((4 << 20) + shared + 1024)) $((2 << 20)) True" \
    "$(json "$work/native/report.json" "(lambda r: '%d %d %s' % (r['bytes'],
        r['last_bytes'], r['device'] == j['devices'][0]['name']))(
        j['device_memory']['ranks'][0])")"
grep -q '^ DEVICE MEMORY' "$work/native.txt" || fail "no table of device memory"
"$bin/ckmerge" --quiet --output chrome="$work/trace.json" "$work/native"
same "the counter's highest and last" "$((4 << 20)) $((2 << 20))" \
    "$(json "$work/trace.json" "(lambda v: '%d %d' % (max(v), v[-1]))([
        e['args']['value'] for e in (j if isinstance(j, list) else
        j['traceEvents']) if e.get('ph') == 'C' and
        e['name'].startswith('memory of ')])")"

cat >"$work/calls.py" <<'PY'
import ctypes
cl = ctypes.CDLL("libOpenCL.so.1")
p, u, n = ctypes.c_void_p, ctypes.c_uint, ctypes.c_size_t
for name in ("CreateContext", "CreateCommandQueue", "CreateBuffer",
             "CreateProgramWithSource", "CreateKernel"):
    getattr(cl, "cl" + name).restype = p
def must(rc):
    assert rc == 0, rc
platform, device, error = p(), p(), ctypes.c_int()
must(cl.clGetPlatformIDs(u(1), ctypes.byref(platform), None))
must(cl.clGetDeviceIDs(platform, ctypes.c_ulong(0xffffffff), u(1),
                       ctypes.byref(device), None))
context = p(cl.clCreateContext(None, u(1), ctypes.byref(device), None, None,
                               ctypes.byref(error)))
queue = p(cl.clCreateCommandQueue(context, device, ctypes.c_ulong(0),
                                  ctypes.byref(error)))
text = ctypes.c_char_p(b"kernel void add(global float *a) "
                       b"{ a[get_global_id(0)] += 1; }")
program = p(cl.clCreateProgramWithSource(context, u(1), ctypes.byref(text),
                                         None, ctypes.byref(error)))
must(cl.clBuildProgram(program, u(0), None, None, None, None))
kernel = p(cl.clCreateKernel(program, b"add", ctypes.byref(error)))
memory = p(cl.clCreateBuffer(context, ctypes.c_ulong(1), n(1024), None,
                             ctypes.byref(error)))
must(cl.clSetKernelArg(kernel, u(0), n(8), ctypes.byref(memory)))
size = n(256)
def launch():
    must(cl.clEnqueueNDRangeKernel(queue, kernel, u(1), None,
                                   ctypes.byref(size), None, u(0), None, None))
def train():
    launch()
def check():
    launch()
for i in range(3000):
    check() if i % 3 == 2 else train()
    if i % 64 == 63:
        must(cl.clFinish(queue))
must(cl.clFinish(queue))
PY
record python /usr/bin/python3 "$work/calls.py"
right python add 3000 train=0.667 check=0.333 || fail "Python"
same "the line of Python" "calls.py:$(grep -n 'clEnqueueNDRange' \
    "$work/calls.py" | cut -d: -f1)" \
    "$(json "$work/python/report.json" "(lambda r: r['file'].split('/')[-1] +
        ':' + str(r['line']))(j['launch_stacks']['rows'][0])")"
exit 0
