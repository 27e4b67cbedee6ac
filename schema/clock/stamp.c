/* stamp.c - when a packet passed the kernel, on RAW
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * off = REALTIME - RAW moves as a time service steers REALTIME. Between two
 * brackets it is taken as a straight line, wrong by no more than it moved
 * (it may have moved at once). From one bracket the error grows with the
 * distance, by the fastest that the kernel steers (500 ppm). The smaller error
 * counts.
 *
 * The first socket of a machine that wants stamps has them switched on a
 * moment later: its first packets have none.
 */
#include "schema/clock/stamp.h"

#include <string.h>
#include <time.h>

#include <linux/errqueue.h>
#include <linux/net_tstamp.h>
#include <netinet/in.h>

#define READINGS 5
/* Two readings that agree to so many ns are as tight as it gets. */
#define AGREE 2
/* Brackets further apart are no pair. */
#define NEAR (2 * CK_TIME_S)
#define REACH (2 * CK_TIME_S)
#define STEER_PPM 600

static int64_t distance(int64_t a, int64_t b)
{
    return a > b ? a - b : b - a;
}

void ck_bracket_read(struct ck_bracket *bracket)
{
    struct ck_bracket best = {.width = INT64_MAX};
    bool is_agreed = false;

    for (int i = 0; i < READINGS && !is_agreed; i++) {
        ck_time_t before = ck_time_raw();
        int64_t realtime = ck_time_of(CLOCK_REALTIME);
        ck_time_t after = ck_time_raw();
        ck_time_t width = (after - before + 1) / 2;
        is_agreed = distance(width, best.width) <= AGREE;
        if (width < best.width) {
            best.realtime = realtime;
            best.raw = before + (after - before) / 2;
            best.width = width;
        }
    }
    *bracket = best;
}

static int64_t steered(ck_time_t duration)
{
    return duration / (1000000 / STEER_PPM) + 1;
}

static int pair_raw(const struct ck_bracket *before,
                    const struct ck_bracket *after,
                    int64_t realtime,
                    ck_time_t *raw,
                    ck_time_t *error)
{
    int64_t first = before->realtime - before->raw;
    int64_t moved = after->realtime - after->raw - first;
    int64_t span = after->realtime - before->realtime;
    int64_t noise = before->width + after->width;
    int64_t real = distance(moved, 0) > noise ? distance(moved, 0) - noise : 0;

    if (real > steered(after->raw - before->raw)) {
        return -1;
    }
    *raw = realtime - first -
           (int64_t)((__int128)moved * (realtime - before->realtime) / span);
    *error = (before->width > after->width ? before->width : after->width) +
             real + 1;
    return 0;
}

int ck_bracket_raw(const struct ck_bracket *before,
                   const struct ck_bracket *after,
                   int64_t realtime,
                   ck_time_t *raw,
                   ck_time_t *error)
{
    int64_t age = after->realtime - realtime;
    ck_time_t between;
    ck_time_t between_error;

    if (age < -after->width || age > REACH) {
        return -1;
    }
    *raw = realtime - (after->realtime - after->raw);
    *error = after->width + steered(age < 0 ? 0 : age);
    if (before == NULL || realtime < before->realtime ||
        after->raw - before->raw >= NEAR || after->raw <= before->raw ||
        after->realtime <= before->realtime) {
        return 0;
    }
    if (pair_raw(before, after, realtime, &between, &between_error) != 0) {
        return -1;
    }
    if (between_error < *error) {
        *raw = between;
        *error = between_error;
    }
    return 0;
}

bool ck_bracket_is_steady(const struct ck_bracket *before,
                          const struct ck_bracket *after)
{
    int64_t moved =
        distance(after->realtime - after->raw, before->realtime - before->raw);

    return moved <= before->width + after->width +
                        steered(distance(after->raw, before->raw));
}

static int flags_set(int fd, int flags)
{
    return setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &flags, sizeof(flags));
}

#define STAMP_FLAGS                                                            \
    (SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_TX_SOFTWARE |             \
     SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_OPT_TSONLY)

int ck_stamp_enable(int fd)
{
    return flags_set(fd, STAMP_FLAGS | SOF_TIMESTAMPING_OPT_ID);
}

int ck_stamp_restart(int fd)
{
    uint32_t number;
    int64_t realtime;

    if (flags_set(fd, STAMP_FLAGS) != 0) {
        return -1;
    }
    while (ck_stamp_sent(fd, &number, &realtime) == 1) {
    }
    return ck_stamp_enable(fd);
}

static int64_t item_stamp(const struct cmsghdr *item)
{
    struct scm_timestamping stamps;

    memcpy(&stamps, CMSG_DATA(item), sizeof(stamps));
    return (int64_t)stamps.ts[0].tv_sec * CK_TIME_S + stamps.ts[0].tv_nsec;
}

int64_t ck_stamp_of(struct msghdr *message)
{
    int64_t stamp = 0;

    for (struct cmsghdr *item = CMSG_FIRSTHDR(message); item != NULL;
         item = CMSG_NXTHDR(message, item)) {
        if (item->cmsg_level == SOL_SOCKET &&
            item->cmsg_type == SCM_TIMESTAMPING) {
            stamp = item_stamp(item);
        }
    }
    return stamp;
}

ssize_t
ck_stamp_receive(int fd, void *bytes, size_t room, struct ck_arrival *arrival)
{
    _Alignas(struct cmsghdr) char control[CK_STAMP_CONTROL];
    struct iovec piece = {.iov_base = bytes, .iov_len = room};
    struct msghdr message = {.msg_name = &arrival->from,
                             .msg_namelen = sizeof(arrival->from),
                             .msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof(control)};
    ssize_t length = recvmsg(fd, &message, MSG_DONTWAIT | MSG_TRUNC);

    arrival->realtime = 0;
    if (length < 0) {
        return -1;
    }
    arrival->from_length = message.msg_namelen;
    arrival->realtime = ck_stamp_of(&message);
    return length;
}

void ck_stamp_of_sent(struct msghdr *message,
                      uint32_t *number,
                      int64_t *realtime)
{
    struct sock_extended_err about = {.ee_errno = 0};
    int64_t stamp = ck_stamp_of(message);

    for (struct cmsghdr *item = CMSG_FIRSTHDR(message); item != NULL;
         item = CMSG_NXTHDR(message, item)) {
        if ((item->cmsg_level == SOL_IP && item->cmsg_type == IP_RECVERR) ||
            (item->cmsg_level == SOL_IPV6 && item->cmsg_type == IPV6_RECVERR)) {
            memcpy(&about, CMSG_DATA(item), sizeof(about));
        }
    }
    if (about.ee_origin != SO_EE_ORIGIN_TIMESTAMPING) {
        stamp = 0; /* an ICMP error: of no datagram */
    }
    *number = stamp == 0 ? UINT32_MAX : about.ee_data;
    *realtime = stamp;
}

int ck_stamp_sent(int fd, uint32_t *number, int64_t *realtime)
{
    _Alignas(struct cmsghdr) char control[CK_STAMP_CONTROL];
    /* A stamp comes without bytes; but where there is no place for any, QEMU
     * (user mode) reports without a look that one came. */
    char byte;
    struct iovec piece = {.iov_base = &byte, .iov_len = sizeof(byte)};
    struct msghdr message = {.msg_iov = &piece,
                             .msg_iovlen = 1,
                             .msg_control = control,
                             .msg_controllen = sizeof(control)};

    if (recvmsg(fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) {
        return 0;
    }
    ck_stamp_of_sent(&message, number, realtime);
    return 1;
}
