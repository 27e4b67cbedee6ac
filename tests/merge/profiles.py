#!/usr/bin/env python3
"""profiles.py - ckmerge --kernel-only on profiles whose truth is computed here

SPDX-License-Identifier: Apache-2.0

profiles.py CKMERGE [kineto.py]: everything expected is worked out from the
profile itself by Python's json and plain loops, in integer nanoseconds.
"""
import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest

from kinetotruth import kineto_truth, union

CKMERGE = sys.argv[1]
KINETO = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                      "../data/kineto.py")
MS = 1000000
START = 1774592172000000000
SEED = int(os.environ.get("CK_SEED", "0")) or random.randrange(1, 1 << 31)


def merge(*args, env=None):
    """(status, stderr, report) of a merge to the last argument."""
    done = subprocess.run([CKMERGE, "--kernel-only", "--quiet", *args],
                          capture_output=True, text=True, timeout=120)
    result = None
    if done.returncode in (0, 3) and os.path.exists(args[-1]):
        with open(args[-1]) as file:
            result = json.load(file)
    return done.returncode, done.stderr, result


class Case(unittest.TestCase):
    def setUp(self):
        self.place = tempfile.TemporaryDirectory()
        self.dir = self.place.name
        self.out = self.path("out.json")

    def tearDown(self):
        self.place.cleanup()

    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, name, what):
        with open(self.path(name), "w") as file:
            file.write(what if isinstance(what, str) else json.dumps(what))
        return self.path(name)

    def kineto(self, name, *args):
        subprocess.run([sys.executable, KINETO, self.path(name), *args],
                       check=True)
        return self.path(name)

    def nkipy(self, name, calls, spans, wall=40 * MS):
        """spans: (type, id, start, stop) after START."""
        events = []
        for kind, number, start, stop in spans:
            for phase, time in (("start", start), ("stop", stop)):
                data = {"nc_timestamp_ns": time + 5} \
                    if kind == "nc_exec_running" else {}
                events.append({"event_type": kind, "phase": phase,
                               "tracking_id": number,
                               "timestamp_ns": START + time, "data": data})
        events.sort(key=lambda e: e["timestamp_ns"])
        profile = {"kernel_calls": [
            {"filename": file, "lineno": line, "kernel_name": kernel,
             "call_index": i} for i, (file, line, kernel) in enumerate(calls)],
            "events_json": json.dumps({"events": events})}
        if wall:
            profile.update(wall_start_ns=START, wall_stop_ns=START + wall)
        return self.write(name, profile)

    def device(self, report, rank=0):
        found = [d for d in report["ck"]["devices"] if d["ranks"] == [rank]]
        self.assertEqual(len(found), 1)
        device = found[0]
        self.assertEqual(sum(device["ledger"].values()), device["wall_ns"])
        self.assertEqual(device["busy_ns"] + device["idle_ns"],
                         device["wall_ns"])
        self.assertEqual(sum(k["busy_ns"] for k in report["ck"]["kernels"]),
                         report["ck"]["all_devices"]["kernel_busy_ns"])
        self.assertEqual(sum(k["busy_ns"] for k in report["ck"]["lines"]),
                         report["ck"]["all_devices"]["kernel_busy_ns"])
        return device

    def check_kineto(self, path, *more):
        status, said, report = merge(path, *more, self.out)
        self.assertEqual((status, said), (0, ""))
        truth = kineto_truth(path)
        device = self.device(report)
        for key in ("wall", "busy", "kernel_busy", "compute", "comm", "core",
                    "comm_overlap"):
            self.assertEqual(device[key + "_ns"], truth[key], key)
        self.assertEqual(device["kernels"], truth["kernels"])
        self.assertEqual(device["copies"], truth["copies"])
        self.assertEqual({k["name"]: k["calls"]
                          for k in report["ck"]["kernels"]}, truth["names"])
        self.assertEqual(report["ck"]["inputs"][0]["correlated_by_id"],
                         truth["by_id"])
        return report


class Uneven(Case):
    """Kernels that take one rank longer than the others."""

    def profile(self, rank, world, lengths):
        """200 calls of each kernel: {name: us}."""
        events, time = [], 1000
        for _ in range(200):
            for name, length in lengths.items():
                events.append({"ph": "X", "cat": "kernel", "name": name,
                               "pid": 0, "tid": 7, "ts": time, "dur": length,
                               "args": {"device": 0, "stream": 7}})
                time += length + 20
        return self.write("rank%d.json" % rank, {
            "traceEvents": events,
            "distributedInfo": {"rank": rank, "world_size": world}})

    def reported(self, *lengths):
        """The member of the report, and its text."""
        files = [self.profile(i, len(lengths), each)
                 for i, each in enumerate(lengths)]
        done = subprocess.run([CKMERGE, "--kernel-only", *files, self.out],
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.out) as file:
            return (json.load(file)["ck"].get("uneven_kernel"),
                    " ".join(done.stdout.split()))

    def test_the_rank_and_the_kernel_are_named(self):
        usual = {"matmul": 100, "relu": 10}
        row, text = self.reported(usual, {"matmul": 140, "relu": 10}, usual)
        self.assertEqual(row, {
            "name": "matmul", "rank": 1, "calls": 200, "mean_ns": 140000,
            "others_mean_ns": 100000, "excess_ns": 8 * MS,
            "rank_total_ns": 30 * MS, "ranks": 3})
        self.assertIn("matmul took rank 1 longest: 140 us a call, 100 us on "
                      "the other 2 ranks (median). That cost 8.00 ms of its "
                      "30.0 ms in kernels.", text)

    def test_equal_ranks_have_no_sentence(self):
        row, text = self.reported({"matmul": 100}, {"matmul": 104})
        self.assertIsNone(row)
        self.assertNotIn("longest:", text)

    def test_who_waits_in_a_collective_is_not_slow(self):
        name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
        row, text = self.reported({"matmul": 100, name: 10},
                                  {"matmul": 100, name: 90})
        self.assertIsNone(row)
        self.assertNotIn("longest:", text)


