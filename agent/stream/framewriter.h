/* framewriter.h - records become frames: encoded, sealed, in outbox or spool
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The one way from a slot (or the collector's own buffer) to the outside.
 * Frames of a stream leave in order: while the spool holds frames, new ones
 * queue up behind them. One user, one thread.
 */
#ifndef CK_AGENT_STREAM_FRAMEWRITER_H
#define CK_AGENT_STREAM_FRAMEWRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/ring/outbox.h"
#include "agent/stream/spool.h"
#include "schema/batch/wire.h"
#include "schema/frame.h"
#include "schema/time.h"

struct framewriter {
    struct outbox outbox;
    struct spool *spool; /* borrowed */
    uint8_t agent[16];
    enum ck_pack pack;
    struct ck_batch_writer *writer;
    void *scratch; /* for frames that go to the spool */
    size_t scratch_room;
    bool is_settled; /* the run directory is known */
};

/* `memory` is the ring file's outbox. 0, or -1 with errno. */
int framewriter_init(struct framewriter *framewriter,
                     void *memory,
                     size_t bytes,
                     struct spool *spool,
                     const uint8_t agent[16]);
void framewriter_fini(struct framewriter *framewriter);

/* The aggregator's run directory, "" = not known: spools belong there too. To
 * be called now and then. */
void framewriter_settle(struct framewriter *framewriter, const char *dir);

/* What one frame is made of. */
struct framewriter_cut {
    struct ck_stream stream;
    enum ck_clock clock;
    uint32_t pid;
    uint32_t tid;
    uint64_t first;      /* position of the first record */
    const void *records; /* whole records one after the other */
    size_t bytes;
};

/* Make a frame of as many records as one frame takes. *units = what was
 * taken. 0, or -1 with errno: ENOSPC neither outbox nor spool took it,
 * EBADMSG a record is not well formed. Nothing was taken then.
 */
int framewriter_put(struct framewriter *framewriter,
                    const struct framewriter_cut *cut,
                    uint32_t *units);

/* Move all frames from the outbox to the spool (none will be fetched). 0,
 * or -1 with errno ENOSPC: some are left. */
int framewriter_spool_all(struct framewriter *framewriter);

/* The same at the end of all: frames of slots that find no room any more are
 * dropped. Returns how many records that were. */
uint64_t framewriter_spool_rest(struct framewriter *framewriter);

/* Note acknowledged positions. Returns the frames that were freed. */
size_t framewriter_ack(struct framewriter *framewriter,
                       const struct ck_ack *acks,
                       size_t count);
/* Everything is acknowledged. */
bool framewriter_is_empty(const struct framewriter *framewriter);

#endif
