# light.py - what ck's preloaded library costs a program that ends at once
#
# SPDX-License-Identifier: Apache-2.0
"""light.py BUILD

A script starts many programs that live for a millisecond. Times are no test
on a shared machine; what they are made of is: libraries mapped, work of the
loader, page faults. All that each process writes to at its start is on one
page. Three libraries with all their symbols looked up at the start took 54
faults and 1,800 relocations; one whose tables were between its variables 15
faults, 24 with a ring. The kernel maps 64 KiB of a file at a fault, so what
runs at the start is to be beside the relocations that the loader reads.
"""
import os
import re
import subprocess
import sys
import tempfile
import time

FAULTS_MAX = 14
FAULTS_RING_MAX = 14
# Of the part for CUDA, where a machine has NVIDIA's driver: more than those.
CUDA_FAULTS_MAX = 8
RELOCATIONS_MAX = 200
# Names that the loader looks up at the start, whether they are used or not:
# _r_debug, pthread_key_create. Four more came with the compiler's start files.
NAMES_MAX = 2
# The kernel gives what maps so many bytes a part of the address space of its
# own, with a page table that each program pays for.
MAPPED_MAX = 2 << 20
# Functions of the C library that a program calls by us which does nothing: each
# is found by its name, and most have a page that such a program needs for
# nothing else.
CALLED = {"__errno_location", "__register_atfork", "pthread_key_create"}
# Questions to the kernel for the time, at the start and at the end.
CLOCKS_MAX = 2
WRITTEN_MAX = 4096
PAGE = 4096
NEAR = 65536 - 4096
# Pages of the code of the start, of the end, and after a fork.
CODE_PAGES = 3
# Of each room that has something to do at the start.
VARIABLES = ("inject_ring", "libraries", "last", "first_stack", "loaded_raw", "counted_pid",
             "ck_time_is_skewed", "is_ready")
FUNCTIONS = ("symbol_load", "ck_ring_map_at", "inject_load", "ck_filter_join",
             "posix_call_load", "ck_skew_text", "posix_counts_last",
             "posix_counts_load", "posix_is_worth_it", "posix_counts_pause",
             "mpi_requests_load", "inject_room_add", "library_load",
             "library_unload", "annotate_load", "skew_start",
             "child_after_fork")
TRIES = 7


def faults(library):
    """Minor faults of a child that does nothing, least of several."""
    environment = {"PATH": "/usr/bin:/bin"}
    if library:
        environment["LD_PRELOAD"] = library
        environment["CKAGENT_RING"] = os.environ.get("CKAGENT_RING", "")
    found = []
    for _ in range(TRIES):
        pid = os.posix_spawn("/bin/true", ["true"], environment)
        found.append(os.wait4(pid, 0)[2].ru_minflt)
    return min(found)


def read(option, library):
    return subprocess.run(["readelf", option, "-W", library], check=True,
                          capture_output=True, text=True).stdout


def has_gap(library, page):
    """Is the page where the variables begin not the one after the code? Where
    the linker took no segments.ld, it need not be."""
    end = re.search(r"^ +LOAD +\S+ +(\S+) +\S+ +\S+ +(\S+) R E",
                    read("-l", library), re.M)
    size = re.search(r" \.ck_pad +PROGBITS +\S+ +\S+ +(\S+)",
                     read("-S", library)).group(1)
    last = int(end.group(1), 16) + int(end.group(2), 16) - 1
    return last // PAGE + 1 != page and int(size, 16) > 1


