/* comm.h - which communicators of different processes are one
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A process numbers its communicators by itself. Two of different processes
 * are one when they were made in the same way, of the same members, as the
 * same creation from one parent. Only those within which every member is known
 * get a number in the run: no inter-communicators, no cut lists of members.
 */
#ifndef CK_MERGE_MODEL_COMM_H
#define CK_MERGE_MODEL_COMM_H

#include "merge/model/defs.h"
#include "schema/event.h"

/* Enter a COMM record of a process. */
void comm_enter(struct defs *defs,
                uint32_t process,
                const struct ck_text *text);
/* Once the definitions is closed: number them. */
void comm_close(struct defs *defs);
/* NULL = not recorded. */
const struct defs_comm *
comm_find(const struct defs *defs, uint32_t process, uint32_t id);

/* Numbers that these have in every process. */
#define COMM_WORLD 1
#define COMM_SELF 2

/* Rank in the job of a rank of a process's communicator; DEFS_RANK_UNKNOWN
 * where its members are not known. */
int32_t comm_member(const struct defs *defs,
                    uint32_t process,
                    uint32_t id,
                    int32_t rank);
/* Its name, or "split of MPI_COMM_WORLD, 2 ranks"; a kept text. */
const char *comm_label(const struct defs *defs, uint32_t process, uint32_t id);

/* The next range of "0-3,8" at *text, which moves on; false at its end, or
 * where it is none. */
bool comm_range(const char **text, int32_t *first, int32_t *last);

#endif
