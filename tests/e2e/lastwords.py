"""lastwords.py WORDS PLAIN CK RUN - did the program end as without ck, and is
its end in the report?

SPDX-License-Identifier: Apache-2.0

PLAIN and CK have the status and perhaps a core file of a run without and with
ck; RUN is the run directory.
"""
import glob
import json
import signal
import struct
import sys

words, plain, with_ck, run = sys.argv[1:]
number = int(words.split()[0])


def check(is_right, text):
    if not is_right:
        sys.exit("wrong: " + text)


def core_facts(folder):
    """Signal, its code, and within its page the address, of a core file."""
    cores = glob.glob(folder + "/core*")
    if not cores:
        return None
    data = open(cores[0], "rb").read(1 << 20)
    at, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    for i in range(count):
        kind, _, offset, _, _, length = struct.unpack_from("<IIQQQQ", data,
                                                           at + i * size)
        end = offset + length
        while kind == 4 and offset < end:
            name, bytes_, note = struct.unpack_from("<III", data, offset)
            offset += 12 + (name + 3) // 4 * 4
            if note == 0x53494749:  # NT_SIGINFO
                signo, _, code = struct.unpack_from("<iii", data, offset)
                address, = struct.unpack_from("<Q", data, offset + 16)
                is_fault = code > 0
                return signo, code, address % 4096 if is_fault else 0
            offset += (bytes_ + 3) // 4 * 4
    return None


check(open(plain + "/status").read() == open(with_ck + "/status").read(),
      "status")
check(core_facts(plain) == core_facts(with_ck), "core files: %s and %s" %
      (core_facts(plain), core_facts(with_ck)))
print(words, "core:", core_facts(with_ck))

report = json.load(open(run + "/report.json"))
deaths = report["deaths"]
causes = [d for d in deaths if d["cause"]]
check(len(causes) == 1 and len(deaths) == 4, "threads: %d" % len(deaths))
cause = causes[0]
check(cause["signal"] == number, "signal")
functions = [f["function"] for f in cause["frames"]]
check("wound" in functions and "outer" in functions and
      functions.index("wound") < functions.index("outer") <
      functions.index("end"), "stack: %s" % functions)
wound = cause["frames"][functions.index("wound")]
if number == signal.SIGBUS:
    check(functions[0] == "page_beyond", "stack: %s" % functions)
elif number != signal.SIGABRT and "handled" not in words:
    check(functions[0] == "wound" and wound["file"].endswith("lastwords.c"),
          "leaf: %s" % functions)
if "address" in cause:
    check(cause["address"] == 0x10, "address %x" % cause["address"])
others = [set(f["function"] for f in d["frames"])
          for d in deaths if not d["cause"]]
for name in "main", "wait_long", "spin":
    check(sum(name in other for other in others) == 1, "no thread in " + name)
text = open(run + "/report.txt").read()
check("outer (lastwords.c:" in " ".join(text.split()) and
      " of the 4 whose stacks are known; " in " ".join(text.split()),
      "text: " + text[:1500])
check(signal.Signals(number).name and "died of signal %d" % number in text,
      "no death in the text")
