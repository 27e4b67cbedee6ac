/* stamp.h - when a packet passed the kernel, on RAW
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The kernel stamps packets with REALTIME as they pass it (SO_TIMESTAMPING,
 * software stamps, both directions), long before a program is woken up. A
 * bracket reads RAW, REALTIME, RAW; between two of them a REALTIME stamp
 * becomes RAW with a stated error. Any thread; a socket belongs to its caller.
 */
#ifndef CK_SCHEMA_CLOCK_STAMP_H
#define CK_SCHEMA_CLOCK_STAMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>

#include "schema/time.h"

/* Both clocks at one moment. */
struct ck_bracket {
    int64_t realtime;
    ck_time_t raw;
    ck_time_t width; /* raw is wrong by so much at most */
};

/* The tightest of 2 to 5 readings, about 0.2 us. */
void ck_bracket_read(struct ck_bracket *bracket);
/* RAW at a REALTIME stamp that is not after `after`. `before` (NULL = none) is
 * used when it is near. 0, or -1: REALTIME was set in between, or the stamp
 * is out of reach. */
int ck_bracket_raw(const struct ck_bracket *before,
                   const struct ck_bracket *after,
                   int64_t realtime,
                   ck_time_t *raw,
                   ck_time_t *error);

/* REALTIME was only steered from one moment to the later one, not set. */
bool ck_bracket_is_steady(const struct ck_bracket *before,
                          const struct ck_bracket *after);

/* Stamp what the socket receives and sends from now on. Sent datagrams are
 * numbered from 0, bytes of a TCP stream by their position. 0, or -1 with
 * errno. */
int ck_stamp_enable(int fd);
/* After a send that failed: number from 0 again. */
int ck_stamp_restart(int fd);

struct ck_arrival {
    int64_t realtime; /* 0 = the kernel gave none */
    struct sockaddr_storage from;
    socklen_t from_length;
};

/* recvmsg() without waiting. Length (more than room: it was cut), or -1 with
 * errno (EAGAIN: nothing there). */
ssize_t
ck_stamp_receive(int fd, void *bytes, size_t room, struct ck_arrival *arrival);
/* Next stamp of something sent: 1; 0 when there is none. */
int ck_stamp_sent(int fd, uint32_t *number, int64_t *realtime);

/* Room for what comes beside a message. */
#define CK_STAMP_CONTROL 256
/* The same of messages that were received by other means: the stamp of a
 * datagram, 0 = none; and, from the error queue, that of something sent
 * (*realtime 0: it is none). */
int64_t ck_stamp_of(struct msghdr *message);
void ck_stamp_of_sent(struct msghdr *message,
                      uint32_t *number,
                      int64_t *realtime);

#endif
