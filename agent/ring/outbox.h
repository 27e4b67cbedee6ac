/* outbox.h - a ring of sealed frames in the ring file
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The collector puts frames in, sends them, and frees them when they are
 * acknowledged; a collector that takes over finds them where they were. One
 * user, one thread; the memory is shared only over time.
 *
 *   | outbox_head | entry | entry | ... | filler |   entry = 16 bytes + frame
 */
#ifndef CK_AGENT_RING_OUTBOX_H
#define CK_AGENT_RING_OUTBOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/batch/wire.h"

/* First pages of the outbox in the ring file: all that a restarted collector
 * must know, or one that comes when both collector and front are gone. */
struct outbox_head {
    uint64_t magic;
    uint64_t bytes;      /* of the entries' area */
    uint64_t head;       /* next byte to write; never wraps */
    uint64_t tail;       /* oldest byte in use */
    uint64_t own_next;   /* next position of the collector's own stream */
    uint64_t spooled;    /* frames that went to the spool so far */
    uint64_t stored;     /* payload bytes sealed so far (for --limit) */
    uint64_t records;    /* records sealed so far */
    uint64_t lost;       /* records lost between slot and spool so far */
    uint64_t collectors; /* that have worked on it */
    char spool[1024];    /* path of the spool file; "" = none */
    char dir[1024];      /* where a spool file is to be; "" = not known */
    uint32_t identity_bytes;
    uint32_t pad0;
    uint64_t identity[757]; /* the sealed IDENTITY frame of this agent */
};

_Static_assert(sizeof(struct outbox_head) == 8192, "whole pages");

enum outbox_state {
    OUTBOX_FILLER = 0, /* unused bytes up to the end of the area */
    OUTBOX_SEALED = 1,
    OUTBOX_SENT = 2,
    OUTBOX_ACKED = 3,
};

struct outbox_entry {
    uint32_t bytes; /* of the frame; filler: of this entry as a whole */
    uint32_t state; /* enum outbox_state */
    uint64_t reserved;
};

/* Places are kept here; the file has a copy for who reads it after a crash. The
 * copy is read once, and checked, for a program may overwrite it. */
struct outbox {
    struct outbox_head *head; /* borrowed: the ring file's */
    uint8_t *area;
    uint64_t bytes;  /* of the area */
    uint64_t end;    /* as head->head */
    uint64_t tail;   /* as head->tail */
    uint64_t send;   /* next entry to send */
    uint64_t broken; /* times that entries were overwritten, and all dropped */
};

/* Use `memory` (whole pages): as it is when it holds an outbox, else fresh.
 * Entries sent but not acknowledged become unsent. 0, or -1 with errno
 * (EINVAL: too small; EPROTO: damaged, nothing was changed).
 */
int outbox_init(struct outbox *outbox, void *memory, size_t bytes);

/* Room for a frame of so many bytes (a multiple of 8), or NULL: full. */
void *outbox_reserve(struct outbox *outbox, size_t bytes);
/* The frame reserved last is complete, with `bytes` <= what was reserved. */
void outbox_commit(struct outbox *outbox, size_t bytes);

/* Keep the frame that opens every spool file, and the directory for it. What
 * is too long is left out. */
void outbox_keep_identity(struct outbox *outbox,
                          const void *frame,
                          size_t bytes);
void outbox_keep_dir(struct outbox *outbox, const char *dir);

/* The oldest frame not yet sent, or NULL; borrowed until it is freed. */
const void *outbox_unsent(struct outbox *outbox, size_t *bytes);
/* Bytes from that frame on. */
uint64_t outbox_waiting(const struct outbox *outbox);
/* The frame that outbox_unsent() gave was handed over. */
void outbox_sent(struct outbox *outbox);
/* Everything that is not acknowledged is to be sent again. */
void outbox_rewind(struct outbox *outbox);

/* Note acknowledged positions and free what can be freed. Returns the frames
 * that were newly acknowledged. */
size_t
outbox_ack(struct outbox *outbox, const struct ck_ack *acks, size_t count);

/* The oldest frame, or NULL when there is none; outbox_pop() frees it. */
const void *outbox_oldest(struct outbox *outbox, size_t *bytes);
void outbox_pop(struct outbox *outbox);

/* Walk the frames from old to new: *at = 0 at first. NULL at the end. */
const void *
outbox_walk(const struct outbox *outbox, uint64_t *at, size_t *bytes);

bool outbox_is_empty(const struct outbox *outbox);
/* Bytes in use. */
uint64_t outbox_used(const struct outbox *outbox);
/* Largest frame that an empty outbox takes. */
size_t outbox_frame_max(const struct outbox *outbox);

#endif
