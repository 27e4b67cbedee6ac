/* replay.c - the records of a stored run as LTTng-UST events
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     replay RUN
 *
 * Emits each record as one tracepoint with the same fields, to compare what
 * both take on disk. Waits between frames, so that no LTTng buffer overflows;
 * prints how many it emitted and how many were events (as bytes.c counts
 * them). Clock facts and open calls are left out.
 */
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "tests/bench/replay_tp.h"
#include "tests/bench/walk.h"

struct counts {
    uint64_t emitted;
    uint64_t events;
};

/* True when the record is an event. */
static bool event_emit(const void *record)
{
    const struct ck_event *event = record;

    switch (ck_kind_class(event->kind)) {
    case CK_CLASS_MARK:
        lttng_ust_tracepoint(ckreplay, mark, record);
        return true;
    case CK_CLASS_CALL:
        lttng_ust_tracepoint(ckreplay, call, record);
        return true;
    case CK_CLASS_MESSAGE:
        lttng_ust_tracepoint(ckreplay, message, record);
        return true;
    case CK_CLASS_COLLECTIVE:
        lttng_ust_tracepoint(ckreplay, collective, record);
        return true;
    case CK_CLASS_KERNEL:
        lttng_ust_tracepoint(ckreplay, kernel, record);
        return true;
    case CK_CLASS_COPY:
        lttng_ust_tracepoint(ckreplay, copy, record);
        return true;
    default:
        return false;
    }
}

static bool fact_emit(const void *record)
{
    const struct ck_event *event = record;

    switch (ck_kind_class(event->kind)) {
    case CK_CLASS_COUNTER:
        lttng_ust_tracepoint(ckreplay, counter, record);
        return true;
    case CK_CLASS_TEXT:
    case CK_CLASS_MODULE:
        lttng_ust_tracepoint(ckreplay, text, record);
        return true;
    default:
        return false;
    }
}

static void frame_emit(const struct walk_frame *frame, void *arg)
{
    struct timespec pause = {.tv_nsec = 2000000};
    struct counts *counts = arg;

    for (size_t at = 0; at < frame->rows_bytes;) {
        const struct ck_event *event =
            (const void *)((const uint8_t *)frame->rows + at);
        bool is_event = event_emit(event);

        counts->events += is_event;
        counts->emitted += is_event || fact_emit(event);
        at += (size_t)event->units * CK_UNIT_BYTES;
    }
    (void)nanosleep(&pause, NULL);
}

int main(int argc, char **argv)
{
    struct counts counts = {0, 0};

    if (argc != 2) {
        (void)fprintf(stderr, "usage: replay RUN\n");
        return 2;
    }
    if (walk_run(argv[1], frame_emit, &counts) != 0) {
        return 1;
    }
    (void)printf("emitted %llu events %llu\n",
                 (unsigned long long)counts.emitted,
                 (unsigned long long)counts.events);
    return 0;
}
