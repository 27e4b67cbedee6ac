/* cuptiuntimed.c - the streams of the buffer that is walked
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/inject/cupti/cuptiuntimed.h"

#include <stdbool.h>
#include <string.h>

#include "agent/inject/cupti/cuptilost.h"

/* Streams looked at in one buffer, a power of two. */
#define UNTIMED_STREAMS 64
/* Lost times recorded for one buffer; all further ones become one. */
#define UNTIMED_SAID 4

struct stream {
    uint64_t key; /* stream + 1; 0 = unused */
    ck_time_t ended;
    uint32_t ended_by; /* correlation */
    bool is_open;      /* work without times */
    uint32_t last;     /* correlation of the newest such work */
    ck_time_t since;
};

static __thread struct {
    struct stream streams[UNTIMED_STREAMS];
    unsigned said;
    bool is_used; /* a bad one was seen: streams are followed */
    bool is_rest;
    ck_time_t rest; /* since when, of those recorded in one */
    ck_time_t requested;
} walk;

static bool is_later(uint32_t left, uint32_t right)
{
    return (int32_t)(left - right) > 0;
}

/* Two streams of one place are followed as one that is never closed. */
static struct stream *stream_of(uint64_t key)
{
    struct stream *stream =
        &walk.streams[(key * 0x9e3779b97f4a7c15ull >> 40) % UNTIMED_STREAMS];

    if (stream->key != key + 1 && !stream->is_open) {
        memset(stream, 0, sizeof(*stream));
        stream->key = key + 1;
    }
    return stream;
}

static void rest_add(ck_time_t since)
{
    walk.rest = walk.is_rest && walk.rest < since ? walk.rest : since;
    walk.is_rest = true;
}

static void stream_close(struct stream *stream, ck_time_t end)
{
    stream->is_open = false;
    if (walk.said < UNTIMED_SAID) {
        walk.said++;
        lost_tell(CK_LOST_DEVICE, 0, stream->since, end);
    } else {
        rest_add(stream->since);
    }
}

void untimed_good(const struct untimed_work *work)
{
    struct stream *stream = stream_of(work->stream);

    if (stream->key != work->stream + 1) {
        return;
    }
    if (stream->is_open && is_later(work->correlation, stream->last) &&
        work->start >= stream->since) {
        stream_close(stream, work->start);
    }
    if (stream->ended < work->end) {
        stream->ended = work->end;
        stream->ended_by = work->correlation;
    }
}

void untimed_bad(const struct untimed_work *work, ck_time_t launched)
{
    struct stream *stream = stream_of(work->stream);
    ck_time_t since = launched == 0 ? walk.requested : launched;

    walk.is_used = true;
    if (stream->key != work->stream + 1) {
        rest_add(since);
        return;
    }
    if (stream->ended > since &&
        is_later(work->correlation, stream->ended_by)) {
        since = stream->ended;
    }
    if (!stream->is_open || since < stream->since) {
        stream->since = since;
    }
    if (!stream->is_open || is_later(work->correlation, stream->last)) {
        stream->last = work->correlation;
    }
    stream->is_open = true;
}

void untimed_begin(ck_time_t requested)
{
    walk.requested = requested;
}

void untimed_end(void)
{
    ck_time_t now = ck_time_raw();

    if (walk.is_used) {
        for (unsigned i = 0; i < UNTIMED_STREAMS; i++) {
            if (walk.streams[i].is_open) {
                rest_add(walk.streams[i].since);
            }
        }
        if (walk.is_rest) {
            lost_tell(CK_LOST_DEVICE, 0, walk.rest, now);
        }
        memset(&walk, 0, sizeof(walk));
    }
}
