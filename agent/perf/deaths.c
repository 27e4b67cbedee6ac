/* deaths.c - the stacks of a process' threads as a signal ends it
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *   a record: head, count, chain of frame pointers,
 *             size and bytes of the tracepoint's own fields,
 *             abi, registers, the copy of the stack: as of a sample
 *
 * The tracepoint's fields are cut out, and the rest is read as a sample is.
 * Threads that are killed because of another one have SIGKILL; so have those of
 * a process that ends by exit(): what came before distinguishes them.
 */
#include "agent/perf/deaths.h"

#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "agent/perf/kernellog.h"
#include "agent/perf/perfcall.h"
#include "agent/perf/perfevent.h"
#include "agent/perf/perfring.h"
#include "agent/perf/tracepoint.h"
#include "schema/clock/domain.h"
#include "schema/fd.h"
#include "schema/store/run.h"

#define EVENT "signal/signal_deliver"
#define CPUS_MAX 1024
/* Pages of a ring, and of those of all agents on a CPU. */
#define PAGES 64
#define PAGES_LEAST 8
#define PAGES_ALL 1024
/* A record is shorter. */
#define RECORD_MAX 65536
/* Processes that died lately, and how long that is. */
#define DYING 16
#define LATELY (2 * CK_TIME_S)
/* Threads that were killed, and how long their reason may come later. */
#define PENDING 64
#define PENDING_AGE (100 * CK_TIME_MS)

/* Signals that end a process and have no handler; 9 is among them. */
#define FILTER                                                                 \
    "sa_handler==0&&sig!=17&&sig!=18&&sig!=19&&sig!=20&&sig!=21&&sig!=22&&"    \
    "sig!=23&&sig!=28"

/* A process that dies of a signal. */
struct dying {
    uint32_t pid;
    ck_time_t since;
};

/* The record of a thread that was killed. Whether another one of its process
 * died of a signal may be in another ring, which is read later. */
struct pending {
    struct perfevent_sample *record; /* owned */
    ck_time_t since;
};

/* Threads of a process that had no room among these. */
struct crowded {
    uint32_t pid;
    uint64_t count;
    ck_time_t since; /* 0 = free */
};

struct deaths {
    struct perfring *rings; /* by CPU */
    size_t count;
    size_t pages;
    int log;                /* the kernel's; -1 = it may not be read */
    uint32_t signal_offset; /* in the tracepoint's fields */
    struct dying dying[DYING];
    size_t next;
    struct pending pending[PENDING]; /* in order of their coming */
    size_t pending_count;
    struct crowded crowded[DYING];
    uint64_t
        dropped; /* of those, what was of processes that died of a signal */
    uint64_t copy[RECORD_MAX / sizeof(uint64_t)];
    struct sampleframes_found found;
};

/* ---- the tracepoint -------------------------------------------------------
 */

/* Its number, and where a record has the signal's. False: not known. */
static bool event_find(uint64_t *number, uint32_t *signal_offset)
{
    char text[4096];
    const char *at;

    if (!tracepoint_number(EVENT, number) ||
        !tracepoint_read(EVENT, "format", text, sizeof(text))) {
        return false;
    }
    at = strstr(text, "field:int sig;");
    return at != NULL &&
           sscanf(at, "field:int sig; offset:%" SCNu32, signal_offset) == 1;
}

static int
event_open(pid_t pid, int cpu, uint64_t number, const struct deaths_wish *wish)
{
    struct perf_event_attr attr = {
        .type = PERF_TYPE_TRACEPOINT,
        .size = sizeof(attr),
        .config = number,
        .sample_period = 1,
        .sample_type = PERFEVENT_STACKS | PERF_SAMPLE_RAW,
        .sample_regs_user = PERFEVENT_REGISTERS_MASK,
        .sample_stack_user = wish->stack_bytes,
        .disabled = !wish->is_wide,
        .inherit = !wish->is_wide,
        .enable_on_exec = !wish->is_wide,
        .exclude_callchain_kernel = 1,
        .sample_id_all = 1,
        .use_clockid = 1,
        .clockid = CLOCK_MONOTONIC_RAW,
    };
    int fd = perfcall_open(&attr, wish->is_wide ? -1 : pid, cpu, -1);

    if (fd >= 0 && ioctl(fd, PERF_EVENT_IOC_SET_FILTER, FILTER) != 0) {
        ck_fd_close(fd);
        return -1;
    }
    return fd;
}

