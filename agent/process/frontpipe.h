/* frontpipe.h - what front and collector send to each other
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A SOCK_SEQPACKET pair; end of file means that the other one is gone.
 */
#ifndef CK_AGENT_PROCESS_FRONTPIPE_H
#define CK_AGENT_PROCESS_FRONTPIPE_H

#include <stddef.h>
#include <stdint.h>

#define FRONTPIPE_TEXT 16384

enum frontpipe_type {
    FRONTPIPE_ENDED =
        1, /* front: the target has ended (struct frontpipe_end) */
    FRONTPIPE_FLUSH = 2,  /* front: a signal came (int32_t), we may be killed */
    FRONTPIPE_REPORT = 3, /* collector: a piece of the report's text */
    FRONTPIPE_PLACE = 4,  /* collector: where the run is or the spool (text) */
    FRONTPIPE_WARN = 6,   /* collector: a line for the user */
    FRONTPIPE_DONE = 5,   /* collector: nothing more will come */
    FRONTPIPE_BEGUN = 7,  /* front: the target runs */
    FRONTPIPE_MEET = 11,  /* front: it waits until an aggregator answers */
    FRONTPIPE_NEVER = 8, /* front: it could not be run (struct frontpipe_end) */
    FRONTPIPE_READY = 9, /* collector: the aggregator answered */
    FRONTPIPE_ALONE = 10, /* collector: there will be none */
    FRONTPIPE_LEAD = 12,  /* collector: no other agent will show the report */
    FRONTPIPE_FACT = 13,  /* collector: a line for the user, no warning */
    FRONTPIPE_STOPS =
        14, /* front: it stops as the target did; its pid (int32_t)
             */
    FRONTPIPE_WOKEN = 15,   /* front: it goes on */
    FRONTPIPE_WATCHES = 16, /* collector: the kernel's records have rings */
};

struct frontpipe_end {
    int32_t status; /* as wait() gives it */
    uint32_t pad;
    int64_t ended; /* when that was seen, RAW */
    int64_t user_ns;
    int64_t system_ns;
    int64_t rss_kb;
    int64_t minor_faults;
    int64_t major_faults;
    int64_t voluntary;
    int64_t preempted;
};

struct frontpipe_message {
    uint32_t type; /* enum frontpipe_type */
    uint32_t length;
    union {
        struct frontpipe_end end;
        int32_t signal;
        int32_t pid;
        char text[FRONTPIPE_TEXT];
    } u;
};

struct rusage;

/* A process that ended so, with what it used. */
void frontpipe_end_fill(struct frontpipe_end *end,
                        int status,
                        const struct rusage *usage);
/* Both ends, close-on-exec. 0 or -1 with errno. */
int frontpipe_open(int ends[2]);
/* Waits for room in the socket, not for the reader's work. 0 or -1. */
int frontpipe_send(int fd,
                   enum frontpipe_type type,
                   const void *data,
                   size_t length);
/* 1 and *message, 0 nothing there now, -1 the other end is gone. */
int frontpipe_receive(int fd, struct frontpipe_message *message);

#endif
