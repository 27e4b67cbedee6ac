/* recent.c - which frames of a stream a question about now needs
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/input/recent.h"

#include "schema/event.h"
#include "schema/frame.h"
#include "schema/store/frameindex.h"

/* Of the last frames as many are read as have so many records of calls, within
 * limits. */
#define RECENT_LEAST 4
#define RECENT_RECORDS 256
#define OF(class) ((uint32_t)1 << CK_CLASS_##class)
#define CALLS (OF(CALL) | OF(MESSAGE) | OF(COLLECTIVE))
#define FACTS (OF(TEXT) | OF(MODULE) | OF(OPEN))

static_assert(RECENT_LEAST <= CK_RECENT_MOST, "the index has them");

/* The first of the last frames, which show where its thread is. */
static size_t recent_find(const struct rundir_stream *stream, bool is_longer)
{
    uint64_t wanted = stream->slot == CK_SLOT_COLLECTOR ? 0 : RECENT_RECORDS;
    size_t recent = stream->frames_count;
    uint64_t records = 0;

    for (size_t last = 0; last < CK_RECENT_MOST && recent > 0 &&
                          (last < RECENT_LEAST || records < wanted);
         last++) {
        const struct store_frame *frame = &stream->frames[--recent];

        records += (frame->classes & CALLS) != 0 ? frame->records : 0;
    }
    for (size_t i = 0; is_longer && i < recent; i++) {
        recent = stream->frames[i].is_listed ? recent : i;
    }
    return recent;
}

/* The first of the last frames of the collector that have clock facts: its
 * clock is read once a second. */
static size_t clocks_find(const struct rundir_stream *stream)
{
    size_t at = stream->frames_count;

    for (size_t found = 0; found < CK_RECENT_CLOCKS && at > 0;) {
        found += (stream->frames[--at].classes & OF(CLOCK)) != 0;
    }
    return at;
}

void recent_choose(struct rundir_stream *stream, bool is_longer)
{
    bool is_own = stream->slot == CK_SLOT_COLLECTOR;
    size_t recent = recent_find(stream, is_longer);
    size_t clocks = is_own ? clocks_find(stream) : stream->frames_count;

    for (size_t i = CK_RECENT_FIRST; i < recent; i++) {
        struct store_frame *frame = &stream->frames[i];
        uint32_t needed = FACTS | (i >= clocks ? OF(CLOCK) : 0);

        frame->is_skipped = frame->classes != 0 && !frame->is_thin &&
                            frame->trim == 0 && (frame->classes & needed) == 0;
        stream->skipped |= frame->is_skipped ? frame->classes : 0;
    }
    stream->recent = stream->skipped == 0 ? 0 : recent;
}

void recent_mask(const struct rundir_stream *stream,
                 size_t at,
                 struct store_frame *frame)
{
    if (at < stream->recent) {
        frame->classes &= ~CALLS;
    }
}