/* 0, or -1 with errno. */
static int rings_open(struct deaths *deaths,
                      pid_t pid,
                      uint64_t number,
                      const struct deaths_wish *wish)
{
    cpu_set_t cpus;

    if (sched_getaffinity(pid, sizeof(cpus), &cpus) != 0) {
        return -1;
    }
    deaths->rings =
        calloc((size_t)CPU_COUNT(&cpus) + 1, sizeof(*deaths->rings));
    for (int cpu = 0; deaths->rings != NULL && cpu < CPU_SETSIZE; cpu++) {
        int fd;

        if (!CPU_ISSET(cpu, &cpus) || cpu >= CPUS_MAX) {
            continue;
        }
        fd = event_open(pid, cpu, number, wish);
        if (fd < 0) {
            return -1;
        }
        deaths->rings[deaths->count++] = (struct perfring){.fd = fd};
    }
    return deaths->rings == NULL ? -1 : 0;
}

static size_t pages_of(int sharers)
{
    size_t pages = PAGES;

    while (pages > PAGES_LEAST && pages * (size_t)sharers > PAGES_ALL) {
        pages /= 2;
    }
    return pages;
}

struct deaths *deaths_create(pid_t held_child,
                             const struct deaths_wish *wish,
                             struct ck_err *why_not)
{
    struct deaths *deaths;
    uint64_t number;
    uint32_t signal_offset;

    if (wish->stack_bytes == 0 || !event_find(&number, &signal_offset)) {
        return ck_err_null(why_not,
                           "the kernel's tracepoint of signals may not "
                           "be read (tracefs at /sys/kernel/tracing)");
    }
    deaths = calloc(1, sizeof(*deaths));
    if (deaths == NULL) {
        return ck_err_null(why_not, "out of memory");
    }
    deaths->signal_offset = signal_offset;
    deaths->pages = pages_of(wish->sharers);
    deaths->log = -1;
    if (rings_open(deaths, held_child, number, wish) != 0) {
        (void)ck_err_set(why_not, "%s", perfevent_why(errno));
        deaths_destroy(deaths);
        return NULL;
    }
    deaths->log = kernellog_open();
    return deaths;
}

void deaths_destroy(struct deaths *deaths)
{
    int saved = errno;

    if (deaths != NULL) {
        for (size_t i = 0; i < deaths->count; i++) {
            perfring_fini(&deaths->rings[i]);
        }
        ck_fd_close(deaths->log);
        for (size_t i = 0; i < deaths->pending_count; i++) {
            free(deaths->pending[i].record);
        }
        free(deaths->rings);
        free(deaths);
    }
    errno = saved;
}

void deaths_map(struct deaths *deaths)
{
    for (size_t i = 0; deaths != NULL && i < deaths->count; i++) {
        perfring_map(&deaths->rings[i], deaths->pages);
    }
}

/* ---- records --------------------------------------------------------------
 */

/* What a step works with. */
struct step {
    struct deaths *deaths;
    struct sampleframes *frames;
    const struct deaths_taker *taker;
};

static bool is_dying(const struct deaths *deaths, uint32_t pid)
{
    ck_time_t now = ck_time_raw();

    for (size_t i = 0; i < DYING; i++) {
        if (deaths->dying[i].pid == pid &&
            now - deaths->dying[i].since < LATELY) {
            return true;
        }
    }
    return false;
}

/* The record without the tracepoint's fields, and the signal that these have.
 * False: it is none. */
static bool record_split(struct deaths *deaths,
                         const struct perfevent_sample *seen,
                         int *signal)
{
    const uint8_t *bytes = (const uint8_t *)seen;
    size_t length = seen->header.size, head, raw;
    uint32_t size;

    if (length < sizeof(*seen) || seen->count > SAMPLER_FRAMES_MAX * 2) {
        return false;
    }
    head = sizeof(*seen) + seen->count * sizeof(uint64_t);
    if (head + sizeof(size) > length) {
        return false;
    }
    memcpy(&size, bytes + head, sizeof(size));
    raw = sizeof(size) + size;
    if (size < deaths->signal_offset + sizeof(*signal) || raw > length - head) {
        return false;
    }
    memcpy(signal, bytes + head + sizeof(size) + deaths->signal_offset,
           sizeof(*signal));
    memcpy(deaths->copy, bytes, head);
    memcpy((uint8_t *)deaths->copy + head, bytes + head + raw,
           length - head - raw);
    ((struct perfevent_sample *)deaths->copy)->header.size =
        (uint16_t)(length - raw);
    return true;
}

/* Of a fault the log has the address; the others are killed meanwhile. */
static void address_find(const struct deaths *deaths, struct death *death)
{
    struct kernellog_fault fault = {.pc = death->found->ip,
                                    .sp = death->found->sp};

    death->has_address =
        death->signal == SIGSEGV && kernellog_find(deaths->log, &fault);
    death->address = fault.address;
}