class Kineto(Case):
    def test_busy_overlap_and_counts_agree(self):
        for seed in range(4):
            self.check_kineto(self.kineto("a.json", "--events", "600",
                                          "--seed", str(SEED % 1000 + seed),
                                          "--threads", str(1 + seed)))

    def test_compressed_is_the_same(self):
        self.check_kineto(self.kineto("a.json.gz", "--events", "500"))

    def test_on_one_cpu_and_on_several_it_is_the_same(self):
        cpus = os.sched_getaffinity(0)
        if len(cpus) < 2:
            self.skipTest("one CPU only")
        path = self.kineto("rank0.json", "--events", "45000")
        self.assertGreater(os.path.getsize(path), 10 << 20)
        _, _, several = merge(path, self.out)
        try:
            os.sched_setaffinity(0, {min(cpus)})
            _, _, one = merge(path, self.out)
        finally:
            os.sched_setaffinity(0, cpus)
        self.assertEqual(several, one)

    def test_pairs_and_steps(self):
        status, _, report = merge(os.path.join(os.path.dirname(KINETO),
                                               "profiles/pairs.json"),
                                  self.out)
        self.assertEqual(status, 3)  # two events of it are wrong
        names = {k["name"]: k for k in report["ck"]["kernels"]}
        self.assertEqual(names["outer"]["total_ns"], 2500)
        self.assertEqual(names["inner"]["total_ns"], 1250)
        self.assertEqual(report["ck"]["steps"]["first"], 3)
        self.assertEqual(len(report["ck"]["trust"]["notes"]), 2)

    def test_devices_of_other_makers(self):
        for kernel, call in (("mtia_ccp_events", "mtia_runtime"),
                             ("kernel", "xpu_runtime"),
                             ("kernel", "privateuse1_driver")):
            events = [{"ph": "X", "cat": kind, "name": name, "pid": pid,
                       "tid": 7, "ts": start, "dur": 5,
                       "args": {"correlation": 3}}
                      for kind, name, pid, start in (
                          ("cpu_op", "aten::add", 99, 1),
                          (call, "launch", 99, 2), (kernel, "add", 2, 10),
                          ("cuda_sync", "Stream Wait", 2, 100))]
            path = self.write("a.json", {"traceEvents": events})
            status, _, report = merge(path, self.out)
            self.assertEqual(status, 0)
            device = self.device(report)
            self.assertEqual((device["name"], device["busy_ns"]),
                             ("GPU 2", 5000))
            read = report["ck"]["inputs"][0]
            self.assertEqual((read["operations"],
                              read["correlated_by_id"],
                              read["unused_events"]), (1, 1, 1))
            self.assertEqual([r["name"] for r in report["ck"]["ranges"]],
                             ["aten::add"])

    def causes_of(self, *spans):
        """By name, of spans (category, name, start, length, id) in us."""
        events = [{"ph": "X", "cat": kind, "name": name, "pid": 0, "tid": 1,
                   "ts": start, "dur": length,
                   "args": {"correlation": number, "device": 0, "stream": 7}}
                  for kind, name, start, length, number in spans]
        path = self.write("a.json", {"traceEvents": events})
        status, _, report = merge(path, self.out)
        self.assertEqual(status, 0)
        return {cause["cause"]: cause for cause in report["ck"]["causes"]}

    def test_a_call_that_startup_was_spent_in_is_named(self):
        cause = self.causes_of(
            ("user_annotation", "init", 5, 900, 0),
            ("cuda_runtime", "cudaFree", 10, 600, 1),
            ("cuda_runtime", "cudaLaunchKernel", 990, 5, 2),
            ("kernel", "k", 1005, 10, 2))["startup"]
        self.assertEqual((cause["ns"], cause["host_ns"]), (1000000, 600000))
        self.assertEqual((cause["host"]["call"], cause["host"]["range"]),
                         ("cudaFree", "init"))

    def test_a_call_of_less_than_half_of_startup_is_not(self):
        cause = self.causes_of(
            ("user_annotation", "init", 5, 900, 0),
            ("cuda_runtime", "cudaFree", 10, 400, 1),
            ("cuda_runtime", "cudaLaunchKernel", 990, 5, 2),
            ("kernel", "k", 1005, 10, 2))["startup"]
        self.assertEqual((cause["ns"], cause["host"]["call"]), (1000000, None))

    def test_a_call_that_waited_for_its_copy_is_that_copy(self):
        # The same function copies both ways, and once it does not wait.
        causes = self.causes_of(
            ("cuda_runtime", "cudaMemcpyAsync", 0, 100, 1),
            ("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 5, 20, 1),
            ("cuda_runtime", "cudaMemcpyAsync", 100, 60, 2),
            ("gpu_memcpy", "Memcpy HtoD (Pageable -> Device)", 105, 20, 2),
            ("cuda_runtime", "cudaMemcpyAsync", 160, 30, 3),
            ("gpu_memcpy", "Memcpy DtoH (Device -> Pinned)", 165, 26, 3),
            ("cuda_runtime", "cudaEventQuery", 192, 40, 4),
            ("cuda_runtime", "cudaLaunchKernel", 240, 5, 5),
            ("kernel", "k", 250, 10, 5))
        self.assertEqual(causes["d2h"]["ns"], (100 - 25) * 1000)
        self.assertEqual(causes["d2h"]["host"]["call"], "cudaMemcpyAsync")
        self.assertEqual(causes["h2d"]["ns"], (160 - 125) * 1000)
        self.assertEqual(causes["gpu_api"]["ns"], 40 * 1000)
        self.assertEqual(causes["gpu_api"]["host"]["call"], "cudaEventQuery")

    def test_an_example_names_the_device_of_a_rank_that_has_two(self):
        def event(cat, name, ts, dur, **args):
            return {"ph": "X", "cat": cat, "name": name, "pid": 0, "tid": 1,
                    "ts": ts, "dur": dur, "args": args}

        def kernel(device, start, length, number):
            return [event("cuda_runtime", "cudaLaunchKernel", start - 10, 4,
                          correlation=number),
                    event("kernel", "k", start, length, device=device,
                          stream=7, correlation=number)]
        # Device 0 works throughout, device 1 is idle from 200 on.
        path = self.write("a.json", {"traceEvents": [
            *kernel(0, 20, 980, 1), *kernel(1, 40, 160, 2),
            event("cuda_runtime", "cudaEventQuery", 190, 700, correlation=3),
            *kernel(1, 910, 90, 4)]})
        status, _, report = merge(path, self.out)
        self.assertEqual(status, 0)
        names = [device["name"] for device in report["ck"]["devices"]]
        cause = {c["cause"]: c for c in report["ck"]["causes"]}["gpu_api"]
        for piece in (cause["example"], cause["typical"]):
            self.assertEqual(names[piece["device"]], "GPU 1")
            self.assertEqual(piece["end_ns"] - piece["start_ns"], 690 * 1000)

    def test_two_processes_may_have_a_thread_of_one_number(self):
        def event(pid, cat, name, ts, dur, **args):
            return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": 5,
                    "ts": ts, "dur": dur, "args": args}
        path = self.write("rank0.json", {"traceEvents": [
            {"ph": "M", "name": "thread_name", "pid": 21, "tid": 5,
             "args": {"name": "loader"}},
            {"ph": "M", "name": "thread_name", "pid": 22, "tid": 5,
             "args": {"name": "trainer"}},
            event(21, "python_function", "loader.py(3): next", 30, 40),
            event(22, "python_function", "train.py(7): step", 0, 100),
            event(22, "cuda_runtime", "cudaLaunchKernel", 40, 5,
                  correlation=1),
            event(0, "kernel", "k", 50, 10, device=0, stream=7,
                  correlation=1)]})
        status, said, report = merge(path, self.out)
        self.assertEqual((status, said), (0, ""))
        self.assertEqual([line["file"] for line in report["ck"]["lines"]],
                         ["train.py"])
        trace = self.path("trace.json")
        merge("-o", "chrome=" + trace, path, self.path("again.json"))
        with open(trace) as file:
            events = json.load(file)["traceEvents"]
        names = {e["tid"]: e["args"]["name"] for e in events
                 if e.get("name") == "thread_name"}
        found = {e["name"]: names[e["tid"]] for e in events
                 if e.get("ph") == "X" and ".py(" in e["name"]}
        self.assertIn("loader", found["loader.py(3): next"])
        self.assertIn("trainer", found["train.py(7): step"])

    def test_names_of_idle_threads_take_no_room(self):
        events = [{"ph": "M", "name": "thread_name", "pid": 9, "tid": tid,
                   "args": {"name": "idle %d" % tid}} for tid in range(3000)]
        path = self.write("rank0.json", {"traceEvents": events + [
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel",
             "pid": 21, "tid": 5, "ts": 0, "dur": 5,
             "args": {"correlation": 1}},
            {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7,
             "ts": 50, "dur": 10,
             "args": {"device": 0, "stream": 7, "correlation": 1}}]})
        status, said, report = merge(path, self.out)
        self.assertEqual((status, said), (0, ""))
        self.assertEqual(report["ck"]["inputs"][0]["correlated_by_id"], 1)

    def test_a_kernel_that_did_not_begin_is_named(self):
        cause = self.causes_of(
            ("cuda_runtime", "cudaLaunchKernel", 0, 5, 1),
            ("cuda_runtime", "cudaLaunchKernel", 6, 5, 2),
            ("cuda_runtime", "cudaLaunchKernel", 12, 5, 3),
            ("kernel", "a", 20, 10, 1), ("kernel", "b", 70, 10, 2),
            ("kernel", "c", 81, 10, 3))["kernel_gap"]
        self.assertEqual((cause["ns"], cause["host_ns"]), (41000, 40000))
        self.assertEqual((cause["host"]["kernel"]["name"],
                          cause["host"]["kernel"]["queued"]), ("b", True))

    def test_the_rank_comes_from_the_content(self):
        first = self.kineto("rank7.json", "--rank", "1", "--world", "2")
        other = self.kineto("x.json.gz", "--rank", "0", "--world", "2",
                            "--seed", "9")
        status, said, report = merge(first, other, self.out)
        self.assertEqual((status, said), (0, ""))
        self.assertEqual([r["rank"] for r in report["ck"]["ranks"]], [0, 1])
        self.assertEqual({i["path"]: i["rank"]
                          for i in report["ck"]["inputs"]},
                         {first: 1, other: 0})
        for rank, path in ((1, first), (0, other)):
            self.assertEqual(self.device(report, rank)["busy_ns"],
                             kineto_truth(path)["busy"])

    def test_collectives_of_all_libraries_are_communication(self):
        names = ("ncclSymkDevKernel_AllReduce_AGxLLMC_R_sum_f32",
                 "ncclSymDevKernel_AllGather_STMC",
                 "void (anonymous namespace)::multimem_one_shot_all_reduce_"
                 "kernel<c10::BFloat16, 16>",
                 "_ZN3c1016symmetric_memory14barrier_kernelEPj",
                 "void one_shot_all_reduce_kernel<float, 4>",
                 "two_shot_all_reduce_kernel_inplace",
                 "void vllm::cross_device_reduce_1stage<half, 8>",
                 "_ZN4vllm26cross_device_reduce_2stageI6__halfLi8EEEvv",
                 "deep_ep::intranode::dispatch<8, 768>",
                 "void tensorrt_llm::kernels::oneShotAllReduceKernel<half>")
        others = ("gemm_multi_stage", "reduce_kernel<512, 1>",
                  "void at::native::CatArrayBatchedCopy")
        events = [{"ph": "X", "cat": "kernel", "name": name, "pid": 0,
                   "tid": 7, "ts": 1000 + 10 * at, "dur": 4,
                   "args": {"device": 0, "stream": 7}}
                  for at, name in enumerate(names + others)]
        events.append({"ph": "X", "cat": "gpu_memcpy", "pid": 0, "tid": 9,
                       "name": "Memcpy PtoP (Device -> Device)", "ts": 2000,
                       "dur": 30, "args": {"device": 0, "stream": 9}})
        path = self.write("k.json", {
            "distributedInfo": {"rank": 0, "world_size": 2},
            "traceEvents": events})
        status, _, report = merge(path, self.out)
        self.assertEqual(status, 3)  # the other rank
        device = self.device(report)
        self.assertEqual(device["comm_ns"], 4000 * len(names))
        self.assertEqual(device["compute_ns"], 4000 * len(others))
        self.assertEqual(device["copy_ns"], 30000)

    def test_a_missing_rank_is_reported(self):
        status, _, report = merge(self.kineto("a.json", "--world", "3"),
                                  self.out)
        self.assertEqual(status, 3)
        self.assertEqual([r["end"] for r in report["ck"]["ranks"]],
                         ["profile", "missing", "missing"])

    def test_thousands_of_names_and_threads(self):
        events = [{"ph": "X", "cat": "kernel", "name": "kernel %d" % (i % 5000),
                   "pid": 0, "tid": 7, "ts": 10 * i, "dur": 5,
                   "args": {"device": 0, "stream": 7, "correlation": i + 1}}
                  for i in range(10000)]
        calls = [{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel",
                  "pid": 1, "tid": i % 700, "ts": 10 * i - 3, "dur": 2,
                  "args": {"correlation": i + 1}} for i in range(1, 10000)]
        status, _, report = merge(
            self.write("a.json", {"traceEvents": events + calls}), self.out)
        self.assertEqual(status, 0)
        self.assertEqual(len(report["ck"]["kernels"]), 5000)
        self.assertEqual({k["calls"] for k in report["ck"]["kernels"]}, {2})
        self.assertEqual(report["ck"]["inputs"][0]["correlated_by_id"], 9999)
        self.assertEqual(self.device(report)["busy_ns"], 10000 * 5000)

    def test_members_in_any_order(self):
        path = self.kineto("a.json", "--events", "40")
        with open(path) as file:
            profile = json.load(file)
        _, _, first = merge(path, self.out)
        path = self.write("b.json", {k: profile[k] for k in
                                     sorted(profile, reverse=True)})
        os.remove(self.out)
        _, _, second = merge(path, self.out)
        for part in ("devices", "kernels", "lines", "causes", "calls"):
            self.assertEqual(first["ck"][part], second["ck"][part])


