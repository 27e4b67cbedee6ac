/* descendants.c - which processes are the target's, and since when each runs
 * its image
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A process has its place in a few entries after the one its number falls on.
 * Where all are taken, the oldest entry makes room, other processes
 * before descendants.
 */
#include "agent/process/descendants.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/process/procfile.h"

#define PROBES 8
#define DEPTH_MAX 64 /* of the parents that are walked up */

enum relation { RELATION_UNKNOWN, RELATION_STRANGER, RELATION_KIN };

struct process {
    uint32_t pid; /* 0 = free */
    enum relation relation;
    uint64_t told; /* a running number */
    ck_time_t since;
};

struct descendants {
    uint32_t target;
    bool is_wide;
    uint64_t told;
    struct process processes[DESCENDANTS_MAX];
};

struct descendants *descendants_create(pid_t target, bool is_wide)
{
    struct descendants *descendants = calloc(1, sizeof(*descendants));

    if (descendants != NULL) {
        descendants->target = (uint32_t)target;
        descendants->is_wide = is_wide;
    }
    return descendants;
}

void descendants_destroy(struct descendants *descendants)
{
    int saved = errno;

    free(descendants);
    errno = saved;
}

static const struct process *process_find(const struct descendants *descendants,
                                          uint32_t pid)
{
    for (unsigned i = 0; i < PROBES; i++) {
        const struct process *process =
            &descendants->processes[(pid + i) % DESCENDANTS_MAX];

        if (process->pid == pid) {
            return process;
        }
    }
    return NULL;
}

static bool goes_first(const struct process *a, const struct process *b)
{
    if ((a->pid == 0) != (b->pid == 0)) {
        return a->pid == 0;
    }
    if ((a->relation == RELATION_KIN) != (b->relation == RELATION_KIN)) {
        return b->relation == RELATION_KIN;
    }
    return a->told < b->told;
}

/* Its entry, a new one if need be. */
static struct process *process_note(struct descendants *descendants,
                                    uint32_t pid)
{
    struct process *process = (struct process *)process_find(descendants, pid);

    if (process == NULL) {
        process = &descendants->processes[pid % DESCENDANTS_MAX];
        for (unsigned i = 1; i < PROBES; i++) {
            struct process *other =
                &descendants->processes[(pid + i) % DESCENDANTS_MAX];

            process = goes_first(other, process) ? other : process;
        }
        *process = (struct process){.pid = pid, .told = ++descendants->told};
    }
    return process;
}

static enum relation relation_known(const struct descendants *descendants,
                                    uint32_t pid)
{
    const struct process *process = process_find(descendants, pid);

    if (!descendants->is_wide || pid == descendants->target) {
        return RELATION_KIN;
    }
    return process == NULL ? RELATION_UNKNOWN : process->relation;
}

void descendants_forked(struct descendants *descendants,
                        uint32_t pid,
                        uint32_t parent,
                        ck_time_t time)
{
    enum relation relation = relation_known(descendants, parent);
    struct process *process = process_note(descendants, pid);

    process->relation = relation;
    process->since = time;
    process->told = ++descendants->told;
}

void descendants_execed(struct descendants *descendants,
                        uint32_t pid,
                        ck_time_t time)
{
    process_note(descendants, pid)->since = time;
}

/* 0 = not known. */
static uint32_t parent_read(uint32_t pid)
{
    char text[512];
    int64_t fields[PROCFILE_STAT];

    return procfile_read(text, sizeof(text), "/proc/%u/stat", pid) > 0 &&
                   procfile_stat(text, fields) == 0
               ? (uint32_t)fields[4]
               : 0;
}

static enum relation relation_look(const struct descendants *descendants,
                                   uint32_t pid)
{
    for (unsigned i = 0; i < DEPTH_MAX && pid > 1; i++) {
        enum relation relation = relation_known(descendants, pid);

        if (relation != RELATION_UNKNOWN) {
            return relation;
        }
        pid = parent_read(pid);
    }
    return RELATION_STRANGER;
}

bool descendants_has(struct descendants *descendants, uint32_t pid)
{
    enum relation relation = relation_known(descendants, pid);

    if (relation == RELATION_UNKNOWN) {
        relation = relation_look(descendants, pid);
        process_note(descendants, pid)->relation = relation;
    }
    return relation == RELATION_KIN;
}

ck_time_t descendants_since(const struct descendants *descendants, uint32_t pid)
{
    const struct process *process = process_find(descendants, pid);

    return process == NULL ? 0 : process->since;
}