static void death_take(const struct step *step,
                       const struct perfevent_sample *seen,
                       bool is_first,
                       int signal)
{
    struct deaths *deaths = step->deaths;
    struct death death = {
        .found = &deaths->found, .is_first = is_first, .signal = signal};

    death.pid = seen->pid;
    death.tid = seen->tid;
    death.at = ck_domain_raw((ck_time_t)seen->time);
    sampleframes_take(step->frames,
                      (const struct perfevent_sample *)deaths->copy,
                      &deaths->found);
    if (death.is_first) {
        address_find(deaths, &death);
    }
    step->taker->take(step->taker->state, &death);
}

/* It counts if the process turns out to die of another thread's signal. */
static void crowded_add(struct deaths *deaths, uint32_t pid)
{
    struct crowded *oldest = &deaths->crowded[0];

    for (size_t i = 0; i < DYING; i++) {
        struct crowded *crowded = &deaths->crowded[i];

        if (crowded->since != 0 && crowded->pid == pid) {
            crowded->count++;
            return;
        }
        oldest = crowded->since < oldest->since ? crowded : oldest;
    }
    *oldest = (struct crowded){pid, 1, ck_time_raw()};
}

static void crowded_settle(struct deaths *deaths)
{
    ck_time_t now = ck_time_raw();

    for (size_t i = 0; i < DYING; i++) {
        struct crowded *crowded = &deaths->crowded[i];

        if (crowded->since == 0) {
            continue;
        }
        if (is_dying(deaths, crowded->pid)) {
            deaths->dropped += crowded->count;
            crowded->since = 0;
        } else if (now - crowded->since > PENDING_AGE) {
            crowded->since = 0;
        }
    }
}

static void pending_add(struct deaths *deaths,
                        const struct perfevent_sample *seen)
{
    struct perfevent_sample *record;

    record = deaths->pending_count < PENDING ? malloc(seen->header.size) : NULL;
    if (record != NULL) {
        memcpy(record, seen, seen->header.size);
        deaths->pending[deaths->pending_count++] =
            (struct pending){record, ck_time_raw()};
    } else {
        crowded_add(deaths, seen->pid);
    }
}

/* Take those of processes that die, and forget those that came long ago. */
static void pending_take(const struct step *step)
{
    struct deaths *deaths = step->deaths;
    ck_time_t now = ck_time_raw();
    size_t left = 0;
    int signal;

    for (size_t i = 0; i < deaths->pending_count; i++) {
        struct pending *pending = &deaths->pending[i];
        bool is_taken = is_dying(deaths, pending->record->pid);

        if (is_taken && record_split(deaths, pending->record, &signal)) {
            death_take(step, pending->record, false, signal);
        }
        if (is_taken || now - pending->since > PENDING_AGE) {
            free(pending->record);
        } else {
            deaths->pending[left++] = *pending;
        }
    }
    deaths->pending_count = left;
}

static void record_take(void *state, const struct perf_event_header *header)
{
    const struct step *step = state;
    const struct perfevent_sample *seen =
        (const struct perfevent_sample *)header;
    struct deaths *deaths = step->deaths;
    bool was_dying;
    int signal;

    if (header->type != PERF_RECORD_SAMPLE || header->size < sizeof(*seen) ||
        !step->taker->is_own(step->taker->state, seen->pid) ||
        !record_split(deaths, seen, &signal)) {
        return;
    }
    was_dying = is_dying(deaths, seen->pid);
    if (signal == SIGKILL && !was_dying) {
        pending_add(deaths, seen);
        return;
    }
    if (!was_dying) {
        deaths->dying[deaths->next++ % DYING] =
            (struct dying){seen->pid, ck_time_raw()};
    }
    death_take(step, seen, !was_dying, signal);
}

void deaths_step(struct deaths *deaths,
                 struct sampleframes *frames,
                 const struct deaths_taker *taker)
{
    struct step step = {deaths, frames, taker};

    if (deaths == NULL) {
        return;
    }
    for (size_t i = 0; i < deaths->count; i++) {
        perfring_drain(&deaths->rings[i], record_take, &step);
    }
    pending_take(&step);
    crowded_settle(deaths);
}

void deaths_lines(const struct death *death, struct ck_lines *lines)
{
    char text[32];

    ck_lines_put(lines, "state", "X");
    ck_lines_put(lines, "stack", death->found->is_whole ? "whole" : "part");
    ck_lines_put_number(lines, "signal", death->signal);
    if (death->is_first) {
        ck_lines_put_number(lines, "died", 1);
    }
    if (death->has_address) {
        (void)snprintf(text, sizeof(text), "%" PRIx64, death->address);
        ck_lines_put(lines, "address", text);
    }
}

uint64_t deaths_lost(const struct deaths *deaths)
{
    uint64_t lost = deaths != NULL ? deaths->dropped : 0;

    for (size_t i = 0; deaths != NULL && i < deaths->count; i++) {
        lost += deaths->rings[i].tally.lost;
    }
    return lost;
}
