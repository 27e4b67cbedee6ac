/* ringfile.h - the ring's file: made, backed slot by slot, removed
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The front creates it; front and collector share it (fork) and both keep its
 * lock, so a file whose lock is free is a leftover. See schema/ring/ring.h for
 * what is inside; the outbox part is agent/ring/outbox.h's.
 */
#ifndef CK_AGENT_RING_RINGFILE_H
#define CK_AGENT_RING_RINGFILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "agent/ring/ringplan.h"
#include "schema/err.h"
#include "schema/ring/ring.h"

struct ringfile {
    struct ck_ring_header *header; /* mapped: header, tables, heads */
    void *outbox;                  /* mapped, header->outbox_bytes */
    uint8_t **bodies;              /* by slot; NULL = not mapped yet */
    uint32_t backed;               /* slots with some memory, from 0 on */
    /* Of all that is decided at creation: the target can write to the header,
     * not here. */
    struct ringplan plan;
    uint64_t slot_offset; /* of body 0 in the file */
    enum ck_clock clock;
    uint32_t rank; /* ~0u = not known */
    uint8_t agent[16];
    uint64_t first_bytes; /* of a slot before it is used */
    uint32_t narrow;   /* slots in use that are small or have not all memory */
    bool is_full;      /* the file system gave no more */
    bool is_tight;     /* wish->memory is the reason of its size */
    char refused[160]; /* why it is in no directory of the usual name, "" */
    int fd;
    char path[256];
};

/* What ringfile_create() is given. */
struct ringfile_wish {
    const char *dir; /* NULL: /dev/shm/ck-<uid>, else TMPDIR; see ringdir.h */
    struct ringplan plan;
    uint64_t bound;   /* bytes of the ring at most, 0 = its share */
    uint64_t memory;  /* bytes that all rings of the host may take; 0: any */
    unsigned sharers; /* agents on this host, 0 = not known */
    enum ck_clock clock;
    uint32_t rank; /* ~0u = not known */
    uint32_t size;
    uint8_t agent[16];
};

/* Make the file with its first slots backed. 0, or -1 with err. */
int ringfile_create(struct ringfile *ring,
                    const struct ringfile_wish *wish,
                    struct ck_err *err);
/* Unmap and close; the file stays. */
void ringfile_fini(struct ringfile *ring);
/* Remove the file's name: mapped memory stays usable. */
void ringfile_unlink(struct ringfile *ring);

/* Give the first part of their memory to more slots until `ahead` of them are
 * free, at most `most` in this call. Returns the slots that were added.
 */
unsigned ringfile_back(struct ringfile *ring, unsigned ahead, unsigned most);
/* Give all of their memory to slots that are being filled, and to free ones
 * until `ahead` of these are whole; at most `most` in this call. Returns how
 * many that were.
 */
unsigned ringfile_widen(struct ringfile *ring, unsigned ahead, unsigned most);
/* Look what has memory: another process may have given it. */
void ringfile_look(struct ringfile *ring);
/* At the end: a thread that outlives the collector may record into a slot that
 * was given back as it was empty. Such slots become ENDED, to be emptied once
 * more. */
void ringfile_reopen(struct ringfile *ring);
/* Slots that a thread may claim. */
unsigned ringfile_free(const struct ringfile *ring);
/* Has the target overwritten what never changes in the header, or (`is_off` =
 * whether we did) ended the recording? */
bool ringfile_is_overwritten(const struct ringfile *ring, bool is_off);
/* RAW when a collector ran last; 0 = none did, or that was overwritten. */
ck_time_t ringfile_alive(const struct ringfile *ring);
/* Units taken so far from all slots, by all collectors of the ring. */
uint64_t ringfile_taken(const struct ringfile *ring);

/* Size of the slot's body once it has all its memory. */
uint64_t ringfile_body_bytes(const struct ringfile *ring, uint32_t slot);
/* The slot's body, mapped twice in a row for reading. NULL with errno. */
const uint8_t *ringfile_body(struct ringfile *ring, uint32_t slot);

/* Is it a ring's file with a part cut off? What was there is gone, and
 * with it the sums over the rest. */
bool ringfile_is_shortened(int fd);

/* Open a ring file that no agent holds, to be its only reader. 0, or -1 with
 * errno: EWOULDBLOCK its agent lives, EPROTO not a ring of this version,
 * EPERM it or its directory is not this user's alone.
 */
int ringfile_adopt(struct ringfile *ring, const char *path);

#endif
