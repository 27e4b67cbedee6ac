/* spool.h - frames on disk while the aggregator is away or too slow
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A segment file (docs/store.md) in the run directory, else in a directory of
 * its own under TMPDIR. It is made with the first frame that needs it, sent
 * in order when the aggregator is there, and removed when all of it is
 * acknowledged. What is left at the end is for ckmerge. One user, one thread.
 *
 * Some of the disk's room is kept back for the last records: a full disk must
 * not hide what was lost on it.
 */
#ifndef CK_AGENT_STREAM_SPOOL_H
#define CK_AGENT_STREAM_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/batch/wire.h"

#define SPOOL_LIMIT_BYTES ((uint64_t)1 << 30) /* default of --spool-limit */

struct spool;

/* `dir`, or `fallback` where dir cannot be written, are made when needed;
 * copied. NULL with ENOMEM. */
struct spool *spool_create(const char *dir,
                           const char *fallback,
                           const uint8_t agent[16],
                           uint64_t limit);
/* The file stays. */
void spool_destroy(struct spool *spool);

/* Another directory to prefer, as long as there is no file yet. */
void spool_prefer(struct spool *spool, const char *dir);
/* The IDENTITY frame of this agent; a copy opens each new file. */
int spool_identity(struct spool *spool, const void *frame, size_t bytes);
/* Go on with a file that an earlier collector of this agent left. 0 or -1. */
int spool_resume(struct spool *spool, const char *path);

/* Take the room for the last records where frames would be spooled, if that
 * directory is there. To be called now and then: it changes little. */
void spool_prepare(struct spool *spool);
/* The last records come now: the kept room may be used. */
void spool_last(struct spool *spool);
bool spool_is_last(const struct spool *spool);

/* 0, or -1 with errno: of the disk, or ENOSPC for the limit. */
int spool_append(struct spool *spool, const void *frame, size_t bytes);
/* Why a disk took no frame last (ENOSPC, EDQUOT, EFBIG, EIO ...); 0: what was
 * not taken was beyond the limit. */
int spool_error(const struct spool *spool);

/* The oldest frame not yet sent, or NULL: none, or too many of them wait for
 * an acknowledgement. Borrowed until the next call. */
const void *spool_unsent(struct spool *spool, size_t *bytes);
void spool_sent(struct spool *spool);
void spool_rewind(struct spool *spool);
/* Note acknowledged positions; removes the file when all are. */
size_t spool_ack(struct spool *spool, const struct ck_ack *acks, size_t count);

/* Nothing is waiting in the file. */
bool spool_is_empty(const struct spool *spool);
uint64_t spool_bytes(const struct spool *spool);
uint64_t spool_limit(const struct spool *spool);
/* Open the file, so that its place is known. 0, or -1 with errno: neither
 * directory takes it. */
int spool_settle(struct spool *spool);
/* NULL = there is no file; borrowed. */
const char *spool_path(const struct spool *spool);

#endif