class Clocks(Case):
    def ranks(self, shifts, lacking=0):
        """A job of ranks that meet in kernels; each clock is off by shift."""
        rng = random.Random(SEED)
        ends, events = [1000000] * len(shifts), [[] for _ in shifts]
        for _ in range(200):
            begins = [end + rng.randrange(1000, 400000) for end in ends]
            done = max(begins) + rng.randrange(20000, 30000)
            ends = [done + rng.randrange(0, 2000) for _ in shifts]
            for rank, shift in enumerate(shifts):
                start, end = begins[rank] + shift, ends[rank] + shift
                events[rank].append(
                    {"ph": "X", "cat": "kernel", "pid": 0, "tid": 7,
                     "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                     "ts": "%d.%03d" % (start // 1000, start % 1000),
                     "dur": "%d.%03d" % ((end - start) // 1000,
                                         (end - start) % 1000),
                     "args": {"device": 0, "stream": 7,
                              "Process Group Name": "0",
                              "Process Group Ranks":
                                  str(list(range(len(shifts))))}})
        events[-1] = events[-1][lacking:]
        paths = []
        for rank, made in enumerate(events):
            text = json.dumps({
                "distributedInfo": {"rank": rank, "world_size": len(shifts)},
                "baseTimeNanoseconds": START, "traceEvents": made})
            for key in ("ts", "dur"):  # as numbers, with all their digits
                text = __import__("re").sub(
                    r'"%s": "([0-9.]+)"' % key, r'"%s": \1' % key, text)
            paths.append(self.write("r%d.json" % rank, text))
        return paths

    def test_collective_kernels_align_clocks(self):
        shifts = [0, 3 * MS, 40 * MS]
        status, said, report = merge(*self.ranks(shifts), self.out)
        self.assertEqual((status, said), (0, ""))
        clocks = report["ck"]["clocks"]
        self.assertEqual(len(clocks), 3)
        for clock, shift in zip(clocks, shifts):
            self.assertNotEqual(clock["method"], "none")
            # All that each rank's kernels show is within 35 us.
            self.assertLessEqual(abs(clock["offset_ns"] + shift), 35000)
            self.assertLessEqual(clock["bound_max_ns"], 100000)
            self.assertLessEqual(abs(clock["offset_ns"] + shift),
                                 clock["bound_max_ns"])

    def test_without_them_clocks_are_reported_as_unaligned(self):
        """As where a profile lacks half of them, and they are not numbered."""
        status, _, report = merge(*self.ranks([0, 3 * MS], 100), self.out)
        self.assertEqual(status, 0)
        self.assertEqual([c["method"] == "none" for c in report["ck"]["clocks"]],
                         [False, True])

    def test_a_profile_may_lack_some_kernels(self):
        status, _, report = merge(*self.ranks([0, 3 * MS, MS], 5), self.out)
        self.assertEqual(status, 0)
        self.assertEqual(report["ck"]["clock_dates"]["ordered_by_ends"], 195)
        self.assertGreater(
            report["ck"]["clock_dates"]["uneven_not_claimed"], 4)
        for clock, shift in zip(report["ck"]["clocks"], [0, 3 * MS, MS]):
            self.assertLessEqual(abs(clock["offset_ns"] + shift), 35000)

    def test_recordings_of_different_times_start_together(self):
        paths = self.ranks([0, 10**6 * MS], 1)
        status, _, report = merge(*paths, self.out)
        self.assertEqual(status, 0)
        self.assertLess(report["ck"]["region"]["ns"], 10**4 * MS)
        self.assertFalse(report["ck"]["dates"])


