#!/usr/bin/env python3
"""check.py CASE MPI RINGRUN LIBRARY PROGRAMS - MPI programs, their records

SPDX-License-Identifier: Apache-2.0

Runs a program of this directory under the real mpirun (MPI = openmpi) or
mpiexec.hydra (mpich), each rank below ringrun with libckmpi.so preloaded, and
compares the records of each rank with what the program did. Exit 77: skipped.
"""
import collections
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

CASE, MPI, RINGRUN, LIBRARY, PROGRAMS = sys.argv[1:6]
IS_OPENMPI = MPI == "openmpi"
FORTRAN, PERSISTENT, FAILED = 16, 32, 2
CALLS = {"mpi", "send", "recv", "probe", "complete", "sendrecv", "collective",
         "icollective"}


def expect(is_true, *what):
    if not is_true:
        print(f"{CASE} {MPI}:", *what)
        sys.exit(1)


def launcher(ranks):
    if not IS_OPENMPI:
        return ["mpiexec.hydra", "-n", str(ranks)]
    return ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n",
            str(ranks)]


def openmpi_major():
    text = subprocess.run(["mpirun", "--version"], stdout=subprocess.PIPE,
                          check=True, text=True).stdout
    return int(text.split("\n")[0].split()[-1].split(".")[0])


class Rank:
    """The records of one rank, in the order of its ring."""

    def __init__(self, path):
        self.lines = [json.loads(line) for line in open(path)]
        self.names = {r["name"]: r["text"] for r in self.lines
                      if r["kind"] == "name"}
        self.slots = [r for r in self.lines if r["kind"] == "slot"]
        self.calls = [r for r in self.lines if r["kind"] in CALLS]
        for record in self.calls:
            record["fn"] = self.names[record["name"]]

    def texts(self, kind):
        return [r for r in self.lines if r["kind"] == kind]

    def lost(self):
        return sum(s["dropped"] + s["reentered"] for s in self.slots)

    def comms(self):
        """The last lines recorded of each communicator, by id."""
        return {r["name"]: dict(line.split("=", 1)
                                for line in r["text"].splitlines()) |
                {"parent": r["object"], "number": r["extra"]}
                for r in self.texts("comm")}


def job(words, folder):
    """Run them. With Open MPI 5.0.7 all ranks of a third of the jobs of comm
    never return from MPI_Dist_graph_create, without ck, too (ompi_comm_nextcid
    waits): a job that does not end is run again."""
    for _ in range(4):
        try:
            return subprocess.run(words, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=60,
                                  cwd=folder, text=True)
        except subprocess.TimeoutExpired as error:
            late = error
            print("ended after 60 s:", *words[-1:])
            for name in os.listdir(folder):
                os.unlink(os.path.join(folder, name))
    raise late


def run(command, ranks=2, status=0):
    """Run it; the records of each rank. status None: any."""
    folder = tempfile.mkdtemp(prefix="ck-mpi-")
    try:
        rank = "OMPI_COMM_WORLD_RANK" if IS_OPENMPI else "PMI_RANK"
        # A poll that spins makes many records before its turn ends.
        script = (f'exec "{RINGRUN}" {folder}/$${rank} --slot-kib 16384 -- env '
                  f'LD_PRELOAD="{LIBRARY}" "$@"').replace("$$", "$")
        done = job(launcher(ranks) + ["sh", "-c", script, "sh"] + command,
                   folder)
        if done.returncode == 77:
            print("skipped:", command[0], "says that this MPI cannot")
            sys.exit(77)
        expect(status is None or done.returncode == status,
               "exit", done.returncode, done.stdout)
        return [Rank(os.path.join(folder, str(r))) for r in range(ranks)]
    finally:
        shutil.rmtree(folder)


def program(name):
    return os.path.join(PROGRAMS, f"{name}.{MPI}")


