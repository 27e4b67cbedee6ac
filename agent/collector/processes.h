/* processes.h - the process images that record, reported as they show up
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_COLLECTOR_PROCESSES_H
#define CK_AGENT_COLLECTOR_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/stream/selfstream.h"
#include "schema/ring/ring.h"
#include "schema/time.h"

struct ringfile;
struct sampler;
struct symbols;

struct processes {
    const struct ringfile *ring;         /* borrowed */
    struct sampler *sampler;             /* borrowed, may be NULL */
    struct ck_ring_header *header;       /* borrowed: the ring's */
    struct selfstream *selfstream;       /* borrowed */
    struct symbols *symbols;             /* borrowed, may be NULL */
    char *const *env;                    /* borrowed: the agent's */
    uint64_t pid_space;                  /* the collector's; 0 = not known */
    bool is_told;                        /* symbols_mapped() is called */
    uint32_t slots;                      /* in the ring's table */
    uint32_t told;                       /* incarnations reported */
    uint32_t entries[CK_RING_PROCESSES]; /* of the table: last one reported */
    uint32_t given_back;                 /* entries of the table */
    uint32_t libraries;                  /* of those */
    uint32_t ended[CK_RING_PROCESSES];   /* by entry: the last one recorded */
    ck_time_t alive[CK_RING_PROCESSES];  /* and when it was seen to live */
    unsigned next; /* entry that processes_ends() looks at next */
};

/* Process of an entry of the table, 0 = it has none any more, or the program
 * has written the number of a process there that is none of its own. */
uint32_t processes_pid(const struct processes *processes, unsigned at);

/* Report images that are new since the last call: a PROCESS record, an IDENTITY
 * record where the image has a rank of its own. */
void processes_step(struct processes *processes);

/* Look at the module maps of the images that are still there, where they may
 * have changed. */
void processes_maps(struct processes *processes, ck_time_t now);

/* Record which images ended since the last call, a few at a time, and when: by
 * the kernel, or where that is not known as it is seen here. Called each 10 ms,
 * that is late by no more where there are few, and a CPU is free. */
void processes_ends(struct processes *processes);

/* Once half of the table is in use, give back the entries of dead processes
 * that have no slot any more. True: little is left of it all the same. */
bool processes_give_back(struct processes *processes);

/* Injected libraries that any image used (enum ck_library). */
uint32_t processes_libraries(const struct processes *processes);

#endif
