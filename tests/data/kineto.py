#!/usr/bin/env python3
"""kineto.py - write a profile as PyTorch's profiler does, with a known content

SPDX-License-Identifier: Apache-2.0

kineto.py FILE [--events N] [--rank R] [--world W] [--seed S] [--threads T]
Kernels on a few streams, copies, the runtime calls that launched them, ranges
of the host. Everything follows from the seed.
"""
import argparse
import gzip
import random

KERNELS = ["ampere_sgemm_128x64_nn", "void at::native::vectorized_elementwise_"
           "kernel<4, at::native::AddFunctor<float>>(int)",
           "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "softmax_warp_forward",
           "layer_norm_backward"]


def events(args):
    rng = random.Random(args.seed * 1000 + args.rank)
    now = 1700000000000000.0 if args.epoch else 1000.0
    free = [now] * 4
    for number in range(args.events // 2):
        correlation = number + 1
        now += rng.randrange(2, 40) + rng.randrange(1000) / 1000
        call = rng.randrange(2, 9) + rng.randrange(1000) / 1000
        thread = 100 + (number // 64) % args.threads
        kind = rng.randrange(10)
        copies = kind == 0
        name = "cudaMemcpyAsync" if copies else "cudaLaunchKernel"
        yield ('{"ph":"X","cat":"cuda_runtime","name":"%s","pid":77,"tid":%d,'
               '"ts":%.3f,"dur":%.3f,"args":{"External id":%d,"cbid":211,'
               '"correlation":%d}}' %
               (name, thread, now, call, number, correlation))
        stream = rng.randrange(3) if kind != 9 else 3
        start = max(now + call + rng.randrange(3000) / 1000, free[stream])
        length = rng.randrange(1, 60) + rng.randrange(1000) / 1000
        free[stream] = start + length
        if copies:
            yield ('{"ph":"X","cat":"gpu_memcpy","name":"Memcpy %s (Pageable '
                   '-> Device)","pid":0,"tid":%d,"ts":%.3f,"dur":%.3f,"args":'
                   '{"External id":%d,"device":0,"context":1,"stream":%d,'
                   '"correlation":%d,"bytes":%d,"memory bandwidth (GB/s)":1.5}}'
                   % (rng.choice(["HtoD", "DtoH"]), 7 + stream, start, length,
                      number, 7 + stream, correlation, 4096 * number))
        else:
            which = 2 if kind == 9 else rng.choice([0, 1, 3, 4])
            yield ('{"ph":"X","cat":"kernel","name":"%s","pid":0,"tid":%d,'
                   '"ts":%.3f,"dur":%.3f,"args":{"External id":%d,"queued":0,'
                   '"device":0,"context":1,"stream":%d,"correlation":%d,'
                   '"registers per thread":32,"shared memory":0,"blocks per SM'
                   '":1.5,"warps per SM":12.0,"grid":[%d,1,1],"block":[256,1,1'
                   '],"est. achieved occupancy %%":25}}' %
                   (KERNELS[which], 7 + stream, start, length, number,
                    7 + stream, correlation, 1 + number % 512))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--events", type=int, default=2000)
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--world", type=int, default=1)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--epoch", action="store_true")
    args = parser.parse_args()
    opener = gzip.open if args.file.endswith(".gz") else open
    with opener(args.file, "wt") as out:
        out.write('{\n  "schemaVersion": 1,\n  "deviceProperties": [\n    {'
                  '"id": 0, "name": "Test GPU", "totalGlobalMem": 1}\n  ],\n'
                  '  "distributedInfo": {"backend": "nccl", "rank": %d, '
                  '"world_size": %d},\n  "displayTimeUnit": "ms",\n'
                  '  "baseTimeNanoseconds": %d,\n  "traceEvents": [\n' %
                  (args.rank, args.world,
                   0 if args.epoch else 1700000000000000000))
        out.write(",\n".join(events(args)))
        out.write('\n  ],\n  "traceName": "%s"\n}\n' % args.file)


main()
