/* unowned.h - CPU samples of processes that have no entry in the ring's table
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The first samples of such a process are held back. Is it found computing for
 * a while, it is enrolled, and they are its own after all. Those of one that
 * ends or execs before, and of one whose memory may not be read, are counted.
 */
#ifndef CK_AGENT_PERF_UNOWNED_H
#define CK_AGENT_PERF_UNOWNED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/perf/samplelimits.h"
#include "agent/stream/selfstream.h"
#include "schema/event.h"
#include "schema/ring/ring.h"

/* How long a process has computed when it is entered. */
#define UNOWNED_NS (30 * CK_TIME_MS)
/* Samples that are held back, of all processes. */
#define UNOWNED_MAX 256

struct unowned;

struct unowned_sample {
    struct ck_sample record; /* e.name and stack are not yet known */
    uint32_t pid;
    uint32_t count; /* of frames */
    uint64_t frames[SAMPLER_FRAMES_MAX];
};

/* `period`: CPU time of a sample, ns. NULL with ENOMEM. */
struct unowned *unowned_create(pid_t target, int64_t period);
void unowned_destroy(struct unowned *unowned);

/* Hold or count a sample. True: its process is enrolled now, and what was held
 * of it waits for unowned_next(). */
bool unowned_take(struct unowned *unowned,
                  struct ck_ring_header *header,
                  const struct unowned_sample *sample);
/* Was it? Of very many the last ones. */
bool unowned_has_enrolled(const struct unowned *unowned, uint32_t pid);
/* Take back the oldest sample of that process: false = none is left. */
bool unowned_next(struct unowned *unowned,
                  uint32_t pid,
                  struct unowned_sample *sample);
/* What ran under that number ended then: what is held of it is counted. */
void unowned_forget(struct unowned *unowned, uint32_t pid, ck_time_t since);
/* A sample that no image can have any more. */
void unowned_drop(struct unowned *unowned, const struct unowned_sample *sample);

/* The note on them, if they are worth one. `owned`: samples that have an
 * owner. */
void unowned_notes(struct unowned *unowned,
                   uint64_t owned,
                   struct selfstream *selfstream);

#endif