def misplaced(library):
    """Variables that are not on the first page of the writable part, and
    functions that the loader's work does not bring into memory."""
    places = {}
    for line in subprocess.run(["nm", library], check=True, text=True,
                               capture_output=True).stdout.splitlines():
        words = line.split()
        if len(words) == 3:
            places.setdefault(words[2].split(".")[0], int(words[0], 16))
    begin = int(re.search(r"^ +LOAD +\S+ +(\S+) .* RW", read("-l", library),
                          re.M).group(1), 16)
    table = int(re.search(r"RELA\)? +(0x\w+)", read("-d", library)).group(1),
                16)
    wrong = ["a free page before the variables"] if has_gap(
        library, begin // PAGE) else []
    wrong += [name for name in VARIABLES if places.get(name, 0) // PAGE !=
             begin // PAGE]
    wrong += [name for name in FUNCTIONS if name in places and
              places[name] - table > NEAR]
    pages = {places[name] // PAGE for name in FUNCTIONS if name in places}
    if max(pages) - min(pages) >= CODE_PAGES:
        wrong.append("code of the start on pages %s" % sorted(pages))
    wrong += re.findall(r"\((?:INIT|FINI)\)", read("-d", library))
    return wrong


# Run by a program that has the library: each argument is a program that it
# executes by execve(), with the variables of its own.
EXECUTE = """import os, sys
for path in sys.argv[1:]:
    pid = os.fork()
    if pid == 0:
        os.execve(path, [path, "LD_PRELOAD"], os.environ)
    os.waitpid(pid, 0)
"""
SCRIPT = """#!/usr/bin/printenv
"""


def execute(library, paths, **variables):
    """Output and messages of the programs, which the loader gave libraries."""
    done = subprocess.run(
        [sys.executable, "-c", EXECUTE, *paths], check=True, text=True,
        capture_output=True,
        env={"PATH": "/usr/bin:/bin", "LD_PRELOAD": library, **variables})
    return done.stdout, done.stderr


def executed(library):
    """What is wrong with programs that one with the library executes: of its
    own kind they are to be given it without $PLATFORM, and not to see that."""
    named = library.replace("/libck.so", "/$PLATFORM/libck.so")
    plain = library.replace("/libck.so", "/./././././libck.so")
    print_it = "/usr/bin/printenv"
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "script")
        with open(script, "w", encoding="utf-8") as file:
            file.write(SCRIPT)
        os.chmod(script, 0o755)
        seen, _ = execute(named, [print_it])
        _, files = execute(named, [print_it], LD_DEBUG="files")
        _, of_script = execute(named, [script], LD_DEBUG="files")
    wrong = []
    if seen != named + "\n":
        wrong.append("LD_PRELOAD is seen as %s" % seen)
    if "calling init: " + plain not in files:
        wrong.append("the loader was given $PLATFORM")
    if plain in of_script:
        wrong.append("the loader of a script was not given $PLATFORM")
    return wrong


# A shell that starts a program a hundred times, as fast as it can.
OFTEN = "i=0; while [ $i -lt 100 ]; do %s; i=$((i+1)); done"
OFTEN_LIMIT = 600  # s


def loaded(preload, program):
    """How often a program that a shell starts a hundred times has ck's
    library; the shell is in a ring, which this script runs in once more."""
    said = subprocess.run(
        ["/bin/sh", "-c", OFTEN % program], check=False, capture_output=True,
        text=True,
        env={"LD_PRELOAD": preload, "LD_DEBUG": "files", "CKAGENT_RING":
             os.environ.get("CKAGENT_RING", "")}).stderr
    return len(re.findall(r"calling init: \S*/libck\.so", said)) - 1


def spared(library):
    """What is wrong with the programs that come without the library: those in
    which nothing would be recorded, once they were many in a second; no others.
    A machine that is busy may start less than that, so it gets another try."""
    named = library.replace("/libck.so", "/$PLATFORM/libck.so")
    end = time.monotonic() + OFTEN_LIMIT
    few = 100
    while few > 50 and time.monotonic() < end:
        few = loaded(named, "/bin/true")
    wrong = [] if 16 <= few <= 50 else ["%d_of_true" % few]
    many = loaded(named, "/bin/cat /dev/null")
    wrong += [] if many == 100 else ["%d_of_cat" % many]
    many = loaded(named + ":libm.so.6", "/bin/true")
    wrong += [] if many == 100 else ["%d_with_libm" % many]
    return wrong


def looks(library):
    """How often a shell's children read a program that it starts three times:
    once where they share its memory (vfork), -1 = that cannot be seen."""
    with tempfile.NamedTemporaryFile("r") as trace:
        try:
            subprocess.run(
                ["strace", "-f", "-qq", "-o", trace.name, "-e",
                 "trace=openat,vfork,fork,clone", "/bin/sh", "-c",
                 "/bin/true; /bin/true; /bin/true; :"], check=True,
                env={"PATH": "/usr/bin:/bin", "LD_PRELOAD":
                     library.replace("/libck.so", "/$PLATFORM/libck.so")})
        except (OSError, subprocess.CalledProcessError):
            return -1
        text = trace.read()
    return text.count('"/bin/true"') if " vfork(" in text else -1


def clocks(library):
    """How often a program that does nothing asks for the time; -1 = that cannot
    be seen."""
    with tempfile.NamedTemporaryFile("r") as trace:
        try:
            subprocess.run(
                ["strace", "-qq", "-o", trace.name, "-e",
                 "trace=clock_gettime", "/bin/true"], check=True,
                env={"LD_PRELOAD": library, "CKAGENT_RING":
                     os.environ.get("CKAGENT_RING", "")})
        except (OSError, subprocess.CalledProcessError):
            return -1
        return trace.read().count("clock_gettime(")


def mappings(library):
    """Parts of the ring that a program maps which records nothing."""
    maps = subprocess.run(
        ["/bin/cat", "/proc/self/maps"], check=True, capture_output=True,
        text=True, env={"LD_PRELOAD": library, "CKAGENT_RING":
                        os.environ.get("CKAGENT_RING", "")}).stdout
    return maps.count(".ring\n")


def called(library):
    """Names of functions that the loader finds for the library, each time: one
    that had no CPU for a tenth of a second has something to record, so a busy
    machine gets more tries."""
    found = []
    end = time.monotonic() + OFTEN_LIMIT
    while not found or (set.intersection(*found) - CALLED and
                        time.monotonic() < end):
        said = subprocess.run(
            ["/bin/true"], check=True, capture_output=True, text=True,
            env={"LD_PRELOAD": library, "LD_DEBUG": "bindings",
                 "CKAGENT_RING": os.environ.get("CKAGENT_RING", "")}).stderr
        found.append(set(re.findall(
            r"binding file \S*/libck\.so \[0\] to \S*/libc\.so\S* "
            r".*symbol `(\w+)'", said)))
    return sorted(set.intersection(*found))


def mapped_bytes(library):
    """From the first byte to the last, as the loader asks the kernel."""
    parts = re.findall(r"^ +LOAD +\S+ +(\S+) +\S+ +\S+ +(\S+)",
                       read("-l", library), re.M)
    return max(int(at, 16) + int(size, 16) for at, size in parts)


def in_ring_of(build, library, what):
    """Words that this script prints below an agent, which it runs in once
    more."""
    return subprocess.run(
        [os.path.join(build, "tests", "ringrun"), os.devnull, "--",
         sys.executable, __file__, what, library],
        check=True, capture_output=True, text=True).stdout.split()


def main():
    if sys.argv[1] == "--faults":
        print(faults(sys.argv[2]), mappings(sys.argv[2]),
              clocks(sys.argv[2]), *called(sys.argv[2]))
        return
    if sys.argv[1] == "--spared":
        print(*spared(sys.argv[2]))
        return
    library = os.path.join(sys.argv[1], "lib", "ck", "libck.so")
    needed = re.findall(r"NEEDED.*\[(.*)\]", read("-d", library))
    others = [name for name in needed
              if not name.startswith(("libc.", "ld-linux"))]
    relocations = len(re.findall(r" R_\w+", read("-r", library)))
    segments = re.findall(r"^ +LOAD +(?:\S+ +){3}(\S+) +\S+ +R(..)",
                          read("-l", library), re.M)
    written = sum(int(size, 16) for size, rights in segments if "W" in rights)
    wrong = misplaced(library) + executed(library)
    if looks(library) > 1:
        wrong.append("a program is read each time that it is executed")
    plain = faults(None)
    more = faults(library) - plain
    # faults, mappings, looks at the clock, functions called
    in_ring, mapped, asked, *functions = in_ring_of(sys.argv[1], library,
                                                    "--faults")
    wrong += ["the library is in " + words for words in
              in_ring_of(sys.argv[1], library, "--spared")]
    in_ring, mapped, asked = int(in_ring) - plain, int(mapped), int(asked)
    if "__register_atfork" in functions and set(functions) - CALLED:
        wrong.append("calls of %s" % " ".join(set(functions) - CALLED))
    if mapped_bytes(library) >= MAPPED_MAX:
        wrong.append("%d bytes are mapped" % mapped_bytes(library))
    if mapped != 1:
        wrong.append("%d mappings of the ring" % mapped)
    if asked > CLOCKS_MAX:
        wrong.append("the time is asked for %d times" % asked)
    names = len(re.findall(r" R_\w+_GLOB_DAT? ", read("-r", library)))
    if names > NAMES_MAX:
        wrong.append("%d names are looked up at the start" % names)
    cuda = os.path.join(sys.argv[1], "lib", "ck", "libckcuda.so")
    with_cuda = faults(library + ":" + cuda) - plain - more
    # Symbols that the loader looks up at the start, beside lazy ones.
    looked_up = len(re.findall(r" R_\w+_(?:64|ABS64) ", read("-r", cuda)))
    print("%d faults more, %d in a ring, %d relocations, %d segments, "
          "%d bytes of variables in the file, needs %s, wrong: %s; "
          "ckcuda: %d faults more, %d symbols looked up" % (
              more, in_ring, relocations, len(segments), written,
              " ".join(needed), " ".join(wrong) or "nothing", with_cuda,
              looked_up))
    sys.exit(more > FAULTS_MAX or in_ring > FAULTS_RING_MAX or
             relocations > RELOCATIONS_MAX or len(segments) != 2 or
             written > WRITTEN_MAX or bool(others) or bool(wrong) or
             with_cuda > CUDA_FAULTS_MAX or looked_up > 0)


if __name__ == "__main__":
    main()