def compare(rank, records, wanted, label):
    """Each record against (kind, function, fields). A field "$x" is a
    value that is the same wherever "$x" is."""
    held = {}
    for i, (record, (kind, fn, fields)) in enumerate(zip(records, wanted)):
        where = f"{label}: record {i}: {record}, wanted {kind} {fn} {fields}"
        expect(record["kind"] == kind and record["fn"] == fn, where)
        for key, value in fields.items():
            if isinstance(value, str):
                expect(held.setdefault(value, record[key]) == record[key],
                       f"{key} differs,", where)
                expect(record[key] != 0, f"{key} is 0,", where)
            else:
                expect(record[key] == value, f"{key} differs,", where)
        expect(record["site"] != 0, "no call site,", where)
    expect(len(records) == len(wanted), f"{label}: {len(records)} records, "
           f"wanted {len(wanted)}:", records[len(wanted):],
           wanted[len(records):])
    expect(rank.lost() == 0, f"{label}: records lost")


def settled(rank):
    """Without the tries that found nothing, which depend on time."""
    tries = {"MPI_Test", "MPI_Testall", "MPI_Testany", "MPI_Testsome"}
    return [r for r in rank.calls
            if not (r["fn"] in tries and r["kind"] == "mpi" and
                    r["extra"] == 0) and
            not (r["fn"] == "MPI_Iprobe" and r["bytes"] == 0)]


def msg(kind, fn, peer, tag, size, **more):
    return kind, "MPI_" + fn, dict(peer=peer, tag=tag, bytes=size,
                                   comm=1, **more)


def call(fn, **more):
    return "mpi", "MPI_" + fn, more


def coll(fn, seq, out, in_, root=-1, **more):
    return "collective", "MPI_" + fn, dict(
        seq=seq, bytes_out=out, bytes_in=in_, root=root, request=0,
        **({"comm": 1} | more))


