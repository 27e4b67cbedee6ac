/* unowned.c - CPU samples of processes that have no entry in the ring's table
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/perf/unowned.h"

#include <errno.h>
#include <stdlib.h>

#include "agent/process/enroll.h"

#define SAMPLES_LEAST 2
#define SAMPLES_MOST 16
/* Processes whose samples are counted, by pid; a power of two. */
#define COUNTED 1024
/* What is left of the table is for programs that record. */
#define TABLE_SHARE (CK_RING_PROCESSES / 4 * 3)
/* Less is not worth a note: the first samples of some shell. */
#define NOTE_NS (50 * CK_TIME_MS)
#define NOTE_SHARE 100

struct unowned {
    uint32_t target;
    int64_t period;
    unsigned needed; /* samples of a process, to enroll it */
    size_t count;
    uint64_t samples;          /* that have no owner */
    uint64_t processes;        /* whose they are */
    uint32_t counted[COUNTED]; /* the last ones of them */
    uint32_t refused[COUNTED]; /* that could not be enrolled */
    uint32_t enrolled[COUNTED];
    struct unowned_sample held[UNOWNED_MAX];
};

struct unowned *unowned_create(pid_t target, int64_t period)
{
    struct unowned *unowned = calloc(1, sizeof(*unowned));
    int64_t needed = (UNOWNED_NS + period - 1) / period;

    if (unowned != NULL) {
        unowned->target = (uint32_t)target;
        unowned->period = period;
        if (needed < SAMPLES_LEAST) {
            unowned->needed = SAMPLES_LEAST;
        } else if (needed > SAMPLES_MOST) {
            unowned->needed = SAMPLES_MOST;
        } else {
            unowned->needed = (unsigned)needed;
        }
    }
    return unowned;
}

void unowned_destroy(struct unowned *unowned)
{
    int saved = errno;

    free(unowned);
    errno = saved;
}

void unowned_drop(struct unowned *unowned, const struct unowned_sample *sample)
{
    uint32_t pid = sample->pid;
    uint32_t *last = &unowned->counted[pid % COUNTED];

    if (sample->record.e.kind != CK_KIND_SAMPLE) {
        return; /* a page fault: /proc counts them all */
    }
    unowned->samples++;
    unowned->processes += *last != pid;
    *last = pid;
}

static bool has_room(struct ck_ring_header *header)
{
    struct ck_ring_process *table = ck_ring_processes(header);
    unsigned used = 0;

    for (unsigned i = 0; i < CK_RING_PROCESSES; i++) {
        used += atomic_load(&table[i].incarnation) != 0;
    }
    return used < TABLE_SHARE;
}

/* CPU samples of it: page faults alone make no process worth an entry. */
static unsigned held_of(const struct unowned *unowned, uint32_t pid)
{
    unsigned held = 0;

    for (size_t i = 0; i < unowned->count; i++) {
        held += unowned->held[i].pid == pid &&
                unowned->held[i].record.e.kind == CK_KIND_SAMPLE;
    }
    return held;
}

static void held_remove(struct unowned *unowned, size_t at)
{
    unowned->count--;
    for (size_t i = at; i < unowned->count; i++) {
        unowned->held[i] = unowned->held[i + 1];
    }
}

/* The oldest sample makes room. */
static void hold(struct unowned *unowned, const struct unowned_sample *sample)
{
    if (unowned->count == UNOWNED_MAX) {
        unowned_drop(unowned, &unowned->held[0]);
        held_remove(unowned, 0);
    }
    unowned->held[unowned->count++] = *sample;
}

bool unowned_take(struct unowned *unowned,
                  struct ck_ring_header *header,
                  const struct unowned_sample *sample)
{
    uint32_t pid = sample->pid;

    /* 0 and -1: it has no number here, or none any more. */
    if (pid == 0 || pid == UINT32_MAX ||
        unowned->refused[pid % COUNTED] == pid) {
        unowned_drop(unowned, sample);
        return false;
    }
    hold(unowned, sample);
    if (held_of(unowned, pid) < unowned->needed) {
        return false;
    }
    if ((pid == unowned->target || has_room(header)) &&
        enroll(header, (pid_t)pid) == 0) {
        unowned->enrolled[pid % COUNTED] = pid;
        return true;
    }
    unowned_forget(unowned, pid, INT64_MAX);
    unowned->refused[pid % COUNTED] = pid;
    return false;
}

bool unowned_has_enrolled(const struct unowned *unowned, uint32_t pid)
{
    return unowned->enrolled[pid % COUNTED] == pid;
}

bool unowned_next(struct unowned *unowned,
                  uint32_t pid,
                  struct unowned_sample *sample)
{
    for (size_t i = 0; i < unowned->count; i++) {
        if (unowned->held[i].pid == pid) {
            *sample = unowned->held[i];
            held_remove(unowned, i);
            return true;
        }
    }
    return false;
}

void unowned_forget(struct unowned *unowned, uint32_t pid, ck_time_t since)
{
    for (size_t i = unowned->count; i-- > 0;) {
        if (unowned->held[i].pid == pid &&
            unowned->held[i].record.e.start < since) {
            unowned_drop(unowned, &unowned->held[i]);
            held_remove(unowned, i);
        }
    }
    if (unowned->refused[pid % COUNTED] == pid) {
        unowned->refused[pid % COUNTED] = 0;
    }
}

void unowned_notes(struct unowned *unowned,
                   uint64_t owned,
                   struct selfstream *selfstream)
{
    int64_t ns;

    while (unowned->count > 0) {
        unowned_drop(unowned, &unowned->held[0]);
        held_remove(unowned, 0);
    }
    ns = (int64_t)unowned->samples * unowned->period;
    if (ns >= NOTE_NS &&
        unowned->samples * NOTE_SHARE >= unowned->samples + owned) {
        selfstream_note(
            selfstream,
            "CPU samples of %llu processes, %.2f s of CPU time, are of "
            "no named program (they ended or changed too soon, or cannot "
            "be read): where it computed leaves them out",
            (unsigned long long)unowned->processes, (double)ns / CK_TIME_S);
    }
}
