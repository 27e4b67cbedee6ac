/* perfevent.h - events of the kernel that sample and report switches, for one
 * CPU
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_PERF_PERFEVENT_H
#define CK_AGENT_PERF_PERFEVENT_H

#include <linux/perf_event.h>
#include <stdint.h>
#include <sys/types.h>

/* Trailer of every record that is no sample. */
struct perfevent_id {
    uint32_t pid;
    uint32_t tid;
    uint64_t time;
    uint32_t cpu;
    uint32_t reserved;
};

/* A thread that began, or that ended. */
struct perfevent_fork {
    struct perf_event_header header;
    uint32_t pid;
    uint32_t parent;
    uint32_t tid;
    uint32_t parent_tid;
    uint64_t time;
};

struct perfevent_mmap {
    struct perf_event_header header;
    uint32_t pid;
    uint32_t tid;
    uint64_t address;
    uint64_t length;
    uint64_t offset; /* in the file */
    char path[];
};

/* Registers that come with a copy of the stack: ax bx cx dx si di bp sp ip, r8
 * to r15 (x86-64); x0 to x30, sp, pc (aarch64). Their numbers as DWARF has
 * them, in that order. */
#if defined(__aarch64__)
#define PERFEVENT_REGISTERS 33
#define PERFEVENT_REGISTERS_MASK 0x1ffffffffu
#define PERFEVENT_NUMBERS                                                      \
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,  \
        21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32
#else
#define PERFEVENT_REGISTERS 17
#define PERFEVENT_REGISTERS_MASK 0xff01ffu
#define PERFEVENT_NUMBERS                                                      \
    0, 3, 2, 1, 4, 5, 6, 7, 16, 8, 9, 10, 11, 12, 13, 14, 15
#endif
/* What a sample has, and one with a copy of the stack. */
#define PERFEVENT_PLAIN                                                        \
    (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |  \
     PERF_SAMPLE_CPU | PERF_SAMPLE_CALLCHAIN)
#define PERFEVENT_STACKS                                                       \
    (PERFEVENT_PLAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)

/* Head of a sample; the call chain follows, and registers and stack where they
 * were wanted. */
struct perfevent_sample {
    struct perf_event_header header;
    uint64_t ip;
    uint32_t pid;
    uint32_t tid;
    uint64_t time;
    uint64_t address; /* of a page fault */
    uint32_t cpu;
    uint32_t reserved;
    uint64_t count;
};

/* What an event counts for. */
enum reach {
    REACH_WIDE,   /* all that runs on the CPU */
    REACH_TARGET, /* the target and its children there */
    REACH_USER,   /* the same, without the kernel's part */
};

/* What an event writes into its ring. Samples are few, and show where time
 * went: switches, up to a million a second, have a ring of their own.
 */
enum perfevent_ring {
    PERFEVENT_SAMPLES,  /* a sample each period; mappings of code, forks, execs
                           and ends of threads */
    PERFEVENT_SWITCHES, /* a record of each switch */
    PERFEVENT_MINOR,    /* a sample each n-th page fault ... */
    PERFEVENT_MAJOR,    /* ... that needed no I/O, and that did */
    PERFEVENT_RINGS
};
/* Without the others there is no sampler; without these, no places of faults.
 */
#define PERFEVENT_NEEDED PERFEVENT_MINOR

struct perfevent_wish {
    int64_t period; /* ns of CPU time, or page faults, between two samples */
    enum perfevent_ring ring;
    enum reach reach;
    uint32_t wake_bytes;  /* in the ring, before poll() returns */
    uint32_t stack_bytes; /* copied with each sample, with the registers */
};

/* An event on a CPU. The descriptor, or -1 with errno. */
int perfevent_open(pid_t pid, int cpu, const struct perfevent_wish *wish);
/* What that errno means here. */
const char *perfevent_why(int error);

#endif