def p2p_wanted(me):
    other = 1 - me
    wanted = [call("Init")]
    if me == 0:
        wanted += [msg("send", "Send", 1, 7, 40, request=0),
                   msg("send", "Ssend", 1, 8, 24, request=0),
                   msg("send", "Send", 1, 9, 0, request=0),
                   msg("send", "Send", -2, 1, 4, request=0)]
    else:
        wanted += [msg("recv", "Recv", 0, 7, 40, request=0),
                   msg("recv", "Recv", 0, 8, 24, request=0),
                   msg("recv", "Recv", 0, 9, 0, request=0),
                   msg("recv", "Recv", -2, -1, 0, request=0)]
    wanted += [msg("sendrecv", "Sendrecv", other, 20 + me, 5),
               msg("complete", "Sendrecv", other, 21 - me, 5),
               msg("sendrecv", "Sendrecv_replace", other, 30, 8),
               msg("complete", "Sendrecv_replace", other, 30, 8),
               coll("Barrier", 1, 0, 0)]
    if me == 0:
        wanted += [msg("send", "Send", 1, 40, 24),
                   msg("send", "Send", 1, 41, 28),
                   msg("send", "Send", 1, 42, 32)]
    else:
        wanted += [msg("probe", "Probe", 0, 40, 24),
                   msg("recv", "Recv", 0, 40, 24),
                   msg("probe", "Mprobe", 0, 41, 28),
                   msg("recv", "Mrecv", 0, 41, 28),
                   msg("probe", "Iprobe", 0, 42, 32),
                   msg("recv", "Recv", 0, 42, 32)]
    # MPICH answers small sends with one request for all of them, already
    # complete, about which nothing more is known.
    wanted += [coll("Barrier", 2, 0, 0),
               msg("recv", "Irecv", -1, -1, 400, request="$a"),
               msg("send", "Isend", other, 50 + me, 44 + 4 * me,
                   request="$b"),
               call("Wait", arg=1, extra=1),
               msg("complete", "Wait", other, 50 + other, 44 + 4 * other,
                   request="$a"),
               call("Test", arg=1, extra=1),
               ("complete", "MPI_Test", dict(request="$b")),
               msg("recv", "Irecv", other, 60, 400, request="$c"),
               msg("recv", "Irecv", other, 61, 400, request="$d"),
               msg("send", "Isend", other, 60, 4, request="$e"),
               msg("send", "Send", other, 61, 8, request=0),
               call("Waitall", arg=3, extra=3),
               msg("complete", "Waitall", other, 60, 4, request="$c"),
               msg("complete", "Waitall", other, 61, 8, request="$d"),
               ("complete", "MPI_Waitall", dict(request="$e")),
               call("Waitall", arg=3),
               coll("Barrier", 3, 0, 0)]
    wanted += [msg("recv", "Irecv", other, 70, 9, request="$f"),
               msg("recv", "Irecv", other, 71, 9, request="$g"),
               msg("send", "Send", other, 71, 3),
               call("Waitany", arg=2, extra=1),
               msg("complete", "Waitany", other, 71, 3, request="$g"),
               coll("Barrier", 4, 0, 0),
               msg("send", "Send", other, 70, 4),
               call("Testany", arg=2, extra=1),
               msg("complete", "Testany", other, 70, 4, request="$f"),
               msg("recv", "Irecv", other, 72, 9, request="$h"),
               msg("recv", "Irecv", other, 73, 9, request="$i"),
               msg("send", "Send", other, 72, 5),
               call("Waitsome", arg=2, extra=1),
               msg("complete", "Waitsome", other, 72, 5, request="$h"),
               coll("Barrier", 5, 0, 0),
               msg("send", "Send", other, 73, 6),
               call("Testsome", arg=2, extra=1),
               msg("complete", "Testsome", other, 73, 6, request="$i"),
               msg("recv", "Irecv", other, 74, 9, request="$j"),
               msg("send", "Isend", other, 74, 7, request="$k"),
               call("Testall", arg=2, extra=2),
               msg("complete", "Testall", other, 74, 7, request="$j"),
               ("complete", "MPI_Testall", dict(request="$k")),
               coll("Barrier", 6, 0, 0)]
    started = dict(flags=PERSISTENT, dur=0)
    wanted += [call("Send_init", extra="$s"), call("Recv_init", extra="$r"),
               call("Waitall", arg=2),
               call("Start", arg=1),
               msg("recv", "Recv_init", -1, 80, 160, request="$r", **started),
               call("Start", arg=1),
               msg("send", "Send_init", other, 80, 48, request="$s",
                   **started),
               call("Wait", extra=1),
               msg("complete", "Wait", other, 80, 48, request="$s"),
               call("Wait", extra=1),
               msg("complete", "Wait", other, 80, 48, request="$r"),
               call("Startall", arg=2),
               msg("send", "Send_init", other, 80, 48, request="$s",
                   **started),
               msg("recv", "Recv_init", -1, 80, 160, request="$r", **started),
               call("Waitall", arg=2, extra=2),
               msg("complete", "Waitall", other, 80, 48, request="$s"),
               msg("complete", "Waitall", other, 80, 48, request="$r"),
               call("Request_free"), call("Request_free"),
               coll("Barrier", 7, 0, 0)]
    if me == 0:
        wanted += [msg("send", "Isend", 1, 90, 4), call("Request_free")]
    else:
        wanted += [msg("recv", "Recv", 0, 90, 4)]
    return wanted + [msg("recv", "Irecv", other, 91, 4, request="$l"),
                     call("Cancel"), call("Wait", extra=1),
                     ("complete", "MPI_Wait",
                      dict(request="$l", bytes=0, flags=FAILED)),
                     call("Finalize", object=1)]


def case_p2p():
    for me, rank in enumerate(run([program("p2p")])):
        compare(rank, settled(rank), p2p_wanted(me), f"rank {me}")
        identity = rank.texts("identity")[0]["text"]
        expect(f"rank={me}\nsize=2\n" in identity, identity)
        expect(("Open MPI" in identity) == IS_OPENMPI, identity)


