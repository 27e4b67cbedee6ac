/* clockbatch.c - many stamped datagrams with one system call
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "aggregator/clock/clockbatch.h"

#include <stdlib.h>
#include <string.h>

#include "schema/clock/stamp.h"

struct came {
    uint8_t bytes[CK_PROBE_BYTES + 1];
    struct sockaddr_storage from;
    _Alignas(struct cmsghdr) char control[CK_STAMP_CONTROL];
    struct iovec piece;
};

struct answer {
    uint8_t bytes[CK_PROBE_PIECES * CK_PROBE_BYTES];
    struct iovec piece;
};

struct clockbatch {
    struct came came[CLOCKBATCH_MAX];
    struct mmsghdr in[CLOCKBATCH_MAX];
    struct answer answers[CLOCKBATCH_MAX];
    struct mmsghdr out[CLOCKBATCH_MAX];
    size_t answers_count;
};

struct clockbatch *clockbatch_create(void)
{
    return calloc(1, sizeof(struct clockbatch));
}

void clockbatch_destroy(struct clockbatch *batch)
{
    free(batch);
}

size_t clockbatch_receive(struct clockbatch *batch, int fd)
{
    int count;

    for (size_t i = 0; i < CLOCKBATCH_MAX; i++) {
        struct came *came = &batch->came[i];

        came->piece = (struct iovec){came->bytes, sizeof(came->bytes)};
        batch->in[i].msg_hdr =
            (struct msghdr){.msg_name = &came->from,
                            .msg_namelen = sizeof(came->from),
                            .msg_iov = &came->piece,
                            .msg_iovlen = 1,
                            .msg_control = came->control,
                            .msg_controllen = sizeof(came->control)};
    }
    count =
        recvmmsg(fd, batch->in, CLOCKBATCH_MAX, MSG_DONTWAIT | MSG_TRUNC, NULL);
    return count > 0 ? (size_t)count : 0;
}

struct clockbatch_item clockbatch_item(struct clockbatch *batch, size_t index)
{
    return (struct clockbatch_item){
        .bytes = batch->came[index].bytes,
        .length = batch->in[index].msg_len,
        .realtime = ck_stamp_of(&batch->in[index].msg_hdr),
    };
}

size_t clockbatch_put(struct clockbatch *batch,
                      size_t index,
                      const uint8_t answer[CK_PROBE_BYTES])
{
    size_t place = batch->answers_count++;
    struct answer *made = &batch->answers[place];

    made->piece = (struct iovec){made->bytes, 0};
    batch->out[place].msg_hdr =
        (struct msghdr){.msg_name = &batch->came[index].from,
                        .msg_namelen = batch->in[index].msg_hdr.msg_namelen,
                        .msg_iov = &made->piece,
                        .msg_iovlen = 1};
    (void)clockbatch_add(batch, place, answer);
    return place;
}

int clockbatch_add(struct clockbatch *batch,
                   size_t place,
                   const uint8_t answer[CK_PROBE_BYTES])
{
    struct answer *made = &batch->answers[place];

    if (made->piece.iov_len == sizeof(made->bytes)) {
        return -1;
    }
    memcpy(made->bytes + made->piece.iov_len, answer, CK_PROBE_BYTES);
    made->piece.iov_len += CK_PROBE_BYTES;
    return 0;
}

size_t clockbatch_answers(const struct clockbatch *batch)
{
    return batch->answers_count;
}

size_t clockbatch_send(struct clockbatch *batch, int fd, size_t first)
{
    int count = sendmmsg(fd, &batch->out[first],
                         (unsigned)(batch->answers_count - first),
                         MSG_DONTWAIT | MSG_NOSIGNAL);

    return count > 0 ? (size_t)count : 0;
}

void clockbatch_clear(struct clockbatch *batch)
{
    batch->answers_count = 0;
}

size_t clockbatch_stamps(int fd, struct clockbatch_stamp stamps[CLOCKBATCH_MAX])
{
    _Alignas(struct cmsghdr) char control[CLOCKBATCH_MAX][CK_STAMP_CONTROL];
    struct mmsghdr messages[CLOCKBATCH_MAX];
    char byte; /* of no stamp: see ck_stamp_sent() */
    struct iovec piece = {.iov_base = &byte, .iov_len = sizeof(byte)};
    int count;

    for (size_t i = 0; i < CLOCKBATCH_MAX; i++) {
        messages[i].msg_hdr =
            (struct msghdr){.msg_iov = &piece,
                            .msg_iovlen = 1,
                            .msg_control = control[i],
                            .msg_controllen = sizeof(control[i])};
    }
    count = recvmmsg(fd, messages, CLOCKBATCH_MAX, MSG_ERRQUEUE | MSG_DONTWAIT,
                     NULL);
    for (int i = 0; i < count; i++) {
        ck_stamp_of_sent(&messages[i].msg_hdr, &stamps[i].number,
                         &stamps[i].realtime);
    }
    return count > 0 ? (size_t)count : 0;
}
