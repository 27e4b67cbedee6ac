/* synth.h - runs made by hand, with a known truth
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Writes the same frames that an agent would, through the schema's own
 * encoder. Used by the tests of merge only; failures end the test.
 */
#ifndef CK_TESTS_MERGE_SYNTH_H
#define CK_TESTS_MERGE_SYNTH_H

#include <stddef.h>
#include <stdint.h>

#include "schema/event.h"
#include "schema/frame.h"
#include "schema/time.h"

struct synth;

/* The identity of a rank. */
struct synth_rank {
    int rank;
    int size;
    const char *host;
    const char *timens;
    enum ck_clock clock; /* of its batches */
    int64_t start_raw;
    int64_t start_realtime;
};

/* Write the run's manifest: the agents as JSON objects, "" = none; of a job
 * that has ended. Each synth_create() does that where there is none. */
void synth_manifest(const char *dir, const char *agents);

/* A temporary directory; its name is the caller's to free. */
char *synth_dir(void);
/* Remove it with what is in it. */
void synth_remove(char *dir);

/* An agent whose id is made of the number, in dir; writes its identity. */
struct synth *
synth_create(const char *dir, unsigned number, const struct synth_rank *rank);
/* Flush and close. */
void synth_destroy(struct synth *synth);

/* The frame to which records go from now on: a thread's stream, or the
 * collector's (incarnation 0, CK_SLOT_COLLECTOR). Ends the frame before. */
void synth_stream(struct synth *synth,
                  uint32_t incarnation,
                  uint32_t slot,
                  uint32_t tid);
/* Append a record; units are set from the class. */
void synth_put(struct synth *synth, void *record);
void synth_text(struct synth *synth,
                enum ck_kind kind,
                uint32_t name,
                uint64_t object,
                uint32_t extra,
                const char *bytes,
                size_t length);
/* End the frame: what follows is another one of the same stream. */
void synth_flush(struct synth *synth);
/* Write the frame that was flushed last once more. */
void synth_repeat(struct synth *synth);
/* Leave out so many units of the current stream. */
void synth_skip(struct synth *synth, uint32_t units);
/* Go to a position (in units) of the current stream: back, or forward. */
void synth_seek(struct synth *synth, uint64_t position);
/* End the frame, then bytes that are no frame, then that frame once more. The
 * last call but synth_destroy(). */
void synth_garbage(struct synth *synth, const char *dir);

/* Records of one shape, put at once. */
void synth_call(struct synth *synth,
                enum ck_kind kind,
                uint32_t name,
                int64_t start,
                int64_t dur,
                uint64_t site,
                uint32_t call);
void synth_kernel(struct synth *synth,
                  uint32_t name,
                  int64_t start,
                  int64_t dur,
                  uint32_t tid,
                  uint32_t call);
void synth_step(struct synth *synth,
                int64_t start,
                int64_t dur,
                int64_t number);
/* The target ended then; the record comes later. */
void synth_exit(struct synth *synth, int status, int64_t raw, int64_t cpu_ns);
/* ... and the collector did not see how; its key=value lines. */
void synth_exit_unseen(struct synth *synth, const char *lines);

#endif
