/* frontpipe.c - what front and collector send to each other
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/process/frontpipe.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "schema/time.h"

void frontpipe_end_fill(struct frontpipe_end *end,
                        int status,
                        const struct rusage *usage)
{
    *end = (struct frontpipe_end){
        .status = status,
        .ended = ck_time_raw(),
        .user_ns = (int64_t)usage->ru_utime.tv_sec * CK_TIME_S +
                   (int64_t)usage->ru_utime.tv_usec * 1000,
        .system_ns = (int64_t)usage->ru_stime.tv_sec * CK_TIME_S +
                     (int64_t)usage->ru_stime.tv_usec * 1000,
        .rss_kb = usage->ru_maxrss,
        .minor_faults = usage->ru_minflt,
        .major_faults = usage->ru_majflt,
        .voluntary = usage->ru_nvcsw,
        .preempted = usage->ru_nivcsw,
    };
}

int frontpipe_open(int ends[2])
{
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends);
}

int frontpipe_send(int fd,
                   enum frontpipe_type type,
                   const void *data,
                   size_t length)
{
    struct frontpipe_message message;
    size_t whole = offsetof(struct frontpipe_message, u) + length;
    ssize_t n;

    if (length > FRONTPIPE_TEXT) {
        errno = EMSGSIZE;
        return -1;
    }
    message.type = type;
    message.length = (uint32_t)length;
    if (length > 0) {
        memcpy(&message.u, data, length);
    }
    do {
        n = send(fd, &message, whole, MSG_NOSIGNAL);
    } while (n < 0 && errno == EINTR);
    return n == (ssize_t)whole ? 0 : -1;
}

int frontpipe_receive(int fd, struct frontpipe_message *message)
{
    size_t head = offsetof(struct frontpipe_message, u);
    ssize_t n = recv(fd, message, sizeof(*message), MSG_DONTWAIT);

    /* Once, and before what it sent, an end that left mail unread is an error.
     */
    if (n < 0 && errno == ECONNRESET) {
        n = recv(fd, message, sizeof(*message), MSG_DONTWAIT);
    }
    if (n < 0) {
        return errno == EAGAIN || errno == EINTR ? 0 : -1;
    }
    if ((size_t)n < head || message->length != (size_t)n - head) {
        return -1;
    }
    return 1;
}