def coll_wanted(me):
    seq = iter(range(1, 100))
    n = 3 + 2 * me

    def next_coll(fn, out, in_, root=-1, **more):
        return coll(fn, next(seq), out, in_, root, **more)

    def started(fn, out, in_, root=-1, **more):
        return "icollective", fn, dict(seq=next(seq), bytes_out=out,
                                       bytes_in=in_, root=root, **more)

    first = me == 0
    wanted = [call("Init"), next_coll("Barrier", 0, 0),
              next_coll("Bcast", 0 if first else 16, 16 if first else 0, 1),
              next_coll("Reduce", 20, 20 if first else 0, 0),
              next_coll("Gather", 8, 0 if first else 16, 1),
              next_coll("Gather", 8 if first else 0, 0 if first else 16, 1),
              next_coll("Gatherv", 4 * n, 32 if first else 0, 0),
              next_coll("Scatter", 24 if first else 0, 12, 0),
              next_coll("Scatterv", 0 if first else 32, 4 * n, 1),
              next_coll("Allreduce", 24, 24),
              next_coll("Allreduce", 28, 28),
              next_coll("Allgather", 8, 16),
              next_coll("Allgather", 12, 24),
              next_coll("Allgatherv", 4 * n, 32),
              next_coll("Alltoall", 32, 32),
              next_coll("Alltoallv", 8 * n, 32),
              next_coll("Alltoallw", 12, 8 if first else 16),
              next_coll("Reduce_scatter", 32, 4 * n),
              next_coll("Reduce_scatter_block", 32, 16),
              next_coll("Scan", 8, 8),
              next_coll("Exscan", 8, 0 if first else 8),
              started("MPI_Ibarrier", 0, 0, comm=1, request="$a"),
              call("Wait", extra=1),
              ("complete", "MPI_Wait", dict(comm=1, request="$a")),
              started("MPI_Iallreduce", 32, 32, comm=1, request="$b"),
              started("MPI_Ibcast", 36 if first else 0, 0 if first else 36, 0,
                      comm=1, request="$c"),
              call("Waitall", arg=2, extra=2),
              ("complete", "MPI_Waitall", dict(comm=1, request="$b")),
              ("complete", "MPI_Waitall", dict(comm=1, request="$c"))]
    init = "MPI_Allreduce_init"
    if IS_OPENMPI and openmpi_major() < 5:
        init = "MPIX_Allreduce_init"
    wanted += [("mpi", init, dict(object=1, extra="$p"))]
    for _ in range(2):
        wanted += [call("Start"),
                   started(init, 12, 12, comm=1, request="$p",
                           flags=PERSISTENT),
                   call("Wait", extra=1),
                   ("complete", "MPI_Wait", dict(comm=1, request="$p"))]
    wanted += [call("Request_free"), next_coll("Cart_create", 0, 0)]
    wanted += [coll("Neighbor_allgather", 1, 12, 24, comm=3),
               coll("Neighbor_alltoall", 2, 32, 32, comm=3),
               ("icollective", "MPI_Ineighbor_alltoall",
                dict(comm=3, seq=3, bytes_out=40, bytes_in=40,
                     request="$n")),
               call("Wait", extra=1),
               ("complete", "MPI_Wait", dict(comm=3, request="$n")),
               call("Comm_free", object=3)]
    for i in 1, 2, 3:
        wanted += [next_coll("Bcast", 8 * i if first else 0,
                             0 if first else 8 * i, 0), call("Type_free")]
    return wanted + [call("Finalize")]


def case_coll():
    for me, rank in enumerate(run([program("coll")])):
        compare(rank, settled(rank), coll_wanted(me), f"rank {me}")
        expect(rank.comms()[3]["topology"] == "cart", rank.comms())
        # On a ring of two the other one is on both sides.
        expect(rank.comms()[3]["sources"] == f"{1 - me},{1 - me}",
               rank.comms())


