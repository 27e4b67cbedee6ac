/* channel.h - what front and collector say to each other
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A SOCK_SEQPACKET pair; end of file means that the other one is gone.
 */
#ifndef CK_AGENT_PROCESS_CHANNEL_H
#define CK_AGENT_PROCESS_CHANNEL_H

#include <stddef.h>
#include <stdint.h>

#define CHANNEL_TEXT 16384

enum channel_type {
    CHANNEL_ENDED = 1,  /* front: the target has ended (struct channel_end) */
    CHANNEL_FLUSH = 2,  /* front: a signal came (int32_t), we may be killed */
    CHANNEL_REPORT = 3, /* collector: a piece of the report's text */
    CHANNEL_PLACE = 4,  /* collector: where the run is or the spool (text) */
    CHANNEL_WARN = 6,   /* collector: a line for the user */
    CHANNEL_DONE = 5,   /* collector: nothing more will come */
    CHANNEL_BEGUN = 7,  /* front: the target runs */
    CHANNEL_MEET = 11,  /* front: it waits until an aggregator answers */
    CHANNEL_NEVER = 8,  /* front: it could not be run (struct channel_end) */
    CHANNEL_READY = 9,  /* collector: the aggregator answered */
    CHANNEL_ALONE = 10, /* collector: there will be none */
    CHANNEL_LEAD = 12,  /* collector: nobody else will show the report */
};

struct channel_end {
    int32_t status; /* as wait() gives it */
    uint32_t pad;
    int64_t user_ns;
    int64_t system_ns;
    int64_t rss_kb;
    int64_t minor_faults;
    int64_t major_faults;
    int64_t voluntary;
    int64_t preempted;
};

struct channel_message {
    uint32_t type; /* enum channel_type */
    uint32_t length;
    union {
        struct channel_end end;
        int32_t signal;
        char text[CHANNEL_TEXT];
    } u;
};

struct rusage;

/* A process that ended so, with what it used. */
void channel_end_fill(struct channel_end *end,
                      int status,
                      const struct rusage *usage);
/* Both ends, close-on-exec. 0 or -1 with errno. */
int channel_open(int ends[2]);
/* Waits for room in the socket, not for the reader's work. 0 or -1. */
int channel_send(int fd,
                 enum channel_type type,
                 const void *data,
                 size_t length);
/* 1 and *message, 0 nothing there now, -1 the other end is gone. */
int channel_receive(int fd, struct channel_message *message);

#endif