class Nkipy(Case):
    CALLS = [("/w/model.py", 42, "attn"), ("/w/model.py", 55, "ffn")]

    def test_two_calls_on_two_cores_one_after_the_other(self):
        path = self.nkipy("p.json", self.CALLS, [
            ("nrt_execute", 1, 4 * MS, 5 * MS),
            ("nrt_execute", 2, 14 * MS, 15 * MS),
            ("nc_exec_running", 3, 5 * MS, 15 * MS),
            ("nc_exec_running", 4, 5 * MS, 15 * MS),
            ("nc_exec_running", 5, 15 * MS, 25 * MS),
            ("nc_exec_running", 6, 15 * MS, 25 * MS)])
        status, _, report = merge(path, self.out)
        self.assertEqual(status, 0)
        self.assertEqual(self.device(report)["busy_ns"], 20 * MS)  # 50 %
        self.assertEqual(self.device(report)["core_ns"], 40 * MS)
        self.assertEqual([(k["name"], k["calls"], k["busy_ns"])
                          for k in report["ck"]["kernels"]],
                         [("attn", 1, 10 * MS), ("ffn", 1, 10 * MS)])
        lines = report["files"]["/w/model.py"]["lines"]
        self.assertEqual([(l["lineno"], l["nc_time_ms"], l["nc_percent"],
                           l["nc_execute_count"], l["nrt_time_ms"])
                          for l in lines],
                         [(42, 10, 50, 1, 1), (55, 10, 50, 1, 1)])

    def test_two_calls_on_two_cores_at_the_same_time(self):
        spans = [("nc_exec_running", i, 5 * MS, 15 * MS) for i in range(4)]
        status, _, report = merge(self.nkipy("p.json", self.CALLS, spans),
                                  self.out)
        self.assertEqual(status, 0)
        self.assertEqual(self.device(report)["busy_ns"], 10 * MS)  # 25 %
        self.assertEqual([k["calls"] for k in report["ck"]["kernels"]], [1, 1])
        self.assertEqual(report["neuron_total_nc_time_ms"], 10)

    def test_a_lost_execution_leaves_lines_without_time(self):
        path = self.nkipy("p.json", self.CALLS, [
            ("nc_exec_running", i, a * MS, (a + 2) * MS)
            for i, a in enumerate((1, 5, 9))])
        status, _, report = merge(path, self.out)
        self.assertEqual(status, 3)
        self.assertEqual(report["ck"]["inputs"][0]["uncorrelated"], 3)
        self.assertEqual({l["file"] for l in report["ck"]["lines"]}, {None})

    def test_what_does_not_fit_in_number_is_named(self):
        runs = [("nc_exec_running", i, (2 * i + 1) * MS, (2 * i + 2) * MS)
                for i in range(2)]
        submits = [("nrt_execute", 10 + i, 2 * i * MS, (2 * i + 1) * MS)
                   for i in range(2)]
        before = [("nc_exec_running", 9, 0, MS // 2)] + runs[:1]
        later = [(k, i, a + MS, b + MS) for k, i, a, b in submits]
        apart = [("nc_exec_running", i, (2 * i + 1) * MS, (2 * i + 2) * MS)
                 for i in range(4)]
        for spans, word in ((runs[:1] + submits[:1], "not as many submissions"),
                            (runs[:1] + submits, "executions do not fit"),
                            (before + later, "began: they are of other calls"),
                            (apart, "did not run at once")):
            if os.path.exists(self.out):
                os.remove(self.out)
            status, _, report = merge(self.nkipy("p.json", self.CALLS, spans),
                                      self.out)
            self.assertEqual(status, 3)
            self.assertIn(word, report["ck"]["trust"]["notes"][0]["text"])

    def lines(self, *spans):
        if os.path.exists(self.out):
            os.remove(self.out)
        status, _, report = merge(self.nkipy("p.json", self.CALLS, spans),
                                  self.out)
        return status, {(l["file"], l["line"], l["kernel"], l["busy_ns"])
                        for l in report["ck"]["lines"]}, report

    def test_lines_are_known_without_submissions(self):
        runs = [("nc_exec_running", i, (2 * i + 1) * MS, (3 * i + 2) * MS)
                for i in range(2)]
        wanted = {("/w/model.py", 42, "attn", 1 * MS),
                  ("/w/model.py", 55, "ffn", 2 * MS)}
        status, lines, report = self.lines(*runs)
        self.assertEqual((status, lines), (0, wanted))
        self.assertEqual([(l["lineno"], l["nc_time_ms"],
                           l["nc_execute_count"])
                          for l in report["files"]["/w/model.py"]["lines"]],
                         [(42, 1, 1), (55, 2, 1)])
        # Nothing is invented of the host.
        self.assertGreater(report["ck"]["devices"][0]["ledger"]
                           ["no_host_data"], 0)

    def test_a_lost_submission_takes_no_line_away(self):
        runs = [("nc_exec_running", 7 + i, (2 * i + 1) * MS, (3 * i + 2) * MS)
                for i in range(2)]
        wanted = {("/w/model.py", 42, "attn", 1 * MS),
                  ("/w/model.py", 55, "ffn", 2 * MS)}
        # Of the second call: with its id, and with another.
        for number in (8, 99):
            status, lines, report = self.lines(
                *runs, ("nrt_execute", number, 2 * MS, 3 * MS))
            self.assertEqual((status, lines), (0, wanted))
            self.assertEqual(report["ck"]["inputs"][0]["correlated_by_id"],
                             number == 8)

    def test_ids_that_are_equal_by_chance_are_no_evidence(self):
        # Each type counts for itself: the third execution has the id of the
        # first submission, or the first one that of the third.
        calls = [("/w/model.py", 10 + i, "k%d" % i) for i in range(3)]
        runs = [(10 * i + 5, 10 * i + 6 + i) for i in range(3)]
        wanted = {(10 + i, (i + 1) * MS) for i in range(3)}
        for first in (3, -2):
            for lost in (None, 1):
                spans = [("nc_exec_running", 11 + i, a * MS, b * MS)
                         for i, (a, b) in enumerate(runs)]
                spans += [("nrt_execute", 10 + first + i, 10 * i * MS,
                           (10 * i + 1) * MS) for i in range(3) if i != lost]
                status, _, report = merge("--force", self.nkipy(
                    "p.json", calls, spans), self.out)
                self.assertEqual(status, 0)
                self.assertEqual({(l["line"], l["busy_ns"])
                                  for l in report["ck"]["lines"]}, wanted)
                self.assertEqual(
                    report["ck"]["inputs"][0]["correlated_by_id"], 0)
                self.assertEqual(sum(l["nrt_time_ms"] for l in report["files"]
                                     ["/w/model.py"]["lines"]),
                                 3 if lost is None else 0)

    def test_seventy_four_calls_fit_as_many_executions(self):
        calls = [("/w/model.py", 40 + i % 2, "k%d" % (i % 2))
                 for i in range(74)]
        runs = [("nc_exec_running", 500 + i, (3 * i + 1) * MS,
                 (3 * i + 2 + i % 2) * MS) for i in range(74)]
        submits = [("nrt_execute", 100 + i, i * MS // 2, (i + 1) * MS // 2)
                   for i in range(74)]
        for spans in (runs, runs + submits, runs + submits[1:]):
            status, said, report = merge("--force", self.nkipy(
                "p.json", calls, spans, 300 * MS), self.out)
            self.assertEqual((status, said), (0, ""))
            self.assertEqual(report["ck"]["trust"]["notes"], [])
            self.assertEqual({(l["line"], l["calls"], l["busy_ns"])
                              for l in report["ck"]["lines"]},
                             {(40, 37, 37 * MS), (41, 37, 74 * MS)})

    def test_calls_that_do_not_fit_name_no_kernel(self):
        # Two calls, three submissions with the ids of three executions.
        status, lines, _ = self.lines(*[
            span for i in range(3) for span in (
                ("nrt_execute", i, 4 * i * MS, (4 * i + 1) * MS),
                ("nc_exec_running", i, (4 * i + 1) * MS, (4 * i + 2) * MS))])
        self.assertEqual(status, 3)
        self.assertEqual(lines, {(None, 0, "nc_exec_running", 3 * MS)})

    def test_calls_are_found_by_id_where_ids_agree(self):
        path = self.nkipy("p.json", self.CALLS, [
            ("nrt_execute", 8, 1 * MS, 2 * MS),
            ("nrt_execute", 9, 2 * MS, 3 * MS),
            ("nc_exec_running", 9, 4 * MS, 6 * MS),
            ("nc_exec_running", 8, 7 * MS, 12 * MS)])
        status, _, report = merge(path, self.out)
        self.assertEqual(status, 0)
        self.assertEqual(report["ck"]["inputs"][0]["correlated_by_id"], 2)
        self.assertEqual({(l["line"], l["busy_ns"])
                          for l in report["ck"]["lines"]},
                         {(42, 5 * MS), (55, 2 * MS)})

    def test_gaps_with_nested_and_contained_intervals_sum_to_idle(self):
        # Executions: one within another; a gap of 10 ms with nested calls.
        path = self.nkipy("p.json", [], [
            ("nc_exec_running", 1, 0, 10 * MS),
            ("nc_exec_running", 2, 1 * MS, 2 * MS),
            ("nc_exec_running", 3, 20 * MS, 30 * MS),
            ("nrt_execute", 4, 12 * MS, 20 * MS),
            ("nrt_model_submit", 5, 13 * MS, 19 * MS),
            ("kbl_exec_pre", 6, 14 * MS, 18 * MS),
            ("nrt_async_sema_wait", 7, 10 * MS, 12 * MS)], 30 * MS)
        status, _, report = merge(path, self.out)
        self.assertEqual(status, 0)
        device = self.device(report)
        self.assertEqual(device["idle_ns"], 10 * MS)
        self.assertEqual(device["nkipy"], {
            "d2h_transfer": 0, "h2d_transfer": 0, "memory_mgmt": 0,
            "exec_overhead": 8 * MS, "sync_wait": 2 * MS})

    def test_submission_and_classes_are_in_the_text(self):
        def spans(submit):
            return [("nrt_execute", 1, 1 * MS, (1 + submit) * MS),
                    ("nc_exec_running", 1, 11 * MS, 31 * MS),
                    ("nrt_async_sema_wait", 2, 32 * MS, 35 * MS),
                    ("nrt_execute", 3, 35 * MS, (35 + submit) * MS),
                    ("nc_exec_running", 3, 45 * MS, 55 * MS)]
        first = self.nkipy("kp_rank0.json", self.CALLS, spans(6), 56 * MS)
        other = self.nkipy("kp_rank1.json", self.CALLS, spans(2), 56 * MS)
        scalene = self.write("s.json", {"files": {}, "growth_rate": 0,
                                        "elapsed_time_sec": 1})
        done = subprocess.run([CKMERGE, "--kernel-only", first, other,
                               self.out], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("device 60.0 ms / submission 16.0 ms = 3.75, "
                      "asynchronous", done.stdout)
        self.assertRegex(done.stdout, r"sync waits 6\.00 ms \(")
        self.assertNotIn("scalene,", done.stdout)
        done = subprocess.run([CKMERGE, "--scalene", scalene, first, other,
                               self.out], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("a submission took 6.00 ms under scalene (rank 0) and "
                      "2.00 ms without (1 rank): 3.00 times as long",
                      done.stdout)
        # What was not recorded is not divided by, and a part is no whole.
        other = self.nkipy("kp_rank1.json", self.CALLS, spans(2)[1:], 56 * MS)
        third = self.nkipy("kp_rank2.json", self.CALLS, spans(2)[1::3], 56 * MS)
        done = subprocess.run([CKMERGE, "--kernel-only", "--from", "40ms",
                               first, other, third, self.out],
                              capture_output=True, text=True)
        self.assertIn("device 60.0 ms / submission 14.0 ms = 4.29 in the whole "
                      "run, asynchronous", done.stdout)
        self.assertIn("of 2 of 3 ranks", done.stdout)
        self.assertIn("3 submissions and 4 executions were", done.stdout)

    def test_random_gaps_sum_to_idle(self):
        rng = random.Random(SEED)
        kinds = ["nrt_tensor_read", "nrt_tensor_write", "nrt_tensor_allocate",
                 "nrt_execute", "nrt_model_submit", "kbl_exec_pre",
                 "nrt_async_sema_wait", "nc_exec_running", "nc_exec_running"]
        for _ in range(12):
            spans = []
            for number in range(rng.randrange(1, 60)):
                start = rng.randrange(0, 1000)
                spans.append((rng.choice(kinds), number, start,
                              min(1000, start + rng.randrange(0, 200))))
            path = self.nkipy("p.json", [], spans, 1000)
            if os.path.exists(self.out):
                os.remove(self.out)
            status, said, report = merge(path, self.out)
            self.assertEqual((status, said), (0, ""), "seed %d" % SEED)
            work = [s[2:] for s in spans if s[0] == "nc_exec_running"]
            if not any(a < b for a, b in work):
                continue
            device = self.device(report)
            self.assertEqual(device["busy_ns"], union(work)[0],
                             "seed %d" % SEED)
            self.assertLessEqual(sum(device["nkipy"].values()),
                                 device["idle_ns"])

    def test_an_old_file_without_wall_times(self):
        path = self.nkipy("p.json", self.CALLS[:1],
                          [("nc_exec_running", 1, 5, 9)], None)
        status, _, report = merge(path, self.out)
        self.assertEqual(status, 0)
        self.assertEqual(self.device(report)["wall_ns"], 4)

    def test_percentages_are_of_the_total_of_all_ranks(self):
        first = self.nkipy("kp_rank3.json", self.CALLS[:1],
                           [("nrt_execute", 2, 0, 1),
                            ("nc_exec_running", 1, 1, 20 * MS + 1)])
        other = self.nkipy("kp_rank5.json", self.CALLS[1:],
                           [("nrt_execute", 2, 0, 1),
                            ("nc_exec_running", 1, 1, 30 * MS + 1)])
        status, _, report = merge(first, other, self.out)
        self.assertEqual(status, 0)
        self.assertEqual([r["rank"] for r in report["ck"]["ranks"]], [3, 5])
        lines = report["files"]["/w/model.py"]["lines"]
        self.assertEqual([(l["lineno"], l["nc_percent"]) for l in lines],
                         [(42, 40), (55, 60)])
        self.assertEqual(report["neuron_total_nc_time_ms"], 50)
        self.assertAlmostEqual(report["elapsed_time_sec"], 0.08)


class Scalene(Case):
    def profile(self):
        # Samples at 1, 6 and 12 ms after START, on a clock that shows 50 s.
        return {
            "elapsed_time_sec": 0.04, "start_time_absolute": START / 1e9,
            "start_time_perf": 50.0, "entrypoint_dir": "/w", "gpu": False,
            "gpu_device": "", "max_footprint_mb": 1.5, "growth_rate": 0.0,
            "memory": False, "samples": [], "neuron_event_count": 99,
            "files": {
                "/w/model.py": {
                    "percent_cpu_time": 61.0, "imports": ["import \u00e9"],
                    "functions": [{"line": "f", "lineno": 1}],
                    "lines": [
                        {"lineno": 10, "line": "x = '\\u0026\\\"'",
                         "cpu_samples_list": [], "n_cpu_percent_c": 1e-7},
                        {"lineno": 42, "line": "y", "nc_time_ms": 77,
                         "cpu_samples_list": [50.001, 50.006, 50.012]},
                        {"lineno": 90, "line": "z", "cpu_samples_list":
                         [50.006]}]},
                "/v/model.py": {
                    "percent_cpu_time": 1.0, "imports": [], "functions": [],
                    "lines": [{"lineno": 42, "line": "other",
                               "cpu_samples_list": []}]}}}

    def inputs(self):
        return self.nkipy("kernel_profile.json", Nkipy.CALLS, [
            ("nrt_execute", 1, 4 * MS, 5 * MS),
            ("nrt_execute", 2, 19 * MS, 20 * MS),
            ("nc_exec_running", 3, 5 * MS, 10 * MS),
            ("nc_exec_running", 4, 20 * MS, 35 * MS)])

    def check(self, scalene):
        before = self.profile()
        status, said, after = merge("--scalene", scalene, self.inputs(),
                                    self.out)
        self.assertEqual((status, said), (0, ""))
        for key in set(before) - {"files", "neuron_event_count"}:
            self.assertEqual(after[key], before[key], key)
        lines = after["files"]["/w/model.py"]["lines"]
        self.assertEqual([l["lineno"] for l in lines], [10, 42, 55, 90])
        line = lines[1]
        self.assertEqual((line["nc_time_ms"], line["nc_percent"],
                          line["nc_execute_count"], line["nrt_time_ms"]),
                         (5, 25, 1, 1))
        self.assertAlmostEqual(line["cpu_samples_nc_overlap_percent"],
                               100 / 3)
        self.assertEqual(lines[3]["cpu_samples_nc_overlap_percent"], 100)
        self.assertNotIn("cpu_samples_nc_overlap_percent", lines[0])
        self.assertNotIn("nc_time_ms", lines[0])
        self.assertEqual(lines[0], before["files"]["/w/model.py"]["lines"][0])
        self.assertEqual(lines[2]["nc_percent"], 75)
        # Never by the last part of the path alone.
        self.assertEqual(after["files"]["/v/model.py"],
                         before["files"]["/v/model.py"])
        self.assertEqual([f["line"] for f in
                          after["files"]["/w/model.py"]["functions"]],
                         ["f", "ffn", "attn"])
        self.assertEqual(after["neuron_total_nc_time_ms"], 20)
        self.assertEqual(after["neuron_event_count"], 2)
        self.assertEqual(after["ck"]["scalene"]["samples_in_kernels"], 2)

    def test_lines_are_joined(self):
        self.check(self.write("scalene.json", self.profile()))

    def test_three_files_are_merged_as_nkipys_command_does(self):
        scalene = self.write("scalene.json", self.profile())
        inputs = self.inputs()
        said = [subprocess.run([CKMERGE, *args, "--quiet", self.out],
                               capture_output=True, text=True, timeout=120)
                for args in ([scalene, inputs], ["--scalene", scalene, inputs])]
        self.assertEqual([(d.returncode, d.stderr) for d in said],
                         [(0, "")] * 2)
        with open(self.out) as file:
            second = json.load(file)
        os.remove(self.out)
        subprocess.run([CKMERGE, "-q", scalene, inputs, self.out], check=True)
        with open(self.out) as file:
            self.assertEqual(json.load(file), second)
        # Not three files with scalene's as the first: as always.
        for args in ([inputs, scalene, self.out], [scalene, inputs],
                     [scalene, inputs, inputs, self.out]):
            done = subprocess.run([CKMERGE, *args], capture_output=True,
                                  text=True, timeout=120)
            self.assertEqual(done.returncode, 2, args)

    def test_html_is_read_too(self):
        page = ("<html><script>const x = 1; const profilex = 2;\n"
                "const profile = %s;\n function f() {}</script></html>")
        self.check(self.write("scalene.html",
                              page % json.dumps(self.profile())))

    def test_joined_again_it_is_the_same(self):
        self.check(self.write("scalene.json", self.profile()))
        with open(self.out) as file:
            first = json.load(file)
        again = self.path("again.json")
        os.rename(self.out, again)
        status, _, second = merge("--scalene", again, self.inputs(), self.out)
        self.assertEqual(status, 0)
        self.assertEqual(first["files"]["/w/model.py"]["lines"],
                         second["files"]["/w/model.py"]["lines"])

    def test_what_is_no_scalene_profile_is_refused(self):
        for text in ("{}", "[1]", '{"files": {', "<html></html>"):
            status, said, _ = merge("--scalene", self.write("s.json", text),
                                    self.inputs(), self.out)
            self.assertEqual(status, 1)
            self.assertEqual(said.count("\n"), 1, said)


class Mixed(Case):
    def test_kinds_are_mixed(self):
        path = self.nkipy("rank1.json", Nkipy.CALLS[:1],
                          [("nc_exec_running", 1, 0, 20 * MS)])
        status, _, report = merge(self.kineto("a.json"), path, self.out)
        self.assertEqual(status, 0)
        self.assertEqual([i["kind"] for i in report["ck"]["inputs"]],
                         ["chrome", "nkipy"])
        self.assertEqual(self.device(report, 1)["busy_ns"], 20 * MS)


class Outputs(Case):
    """No output replaces an input, or a file that is not of ckmerge."""

    def held(self, path, *args, words=()):
        """The merge is refused in one line and leaves the file as it is."""
        with open(path, "rb") as file:
            before = file.read()
        names = sorted(os.listdir(self.dir))
        status, said, _ = merge(*args)
        self.assertEqual(status, 1)
        self.assertEqual(said.count("\n"), 1, said)
        for word in words:
            self.assertIn(word, said)
        with open(path, "rb") as file:
            self.assertEqual(file.read(), before)
        self.assertEqual(sorted(os.listdir(self.dir)), names)

    def names_of(self, path):
        """The file by other names: a path, both kinds of link."""
        soft, hard = self.path("soft.json"), self.path("hard.json")
        os.symlink(path, soft)
        os.link(path, hard)
        return [path, os.path.join(self.dir, ".", os.path.basename(path)),
                soft, hard]

    def test_an_input_is_kept_whatever_its_name(self):
        profile = self.kineto("k.json", "--events", "20")
        scalene = self.write("s.json", Scalene.profile(self))
        other = self.kineto("rank1.json", "--events", "20")
        for name in self.names_of(scalene):
            for more in ([], ["--force"]):
                self.held(scalene, *more, "--scalene", scalene, profile, name,
                          words=["input"])
        for name in (other, os.path.join(self.dir, ".", "rank1.json")):
            self.held(other, "--force", profile, other, name, words=["input"])
            for kind in ("json", "text", "chrome"):
                self.held(other, "--output", "%s=%s" % (kind, name), profile,
                          other, self.out, words=["input"])

    def test_an_output_of_a_merge_is_kept_as_an_input(self):
        profile = self.kineto("k.json", "--events", "20")
        scalene = self.write("s.json", Scalene.profile(self))
        self.assertEqual(merge("--scalene", scalene, profile, self.out)[0], 0)
        self.held(self.out, "--scalene", self.out, profile, self.out,
                  words=["input"])

    def test_only_what_a_merge_wrote_is_replaced(self):
        profile = self.kineto("k.json", "--events", "20")
        for text in (Scalene.profile(self), {"a": {"ck": 1}}, [1], "hello",
                     "[{"):
            other = self.write("s.json", text)
            self.held(other, profile, other, words=["--force", other])
        self.assertEqual(merge("--force", profile, other)[0], 0)
        self.assertEqual(merge(profile, other)[0], 0)
        empty = self.write("empty.json", "")
        self.assertEqual(merge(profile, empty)[0], 0)

    def test_a_recording_is_kept(self):
        profile = self.kineto("k.json", "--events", "20")
        self.write("seg.ck", "CKF1" + "x" * 60)
        self.held(self.path("seg.ck"), "--force", profile, self.path("seg.ck"),
                  words=["recording"])

    def test_a_link_to_an_output_stays_a_link(self):
        profile = self.kineto("k.json", "--events", "20")
        os.mkdir(self.path("there"))
        os.symlink("there/real.json", self.path("link.json"))
        for _ in range(2):  # to nothing, then to what the first one wrote
            self.assertEqual(merge(profile, self.path("link.json"))[0], 0)
            self.assertTrue(os.path.islink(self.path("link.json")))
            self.assertEqual(os.listdir(self.path("there")), ["real.json"])
            os.chmod(self.path("there/real.json"), 0o640)
        self.assertEqual(os.stat(self.path("there/real.json")).st_mode & 0o777,
                         0o640)


class Pipes(Case):
    def test_stdin_and_stdout_are_a_profile(self):
        plain = self.kineto("rank0.json", "--events", "50", "--world", "8")
        packed = self.kineto("rank1.json.gz", "--events", "50", "--world", "8")
        for path in (plain, packed):
            for more in ([], [self.nkipy("rank5.json", [], [
                    ("nc_exec_running", 1, 0, 2)])]):
                rank = ["--rank", path + "=3"]
                status, _, wanted = merge(*rank, path, *more, self.out)
                self.assertEqual(status, 3)  # ranks are missing
                with open(path) as file:
                    done = subprocess.run(
                        [CKMERGE, "--kernel-only", "--rank", "-=3", "-", *more,
                         "-"], stdin=file, capture_output=True, timeout=120)
                self.assertEqual((done.returncode, done.stderr), (3, b""))
                given = json.loads(done.stdout)  # the report is not in it
                self.assertEqual(given["ck"]["inputs"][0]["path"], "stdin")
                for part in ("devices", "kernels", "causes", "calls"):
                    self.assertEqual(given["ck"][part], wanted["ck"][part])

    def test_what_is_wrong_with_them_is_reported(self):
        done = subprocess.run([CKMERGE, "--kernel-only", "-", self.out],
                              input="hello", capture_output=True, text=True,
                              timeout=120)
        self.assertEqual(done.returncode, 1)
        self.assertIn("stdin: no profile", done.stderr)
        self.assertEqual(merge("-", "-", self.out)[0], 2)
        path = self.kineto("a.json", "--events", "20")
        with open(path) as file:
            done = subprocess.run([CKMERGE, "--kernel-only", "--force", "-",
                                   path], stdin=file, capture_output=True,
                                  text=True, timeout=120)
        self.assertEqual(done.returncode, 1)
        self.assertIn("input", done.stderr)


    def test_a_named_pipe_is_read_once_and_is_a_profile(self):
        plain, pipes = [], []
        for rank in range(2):
            plain.append(self.kineto("rank%d.json" % rank, "--rank", str(rank),
                                     "--world", "2"))
            pipes.append(self.path("rank%d.pipe" % rank))
            os.mkfifo(pipes[-1])
        status, said, wanted = merge(*plain, self.out)
        self.assertEqual((status, said), (0, ""))
        with open(plain[1], "rb") as file, \
                gzip.open(self.path("1.gz"), "wb") as packed:
            packed.write(file.read())
        for name, pipe in zip((plain[0], self.path("1.gz")), pipes):
            writer = subprocess.Popen(["dd", "if=" + name, "of=" + pipe],
                                      stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL)
            self.addCleanup(writer.wait)
            self.addCleanup(writer.kill)  # before that: cleanups go backwards
        status, said, report = merge(*pipes, self.path("piped.json"))
        self.assertEqual((status, said), (0, ""))
        self.assertEqual([i["path"] for i in report["ck"]["inputs"]], pipes)
        self.assertEqual(report["ck"]["devices"], wanted["ck"]["devices"])


class Strange(Case):
    """Profiles of other tracers, whose device work has names of their own."""

    def text(self, *profiles):
        names = [self.write("rank%d.json" % i, p)
                 for i, p in enumerate(profiles)]
        done = subprocess.run([CKMERGE, "--kernel-only", *names, self.out],
                              capture_output=True, text=True, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return " ".join(done.stdout.split("TRUST")[0].split())

    def work(self, category):
        event = {"ph": "X", "pid": 1, "tid": 13, "name": "fusion", "dur": 5000,
                 "args": {"correlation_id": "5"}}
        if category:
            event["cat"] = category
        return {"traceEvents": [dict(event, ts=1000 + 10000 * i)
                                for i in range(20)]}

    def test_work_of_a_category_that_is_not_known_is_no_idle_device(self):
        for category in (None, "cuda"):
            text = self.text(self.work(category), self.work(category))
            self.assertNotIn("No device work was recorded", text)
            self.assertIn("have no device work that ck knows", text)
            self.assertIn("what devices did is unknown", text)

    def test_launches_with_one_number_are_not_reported_without_work(self):
        events = []
        for i in range(40):
            for k in range(2):
                at = 1000 + 200 * i + 100 * k
                args = {"device": k, "stream": 7, "correlation": i + 1}
                events += [
                    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel",
                     "pid": 7 + k, "tid": 8 + k, "ts": at, "dur": 5, "args": args},
                    {"ph": "X", "cat": "kernel", "name": "k", "pid": k, "tid": 7,
                     "ts": at + 8, "dur": 60, "args": args}]
        path = self.write("two.json", {"traceEvents": events})
        done = subprocess.run([CKMERGE, "--kernel-only", path, self.out],
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 3)
        text = " ".join(done.stdout.split())
        self.assertIn("a call with the correlation of another one", text)
        self.assertNotIn("no record of the work", text)
        self.assertNotIn("without a record of their work", text)
        self.assertNotIn("lost_data", text)

    def test_work_that_seems_to_precede_its_launch_was_recorded(self):
        events = []
        for i in range(20):
            args = {"device": 0, "stream": 7, "correlation": 100 + i}
            events += [{"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0,
                        "tid": 7, "ts": 1000 + 10000 * i, "dur": 5000,
                        "args": args},
                       {"ph": "X", "cat": "cuda_runtime", "pid": 9, "tid": 9,
                        "name": "cudaLaunchKernel", "dur": 10,
                        "ts": 2000000 + 10000 * i, "args": args}]
        text = self.text({"traceEvents": events}, {"traceEvents": events})
        self.assertNotIn("no record of the work", text)
        self.assertNotIn("unknown whether they were busy", text)
        self.assertIn("and of 1 more contradict the launches of its work by up "
                      "to 2.00 s", text)
        for event in events:
            event["ts"] += 3000000 if event["cat"] == "kernel" else 0
        text = self.text({"traceEvents": events}, {"traceEvents": events})
        self.assertNotIn("contradict", text)

    def test_a_rank_whose_profile_has_no_device_work_is_named(self):
        text = self.text(self.work("kernel"), {"traceEvents": []},
                         self.work("kernel"), self.work("cuda"))
        self.assertIn("Devices were busy", text)
        self.assertIn("The profiles of ranks 1 and 3 have no device work",
                      text)
        text = self.text(self.work("kernel"), self.work("kernel"),
                         self.work("kernel"), self.work("kernel"))
        self.assertNotIn("no device work", text)


class Bad(Case):
    def refused(self, words, *args):
        status, said, _ = merge(*args)
        self.assertNotEqual(status, 0)
        self.assertEqual(said.count("\n"), 1, said)
        for word in words:
            self.assertIn(word, said)
        return status

    def test_no_rank_is_an_error_with_what_to_pass(self):
        first = self.nkipy("a.json", [], [("nc_exec_running", 1, 0, 2)])
        other = self.nkipy("b.json", [], [("nc_exec_running", 1, 0, 2)])
        self.refused(["--rank %s=N" % first], first, other, self.out)
        status, _, report = merge("--rank", first + "=4", "--rank",
                                  other + "=2", first, other, self.out)
        self.assertEqual(status, 0)
        self.assertEqual([r["rank"] for r in report["ck"]["ranks"]], [2, 4])

    def test_a_single_file_without_rank_is_rank_0_with_a_line(self):
        path = self.nkipy("a.json", [], [("nc_exec_running", 1, 0, 2)])
        _, _, report = merge(path, self.out)
        self.assertTrue(report["ck"]["inputs"][0]["rank_assumed"])

    def test_a_rank_twice(self):
        first = self.kineto("a.json", "--rank", "2", "--world", "3")
        other = self.kineto("b.json", "--rank", "2", "--world", "3")
        self.refused(["rank 2", first, other, "--rank"], first, other, self.out)

    def test_different_jobs(self):
        self.refused(["different jobs"],
                     self.kineto("a.json", "--rank", "0", "--world", "2"),
                     self.kineto("b.json", "--rank", "1", "--world", "4"),
                     self.out)

    def test_help_and_refusal_name_the_same_formats(self):
        status, said, _ = merge(self.write("a.json", "hello"), self.out)
        self.assertEqual(status, 1)
        formats = said[said.index("knows (") + 7:said.index(", also .gz")]
        self.assertIn("nkipy", formats)
        done = subprocess.run([CKMERGE, "--help"], check=True, timeout=60,
                              capture_output=True, text=True)
        self.assertIn("Merge device profiles: %s, runs" % formats,
                      " ".join(done.stdout.split()))

    def test_what_is_no_profile(self):
        self.refused(["no profile"], self.write("a.json", "[1, 2]"), self.out)
        self.refused(["no profile"], self.write("a.json", "hello"), self.out)
        self.refused(["no profile"], self.write("a.json", ""), self.out)
        self.refused(["cannot read"], self.path("none.json"), self.out)
        self.refused(["scalene"], self.write("a.json", {"files": {}}),
                     self.out)

    def test_the_output_is_no_profile(self):
        path = self.kineto("a.json")
        with open(path) as file:
            before = file.read()
        self.refused(["the last argument is the output"],
                     self.kineto("b.json"), path)
        with open(path) as file:
            self.assertEqual(file.read(), before)

    def test_a_cut_file_is_merged_as_far_as_it_goes(self):
        path = self.kineto("a.json", "--events", "200")
        with open(path) as file:
            text = file.read()
        cut = text[:len(text) // 2]
        status, said, report = merge(self.write("b.json", cut), self.out)
        self.assertEqual(status, 3)
        note = report["ck"]["trust"]["notes"][0]["text"]
        self.assertIn("cut off", note)
        said = subprocess.run([CKMERGE, "--kernel-only", self.path("b.json"),
                               self.path("c.json")], text=True,
                              capture_output=True, timeout=120).stdout
        head = " ".join(said[:said.index("Devices were busy")].split())
        self.assertIn("not all was read: ", head)
        self.assertIn("b.json: the JSON is wrong or cut off here", head)
        self.assertIn("rank 0: its last records are missing: what it did",
                      head)
        self.assertIn("0 of 1 rank recorded to the end", said)
        self.assertIn("byte", note)
        self.assertGreater(self.device(report)["kernels"], 10)

    @staticmethod
    def event(category, start, dur, **args):
        return {"ph": "X", "cat": category, "name": "cudaLaunchKernel"
                if category == "cuda_runtime" else "gemm", "pid": 0, "tid": 7,
                "ts": start, "dur": dur, "args": args}

    def test_work_whose_launch_is_not_known_is_not_missing(self):
        calls = [self.event("cuda_runtime", 90 + 20 * i, 5, correlation=i + 1)
                 for i in range(3)]
        kernels = [self.event("kernel", 100 + 20 * i, 10, device=0, stream=7)
                   for i in range(3)]
        for count, lost in ((3, 0), (1, 2)):
            path = self.write("a.json", {"traceEvents":
                                         calls + kernels[:count]})
            said = subprocess.run(
                [CKMERGE, "--kernel-only", "--force", path, self.out],
                text=True, capture_output=True, timeout=120).stdout
            self.assertEqual("(%d of 3) no record of the work" % lost in said,
                             lost > 0, said)
            with open(self.out) as file:
                launches = json.load(file)["ck"]["trust"]["cuda_launches"]
            self.assertEqual(launches["unrecorded"], lost)

    def test_dates_that_cannot_be_are_not_used(self):
        events = [self.event("kernel", 100, 10, device=0, stream=7)]
        for date in (-5, 2**62, 2**63 - 1, 2**63, 2**70, "soon", 1.5, []):
            paths = [self.write("rank%d.json" % rank, {
                "baseTimeNanoseconds": date, "traceEvents": events})
                     for rank in range(2)]
            status, _, report = merge(*paths, self.out)
            self.assertEqual(status, 3, date)
            self.assertIn("baseTimeNanoseconds is no date, not used",
                          report["ck"]["trust"]["notes"][0]["text"])
            self.assertFalse(report["ck"]["dates"])
            self.assertEqual(self.device(report)["busy_ns"], 10000)
        for date in (None, 0):
            path = self.write("a.json", {"baseTimeNanoseconds": date,
                                         "traceEvents": events})
            self.assertEqual(merge(path, self.out)[0], 0)

    def test_an_array_may_end_without_its_bracket(self):
        """What is missing of it then is not known: it is not called cut."""
        path = self.kineto("a.json", "--events", "200")
        with open(path) as file:
            events = json.load(file)["traceEvents"]
        whole = json.dumps(events)
        _, _, wanted = merge(self.write("rank0.json", whole), self.out)
        for text in (whole[:-1], whole[:-1] + ",", whole[:-1] + " ,\n"):
            path = self.write("rank0.json", text)
            status, _, report = merge(path, self.out)
            self.assertEqual(status, 0, text[-20:])
            said = subprocess.run(
                [CKMERGE, "--kernel-only", path, self.path("b.json")],
                text=True, capture_output=True, timeout=120).stdout
            said = " ".join(said.split())
            self.assertIn("rank 0: its trace has no closing ], which is "
                          "allowed, but its last records may be missing: what "
                          "it did after", said)
            self.assertIn("0 of 1 rank recorded to the end, and perhaps 1 "
                          "more", said)
            self.assertEqual(report["ck"]["ranks"][0]["dark"], "open")
            self.assertEqual(self.device(report)["ledger"],
                             self.device(wanted)["ledger"])
        for text in (whole[:-2], whole[:-1] + ", {", whole[:-1] + "]]",
                     '{"traceEvents": ' + whole[:-1]):
            path = self.write("rank0.json", text)
            status, _, report = merge(path, self.out)
            self.assertEqual(status, 3, text[-20:])
            self.assertIn("cut off",
                          report["ck"]["trust"]["notes"][0]["text"])
            self.assertNotEqual(report["ck"]["ranks"][0]["dark"], "open")

    def test_wherever_a_profile_is_cut_it_is_reported(self):
        """At every CK_CUTS-th byte (default 41), from a random one on."""
        step = int(os.environ.get("CK_CUTS", "41"))
        scalene = self.write("s.json", Scalene.profile(self))
        with open(scalene) as file:
            self.write("s.html", "<html>const profile = %s;</html>" %
                       file.read())
        nkipy = self.nkipy("n.json", Nkipy.CALLS, [
            ("nrt_execute", 1, 1, 2), ("nc_exec_running", 1, 3, 5),
            ("nrt_execute", 2, 6, 7), ("nc_exec_running", 2, 8, 9)])
        for path, option in ((self.kineto("c.json", "--events", "2"), []),
                             (self.kineto("c.json.gz", "--events", "2"), []),
                             (nkipy, []), (scalene, ["--scalene"]),
                             (self.path("s.html"), ["--scalene"])):
            with open(path, "rb") as file:
                whole = file.read()
            for length in range(SEED % step, len(whole), step):
                with open(self.path("cut"), "wb") as file:
                    file.write(whole[:length])
                done = subprocess.run(
                    [CKMERGE, "--kernel-only", "--force", *option,
                     self.path("cut"), *([nkipy] if option else []), self.out],
                    capture_output=True, text=True, timeout=120)
                what = (path, length, done.stdout, done.stderr)
                # A scalene profile is whole or refused.
                self.assertIn(done.returncode, (0, 1) if option else (0, 1, 3),
                              what)
                self.assertNotIn("223372037", done.stdout, what)
                if done.returncode == 1:
                    self.assertEqual(done.stderr.count("\n"), 1, what)
                    self.assertIn(self.path("cut"), done.stderr, what)
                elif done.returncode == 3:
                    self.assertRegex(done.stdout, "cut off|not all was read",
                                     what)
                    with open(self.out) as file:
                        json.load(file)
                else:  # nothing but what follows it is missing
                    self.assertIn(whole[length:].strip(), (
                        b"",
                        b"}", b";</html>", b"</html>", b"/html>", b"html>",
                        b"tml>", b"ml>", b"l>", b">"), what)

    def test_a_profile_cut_before_its_first_event_has_no_time(self):
        full = self.kineto("rank0.json", "--events", "20")
        for text in ('{"traceEvents": [', '{"traceEvents": [{"ph": "X"',
                     '{"kernel_calls": [], "events_json": "'):
            cut = self.write("rank1.json", text)
            for inputs in ([cut], [full, cut]):
                done = subprocess.run([CKMERGE, "--kernel-only", *inputs,
                                       self.out], text=True, timeout=120,
                                      capture_output=True)
                self.assertEqual(done.returncode, 3)
                self.assertNotIn("223372037", done.stdout)
                self.assertIn("rank 1: nothing of what it did was recorded",
                              done.stdout)
                with open(self.out) as file:
                    last = json.load(file)["ck"]["ranks"][-1]
                self.assertEqual((last["dark"], last["dark_since_ns"]),
                                 ("cut", None))

    def test_a_byte_order_mark_is_no_fault(self):
        profiles = [self.kineto("rank0.json", "--events", "50"),
                    self.kineto("rank1.json.gz", "--events", "50"),
                    self.nkipy("rank2.json", [],
                               [("nc_exec_running", 1, 0, 2)])]
        scalene = self.write("s.json", Scalene.profile(self))
        for path in profiles:
            before = merge("--scalene", scalene, path, self.out)
            with (gzip.open if path.endswith(".gz") else open)(path, "rb") as f:
                text = f.read()
            with (gzip.open if path.endswith(".gz") else open)(path, "wb") as f:
                f.write(b"\xef\xbb\xbf" + text)
            self.assertEqual(merge("--scalene", scalene, path, self.out),
                             before)
            self.assertEqual(before[0], 0)
        with open(scalene, "rb") as file:
            text = file.read()
        page = b"\xef\xbb\xbf<html>const profile = " + text + b"</html>"
        for marked in (b"\xef\xbb\xbf" + text, page):
            with open(scalene, "wb") as file:
                file.write(marked)
            self.assertEqual(merge("--scalene", scalene, path, self.out),
                             before)
        self.refused(["byte 3"], self.write("x.json", "\ufeff\ufeff{}"),
                     self.out)

    def test_a_profile_in_place_of_a_run_gets_the_right_command(self):
        for path, option in ((self.kineto("a.json.gz"), "--kernel-only"),
                             (self.kineto("a.json"), "--kernel-only"),
                             (self.nkipy("n.json", [], []), "--kernel-only"),
                             (self.write("s.json", Scalene.profile(self)),
                              "--scalene")):
            done = subprocess.run([CKMERGE, path], capture_output=True,
                                  text=True, timeout=120)
            self.assertEqual(done.returncode, 1)
            self.assertIn("ckmerge %s %s" % (option, path), done.stderr)

    def test_a_malformed_rank_is_misuse(self):
        path = self.kineto("a.json", "--events", "20")
        for given in ("a", path, path + "=", path + "=x", path + "=-1",
                      path + "=1x", path + "=1234567890", "b.json=1"):
            status = self.refused([given], "--rank", given, path, self.out)
            self.assertEqual(status, 2, given)
            self.assertFalse(os.path.exists(self.out))

    def test_a_full_disk_is_named(self):
        path = self.kineto("a.json", "--events", "20000")
        self.assertEqual(self.refused(["/dev/full"], path, "/dev/full"), 1)
        self.assertEqual(self.refused(["/dev/full"], "--output",
                                      "chrome=/dev/full", path, self.out), 1)
        done = subprocess.run(
            ["bash", "-c", "trap '' XFSZ; ulimit -f 100; exec \"$@\"", "x",
             CKMERGE, "--kernel-only", "--quiet",
             self.nkipy("rank0.json", [], [
                 ("nc_exec_running", i, 20000 * i + i * i % 9973,
                  20000 * i + 9973 + i * i % 9967)
                 for i in range(60000)], 20000 * 60000), self.out],
            capture_output=True, text=True, timeout=120,
            env=dict(os.environ, TMPDIR=self.dir))
        self.assertEqual(done.returncode, 1)
        self.assertIn(self.dir + "/ckmerge-", done.stderr)
        self.assertIn("File too large", done.stderr)

    def test_a_cut_gzip_is_merged_as_far_as_it_goes(self):
        path = self.kineto("a.json.gz", "--events", "20000")
        with open(path, "rb") as file:
            data = file.read()
        with open(path, "wb") as file:
            file.write(data[:len(data) // 2])
        status, _, report = merge(path, self.out)
        self.assertEqual(status, 3)
        self.assertGreater(self.device(report)["kernels"], 1000)

    def test_bad_events_are_left_out_and_counted(self):
        good = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7,
                "ts": 10, "dur": 5, "args": {"device": 0, "stream": 7}}
        bad = [dict(good, dur=-1), dict(good, ts=-5), dict(good, ts="x"),
               dict(good, ts=None), dict(good, ts=float("nan")), 17, [],
               {k: v for k, v in good.items() if k != "dur"},
               {k: v for k, v in good.items() if k != "ts"},
               dict(good, ts=1e300), {}]
        path = self.write("a.json", {"traceEvents": bad + [good] + bad})
        status, said, report = merge(path, self.out)
        self.assertEqual(status, 3)
        device = self.device(report)
        self.assertEqual((device["kernels"], device["busy_ns"]), (1, 5000))
        notes = report["ck"]["trust"]["notes"]
        self.assertGreaterEqual(len(notes), 5)
        for note in notes:
            self.assertIn("byte", note["text"])

    def left(self, *events, **members):
        """(status, notes, kernels) of a good kernel before and after them."""
        def good(start):
            return {"ph": "X", "cat": "kernel", "name": "k", "pid": 0,
                    "tid": 7, "ts": start, "dur": 5,
                    "args": {"device": 0, "stream": 7}}
        path = self.write("a.json", dict(
            members, traceEvents=[good(10), *events, good(90)]))
        status, _, report = merge(path, self.out)
        return (status, [note["text"] for note in
                         report["ck"]["trust"]["notes"]],
                self.device(report)["kernels"])

    def test_what_follows_an_odd_list_is_read(self):
        event = {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7,
                 "ts": 30, "dur": 5, "args": {
                     "device": 0, "stream": 7, "grid": [1, "x", 2],
                     "block": [[1, [2]], {"a": [3]}, 4]}}
        self.assertEqual(self.left(event), (0, [], 3))
        for wrong in ([1, {"id": 0, "name": "A"}], {"id": 0}, [[{}], None]):
            status, notes, kernels = self.left(deviceProperties=wrong)
            self.assertEqual((status, kernels), (3, 2))
            self.assertIn("deviceProperties", notes[0])
            self.assertIn("byte", notes[0])

    def test_a_job_of_a_wrong_type_is_reported(self):
        status, notes, kernels = self.left(distributedInfo=[{"rank": 1}])
        self.assertEqual((status, kernels), (3, 2))
        self.assertIn("distributedInfo is no object", notes[0])

    def test_a_device_that_can_not_be_is_left_out(self):
        for args in ({"device": 1 << 32}, {"device": 0, "stream": 1 << 40}):
            status, notes, kernels = self.left(
                {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7,
                 "ts": 30, "dur": 5, "args": args})
            self.assertEqual((status, kernels), (3, 2))
            self.assertIn("too large, left out", notes[0])

    def test_a_name_is_not_cut_at_a_nul(self):
        def kernel(name, start):
            return {"ph": "X", "cat": "kernel", "name": name, "pid": 0,
                    "tid": 7, "ts": start, "dur": 5, "args": {"device": 0}}
        path = self.write("a.json", {"traceEvents": [
            kernel("a\0b", 1), kernel("a\0c", 10), kernel("\0", 20)]})
        scalene = Scalene.profile(self)
        scalene["files"]["/w/model.py"]["lines"][0]["line"] = "x = '\0' + y"
        status, _, report = merge("--scalene", self.write("s.json", scalene),
                                  path, self.out)
        self.assertEqual(status, 0)
        self.assertEqual({k["name"] for k in report["ck"]["kernels"]},
                         {"a\u2400b", "a\u2400c", "\u2400"})
        self.assertEqual(report["files"]["/w/model.py"]["lines"][0]["line"],
                         "x = '\0' + y")

    def test_files_whose_names_have_a_nul_are_not_one(self):
        files = ["/w/m\0%d.py" % i for i in range(2)] + ["/w/m"]
        path = self.nkipy("p.json", [(f, 4, "k\0") for f in files],
                          [("nc_exec_running", i, 9 * i * MS, (10 * i + 1) * MS)
                           for i in range(3)])
        scalene = {"elapsed_time_sec": 1, "growth_rate": 0.0, "files": {
            f: {"lines": [{"lineno": 4, "line": "y"}], "functions": [],
                "imports": []} for f in files}}
        _, said, report = merge("--scalene", self.write("s.json", scalene),
                                path, self.out)
        self.assertEqual(said, "")
        shown = [f.replace("\0", "\u2400") for f in files]
        self.assertEqual({l["file"] for l in report["ck"]["lines"]},
                         set(shown))
        self.assertEqual([report["files"][f]["lines"][0]["nc_time_ms"]
                          for f in shown], [1, 2, 3])

    def test_two_launches_of_one_id_are_reported(self):
        def call(kind, tid):
            return {"ph": "X", "cat": kind, "name": "launch", "pid": 1,
                    "tid": tid, "ts": 20 + tid, "dur": 1,
                    "args": {"correlation": 5}}
        self.assertEqual(self.left(call("cuda_runtime", 1),
                                   call("cuda_driver", 1)), (0, [], 2))
        status, notes, _ = self.left(call("cuda_runtime", 1),
                                     call("cuda_runtime", 2))
        self.assertEqual(status, 3)
        self.assertIn("correlation of another one", notes[0])

    def test_files_that_are_not_read_name_what_converts_them(self):
        for name, start, words in (
                ("a.sqlite", b"SQLite format 3\0" + bytes(100),
                 "nsys2json.py -f X.sqlite"),
                ("a.db", b"SQLite format 3\0" + bytes(100), "rocpd convert"),
                ("a.nsys-rep", bytes(100), "nsys export --type sqlite"),
                ("k.csv", b'"Kind","Agent_Id","Queue_Id"\n', "rocprofv3"),
                ("r.csv", b"Index,KernelName,gpu-id\n", "rocprof --sys-trace"),
                ("traces.otf2", b"\x01\x02", "OTF2 is not read"),
                ("x.pftrace", b"\x0a\x10" + bytes(40), "traceconv json"),
                ("u.json", '{"traceEvents": []}'.encode("utf-16"),
                 "iconv -f UTF-16 "),
                ("v.json", '{"traceEvents": []}'.encode("utf-16-be"),
                 "iconv -f UTF-16BE "),
                ("w.json", '{"traceEvents": []}'.encode("utf-32"),
                 "iconv -f UTF-32 ")):
            with open(self.path(name), "wb") as file:
                file.write(start)
            for option in (["--kernel-only"], []):  # forgotten, too
                done = subprocess.run(
                    [CKMERGE, *option, self.path(name), *(option and [self.out])],
                    capture_output=True, text=True, timeout=120)
                self.assertEqual(done.returncode, 1, name)
                self.assertIn(words, done.stderr)

    def test_dates_beyond_2_to_53_have_a_base_and_integers_beside(self):
        path = self.nkipy("p.json", [("/w/model.py", 4, "attn")],
                          [("nc_exec_running", 1, 5 * MS, 9 * MS + 1)])
        report = merge(path, self.out)[2]["ck"]
        base = int(report["time_base_ns"])
        self.assertGreater(base, 2**53)
        for place, key in ((report["whole"], "end"), (report["region"], "start"),
                           (report["devices"][0], "run_first"),
                           (report["devices"][0], "run_last")):
            self.assertEqual(base + place[key + "_rel_ns"],
                             place[key + "_ns"])
        self.assertEqual(report["devices"][0]["run_last_rel_ns"], 9 * MS + 1)
        report = merge("--force", self.kineto("a.json", "--events", "20"),
                       self.out)[2]["ck"]
        self.assertGreater(report["realtime_of_zero_ns"], 2**53)
        self.assertEqual(report["realtime_of_zero_text"],
                         str(report["realtime_of_zero_ns"]))

    def test_scalenes_profile_from_stdin(self):
        path = self.nkipy("p.json", [("/w/model.py", 4, "attn")],
                          [("nc_exec_running", 1, 5 * MS, 9 * MS)])
        text = json.dumps(Scalene.profile(self))
        done = subprocess.run([CKMERGE, "--quiet", "--scalene", "-", path,
                               self.out], input=text, capture_output=True,
                              text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        with open(self.out) as file:
            report = json.load(file)
        self.assertEqual(report["ck"]["scalene"]["path"], "stdin")
        self.assertIn("attn", str(report["files"]["/w/model.py"]))
        done = subprocess.run([CKMERGE, "--scalene", "-", path, self.out],
                              input="{}", capture_output=True, text=True)
        self.assertEqual(done.stderr, "ckmerge: error: stdin: no profile of "
                         "scalene: it has no \"files\"\n")
        done = subprocess.run([CKMERGE, "--scalene", "-", "-", self.out],
                              input=text, capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("once only", done.stderr)

    def test_a_rank_beyond_the_world(self):
        path = self.kineto("a.json", "--events", "20", "--rank", "9",
                           "--world", "4")
        status, said, _ = merge(path, self.out)
        self.assertEqual(status, 1)
        self.assertIn("rank 9 of a job of 4 ranks", said)
        self.assertEqual(merge(path, "--rank", path + "=2", self.out)[0], 3)

    def test_gzip_without_a_readable_byte(self):
        path = self.kineto("a.json.gz", "--events", "20")
        with open(path, "rb") as file:
            start = file.read(40)
        with open(self.path("b.json.gz"), "wb") as file:
            file.write(start)
        status, said, _ = merge(self.path("b.json.gz"), self.out)
        self.assertEqual(status, 1)
        self.assertIn("damaged or cut off", said)

    def test_a_profile_without_device_work_is_named(self):
        full = self.kineto("r0.json", "--events", "20", "--world", "2")
        path = self.write("r1.json", {"traceEvents": []})
        said = subprocess.run([CKMERGE, "--kernel-only", full, path, self.out],
                              text=True, capture_output=True, timeout=120,
                              check=False).stdout
        self.assertIn("no device work in " + path, said)
        self.assertNotIn("no device work in " + full, said)

    def test_bad_nkipy_events_are_left_out_and_counted(self):
        def event(phase, number, time, kind="nc_exec_running"):
            return {"event_type": kind, "phase": phase, "tracking_id": number,
                    "timestamp_ns": time, "data": {}}
        events = [event("start", 1, 100), event("stop", 1, 50),
                  event("start", 2, 100), event("stop", 3, 200),
                  event("start", 4, 100), event("start", 4, 110),
                  event("stop", 4, 120), event("odd", 5, 1),
                  event("start", "x", 1), event("start", 6, -1), 5]
        path = self.write("a.json", {
            "kernel_calls": [], "events_json": json.dumps({"events": events}),
            "wall_start_ns": 10, "wall_stop_ns": 210})
        status, _, report = merge(path, self.out)
        self.assertEqual(status, 3)
        self.assertEqual(self.device(report)["busy_ns"], 10)
        self.assertGreaterEqual(len(report["ck"]["trust"]["notes"]), 6)

    def test_an_empty_device(self):
        path = self.nkipy("a.json", [], [])
        status, _, report = merge(path, self.out)
        self.assertEqual(status, 0)
        self.assertEqual(self.device(report)["busy_ns"], 0)
        status, _, report = merge(self.write("b.json", {"traceEvents": []}),
                                  self.out)
        self.assertIn(status, (0, 3))


print("seed %d (CK_SEED repeats it)" % SEED)
unittest.main(argv=sys.argv[:1] + sys.argv[2:])