def case_comm():
    size = 4 if IS_OPENMPI else 2
    ranks = run([program("comm")], size)
    everyone = f"0-{size - 1}"
    for me, rank in enumerate(ranks):
        by_how = collections.defaultdict(list)
        comms = rank.comms()
        for number, comm in sorted(comms.items()):
            by_how[comm["how"]].append(comm | {"id": number})
        expect(comms[1]["members"] == everyone and
               comms[1]["rank"] == str(me), comms[1])
        expect(comms[2]["members"] == str(me), comms[2])
        copy, later = by_how["dup"]
        expect(copy["name"] == "copy" and copy["parent"] == 1 and
               copy["number"] == 1 and copy["members"] == everyone, copy)
        expect(later["number"] == 2 and later["members"] == everyone, later)
        splits = by_how["split"]
        mine = [r for r in range(size - 1, -1, -1) if r % 2 == me % 2]
        expect(splits[0]["parent"] == copy["id"] and
               splits[0]["number"] == 1 and
               splits[0]["members"] == ",".join(map(str, mine)), splits)
        # the split that rank 0 took no part in has number 3 in the world
        if me != 0:
            rest = "1" if size == 2 else "1-3"
            expect(splits[1]["number"] == 3 and
                   splits[1]["members"] == rest, splits)
        shared, half = splits[-2:]
        # Which ranks share memory is the library's answer: in a container
        # MPICH 5 finds each alone.
        expect(shared["number"] == 4 and shared["members"] in
               (everyone, str(me)) and
               shared["size"] == str(size if shared["members"] == everyone
                                     else 1), shared)
        if me == size - 1:
            expect(by_how["create"][0]["members"] == str(me) and
                   by_how["create"][0]["number"] == 5, by_how["create"])
            expect([(g["members"], g["number"], g["tag"])
                    for g in by_how["group"]] ==
                   [(str(me), 1, "5"), (str(me), 2, "5")], by_how["group"])
        else:
            expect("create" not in by_how and "group" not in by_how, by_how)
        expect(by_how["cart"][0]["topology"] == "cart" and
               by_how["cart"][0]["number"] == 6 and
               by_how["cart"][0]["sources"] ==
               ",".join(str(r) for r in (me - 1, me + 1) if 0 <= r < size),
               by_how["cart"])
        expect(by_how["graph"][0]["topology"] == "dist_graph" and
               by_how["graph"][0]["number"] == 7 and
               by_how["graph"][0]["sources"] == str((me - 1) % size),
               by_how["graph"])
        low, high = ("0", "1") if size == 2 else ("0-1", "2-3")
        near, far = (low, high) if me < size // 2 else (high, low)
        bridge = by_how["intercomm"][0]
        expect(half["members"] == near and half["number"] == 8, half)
        expect(bridge["members"] == near and bridge["remote"] == far and
               bridge["parent"] == half["id"] and bridge["tag"] == "6", bridge)
        expect(by_how["merge"][0]["parent"] == bridge["id"] and
               by_how["merge"][0]["members"] == everyone, by_how["merge"])
        expect("unknown" not in by_how, by_how)
        cast = [r for r in rank.calls if r["fn"] == "MPI_Bcast"][0]
        out, in_, root = ((4, 0, -3) if me == 0 else
                          (0, 0, -2) if me < size // 2 else (0, 4, 0))
        expect((cast["bytes_out"], cast["bytes_in"], cast["root"],
                cast["comm"]) == (out, in_, root, bridge["id"]), cast)
        ends = [r["comm"] for r in rank.calls if r["fn"] == "MPI_Barrier"][-2:]
        expect(ends == [2, 1], ends)
        expect(rank.lost() == 0, "lost")
    # every rank counts the collectives of the world alike
    last = {max(r["seq"] for r in rank.calls
                if r["kind"].endswith("collective") and r["comm"] == 1)
            for rank in ranks}
    expect(len(last) == 1, "seq differs", last)


def case_threads():
    for me, rank in enumerate(run([program("threads")])):
        slots = collections.Counter(r["slot"] for r in rank.calls
                                    if r["kind"] == "send")
        # A slot may serve a second thread once its first has ended.
        expect(sum(slots.values()) == 800 and
               all(n % 200 == 0 for n in slots.values()), slots)
        for comm in 3, 4, 5, 6:
            mine = [r for r in rank.calls if r.get("comm") == comm]
            kinds = collections.Counter(r["kind"] for r in mine)
            expect(kinds["send"] == kinds["recv"] == 200 and
                   kinds["collective"] == 20, comm, kinds)
            expect({r["tag"] for r in mine if r["kind"] == "send"} ==
                   {comm - 3}, "a tag of another thread")
            expect([r["seq"] for r in mine if r["kind"] == "collective"] ==
                   list(range(1, 21)), "numbers of collectives")
            received = [r for r in mine if r["kind"] == "complete" and
                        r["bytes"] == 4 and r["peer"] == 1 - me]
            expect(len(received) >= 200, comm, len(received))
        done = [r for r in rank.calls if r["kind"] == "complete"]
        expect(len(done) == 4 * 200 * 2, len(done))
        expect(rank.lost() == 0, "lost")


def ring_wanted(me, extra):
    other = 1 - me

    def with_flag(record):
        return record[0], record[1], record[2] | extra

    wanted = [call("Init"),
              msg("send", "Send", 1, 7, 40) if me == 0 else
              msg("recv", "Recv", 0, 7, 40),
              msg("recv", "Irecv", other, 8, 80, request="$a"),
              msg("send", "Isend", other, 8, 16, request="$b"),
              call("Waitall", arg=2, extra=2),
              msg("complete", "Waitall", other, 8, 16, request="$a"),
              ("complete", "MPI_Waitall", dict(request="$b")),
              msg("recv", "Irecv", other, 9, 80, request="$c"),
              msg("send", "Send", other, 9, 20),
              call("Waitany", arg=2, extra=1),
              msg("complete", "Waitany", other, 9, 20, request="$c"),
              coll("Allreduce", 1, 8, 8), coll("Allreduce", 2, 8, 8),
              coll("Comm_split", 3, 0, 0), call("Comm_set_name", object=3),
              coll("Bcast", 1, 12, 0, 0, comm=3),
              call("Comm_free", object=3), call("Finalize")]
    return [with_flag(w) for w in wanted]


def fortran(name, flags):
    for me, rank in enumerate(run([program(name)])):
        compare(rank, settled(rank), ring_wanted(me, flags), f"rank {me}")
        expect(rank.comms()[3]["name"] == "alone", rank.comms())


def case_ring():
    fortran("ring", {"flags": FORTRAN})


def case_ring_f90():
    fortran("ring_f90", {"flags": FORTRAN})


def case_ring_f08():
    fortran("ring_f08", {"flags": FORTRAN})


def case_rest():
    with tempfile.NamedTemporaryFile(prefix="ck-mpi-") as file:
        ranks = run([program("rest"), file.name])
    for me, rank in enumerate(ranks):
        puts = [r for r in rank.calls if r["fn"] == "MPI_Put"]
        expect([(r["bytes"], r["arg"]) for r in puts] == [(8, 1 - me)], puts)
        files = [number for number, comm in rank.comms().items()
                 if comm["how"] == "file"]
        written = [(r["kind"], r["comm"], r["seq"], r["bytes_out"])
                   for r in rank.calls if r["fn"] == "MPI_File_write_at_all"]
        expect(len(files) == 1 and
               written == [("collective", files[0], 1, 64)], written, files)
        read = [r for r in rank.calls if r["fn"] == "MPI_File_iread_at"][0]
        done = [r for r in rank.calls if r["kind"] == "complete" and
                r["fn"] == "MPI_Wait"]
        expect(read["bytes"] == 16 and len(done) == 1 and
               (done[0]["request"] == read["extra"] or not IS_OPENMPI),
               read, done)
        fences = [r for r in rank.calls if r["fn"] == "MPI_Win_fence"]
        expect(len(fences) == 3, fences)
        windows = {number: comm for number, comm in rank.comms().items()
                   if comm["how"] == "window"}
        expect([(c["members"], c["rank"], c["parent"], c["number"])
                for c in windows.values()] == [("0-1", str(me), 1, 1)],
               windows)
        number = list(windows)[0]
        # The first one, which ends no epoch, may return before others came.
        expect([r["kind"] for r in fences] ==
               ["mpi", "collective", "collective"] and
               [(r["comm"], r["seq"]) for r in fences[1:]] ==
               [(number, 1), (number, 2)], fences)
        ends = [r for r in rank.calls if r["fn"] in ("MPI_Win_create",
                                                     "MPI_Win_free")]
        expect([(r["kind"], r["comm"]) for r in ends] ==
               [("collective", 1), ("collective", number)], ends)
        many = [r for r in rank.calls if r["kind"] == "complete" and
                r["fn"] == "MPI_Waitall"]
        notes = [r["text"] for r in rank.texts("note")]
        expect(len(many) == 256 and any(
            n.startswith("344 MPI completions") for n in notes),
            len(many), notes)


def case_ends():
    ranks = run([program("ends"), "abort"], status=None)
    opens = ranks[1].texts("open-at-end")
    # hydra kills ringrun too, at times before it has written anything
    if IS_OPENMPI or opens:
        expect([ranks[1].names[o["name"]] for o in opens] == ["MPI_Abort"],
               opens)
    waiting = ranks[0].texts("open-at-end")
    expect([ranks[0].names[o["name"]] for o in waiting] in
           (["MPI_Recv"], []), waiting)
    ranks = run([program("ends"), "kill"], status=None)
    if IS_OPENMPI or ranks[1].calls:
        expect([r["fn"] for r in ranks[1].calls] ==
               ["MPI_Init", "MPI_Barrier"], ranks[1].calls)
    for rank in run([program("ends"), "early"], status=5):
        expect(not rank.calls, rank.calls)
    for rank in run([program("ends"), "unfinished"], status=None):
        expect([r["fn"] for r in rank.calls] ==
               ["MPI_Init", "MPI_Barrier", "MPI_Barrier"], rank.calls)
    for rank in run([program("ends"), "handler"]):
        # the call that never came back has no record, what follows has
        expect([r["fn"] for r in rank.calls] ==
               ["MPI_Init", "MPI_Barrier", "MPI_Barrier", "MPI_Bcast",
                "MPI_Finalize"], [r["fn"] for r in rank.calls])


def case_large():
    for me, rank in enumerate(run([program("large")])):
        wanted = [call("Init"),
                  msg("send", "Send_c", 1, 1, 40) if me == 0 else
                  msg("recv", "Recv_c", 0, 1, 40),
                  coll("Allgatherv_c", 1, 4 * (3 + 2 * me), 32),
                  call("Finalize")]
        compare(rank, settled(rank), wanted, f"rank {me}")


PYTHON = """
from mpi4py import MPI
w = MPI.COMM_WORLD
b = bytearray(24)
if w.rank == 0:
    w.Send([b, 24, MPI.BYTE], 1, 5)
else:
    w.Recv([b, MPI.BYTE], MPI.ANY_SOURCE, MPI.ANY_TAG)
assert w.allreduce(1) == 2
w.Barrier()
"""


def case_python():
    if subprocess.run(["/usr/bin/python3", "-c", "import mpi4py"],
                      stderr=subprocess.DEVNULL).returncode != 0:
        print("skipped: /usr/bin/python3 has no mpi4py")
        sys.exit(77)
    for me, rank in enumerate(run(["/usr/bin/python3", "-c", PYTHON])):
        fns = [r["fn"] for r in rank.calls]
        expect(fns[0] == "MPI_Init_thread" and fns[-1] == "MPI_Finalize", fns)
        # Newer ones call the functions of large counts.
        large = "_c" if any(fn in ("MPI_Send_c", "MPI_Recv_c")
                            for fn in fns) else ""
        if me == 0:
            compare(rank, [r for r in rank.calls if r["kind"] == "send"][:1],
                    [msg("send", "Send" + large, 1, 5, 24)], "rank 0")
        else:
            compare(rank, [r for r in rank.calls if r["kind"] == "recv"][:1],
                    [msg("recv", "Recv" + large, 0, 5, 24)], "rank 1")
        expect("MPI_Barrier" in fns, fns)


def passed_through(ranks):
    """Nothing was recorded, and a note has why."""
    for rank in ranks:
        expect(rank.calls == [] and rank.comms() == {}, rank.calls[:3])
        notes = [r["text"] for r in rank.texts("note")]
        expect(any("the standard interface (libmpi_abi) of the MPI library" in
                   note for note in notes), notes)


def standard(folder):
    """A program of the standard interface by this MPI, None where it has none."""
    place = "openmpi/include/standard_abi" if IS_OPENMPI else \
        "mpi_abi_mpich/include"
    headers = glob.glob(f"/usr/lib/*/{place}/mpi.h")
    libraries = glob.glob(f"/usr/lib/*/libmpi_abi_{MPI}.so.1*")
    if not headers or not libraries:
        return None
    # Both MPIs have a library of that name.
    os.symlink(libraries[0], os.path.join(folder, "libmpi_abi.so.1"))
    path = os.path.join(folder, "standard")
    subprocess.run(["gcc", "-O1", "-I", os.path.dirname(headers[0]),
                    os.path.join(os.path.dirname(__file__), "standard.c"),
                    "-o", path, libraries[0]], check=True)
    return path


def case_abi():
    """A library of the standard interface has handles that ck does not know:
    the program runs as it is. Here it is this MPI's own under that name, and
    the real one where this MPI has it."""
    needs = subprocess.run(["ldd", program("p2p")], check=True, text=True,
                           stdout=subprocess.PIPE).stdout
    library = next(line.split()[2] for line in needs.splitlines()
                   if line.split()[0].startswith(("libmpi.so", "libmpich.so")))
    with tempfile.TemporaryDirectory() as folder:
        copy = os.path.join(folder, "libmpi_abi.so.1")
        shutil.copy(library, copy)
        passed_through(run(["env", f"LD_PRELOAD={LIBRARY} {copy}",
                            program("p2p")]))
    with tempfile.TemporaryDirectory() as folder:
        path = standard(folder)
        if path is None:
            print("left out: this MPI has no libmpi_abi")
        else:
            passed_through(run(["env", f"LD_LIBRARY_PATH={folder}", path]))
            print("a program of libmpi_abi ran")


def case_plain():
    """Programs without MPI, and MPI without an agent, are left alone."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out")
        environment = os.environ | {"LD_PRELOAD": LIBRARY}
        done = subprocess.run([RINGRUN, out, "--", "env",
                               f"LD_PRELOAD={LIBRARY}", "sh", "-c",
                               "/bin/true && exit 3"])
        expect(done.returncode == 3, done)
        kinds = {json.loads(line)["kind"] for line in open(out)}
        expect(kinds <= {"ring"}, "a program without MPI recorded", kinds)
        environment.pop("CKAGENT_RING", None)
        done = subprocess.run(launcher(2) + [program("p2p")], env=environment,
                              timeout=100, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        expect(done.returncode == 0 and done.stdout == "", done)


if __name__ == "__main__":
    globals()["case_" + CASE]()
