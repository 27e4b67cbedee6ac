/* replay_tp.h - LTTng tracepoints with the fields of ck's records
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * All fields of kind.def but the start, for which LTTng has its own stamp.
 */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER ckreplay
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "tests/bench/replay_tp.h"

#if !defined(CK_TESTS_BENCH_REPLAY_TP_H) ||                                    \
    defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define CK_TESTS_BENCH_REPLAY_TP_H

#include <lttng/tracepoint.h>
#include <stdint.h>

#include "schema/event.h"

/* clang-format off */
#define REPLAY_HEAD                                                            \
    lttng_ust_field_integer(uint16_t, kind, r->e.kind)                         \
    lttng_ust_field_integer(uint8_t, flags, r->e.flags)                        \
    lttng_ust_field_integer(uint32_t, name, r->e.name)
#define REPLAY_32(field) lttng_ust_field_integer(uint32_t, field, r->field)
#define REPLAY_64(field) lttng_ust_field_integer(uint64_t, field, r->field)

LTTNG_UST_TRACEPOINT_EVENT(ckreplay, mark,
    LTTNG_UST_TP_ARGS(const struct ck_mark *, r),
    LTTNG_UST_TP_FIELDS(REPLAY_HEAD REPLAY_64(dur) REPLAY_64(value)))

LTTNG_UST_TRACEPOINT_EVENT(ckreplay, call,
    LTTNG_UST_TP_ARGS(const struct ck_call *, r),
    LTTNG_UST_TP_FIELDS(REPLAY_HEAD REPLAY_64(dur) REPLAY_64(site)
        REPLAY_32(call) REPLAY_32(object) REPLAY_64(bytes) REPLAY_64(arg)
        REPLAY_64(extra)))

LTTNG_UST_TRACEPOINT_EVENT(ckreplay, message,
    LTTNG_UST_TP_ARGS(const struct ck_message *, r),
    LTTNG_UST_TP_FIELDS(REPLAY_HEAD REPLAY_64(dur) REPLAY_64(site)
        REPLAY_32(call) REPLAY_32(comm) REPLAY_32(peer) REPLAY_32(tag)
        REPLAY_64(bytes) REPLAY_64(request)))

LTTNG_UST_TRACEPOINT_EVENT(ckreplay, collective,
    LTTNG_UST_TP_ARGS(const struct ck_collective *, r),
    LTTNG_UST_TP_FIELDS(REPLAY_HEAD REPLAY_64(dur) REPLAY_64(site)
        REPLAY_32(call) REPLAY_32(comm) REPLAY_32(seq) REPLAY_32(root)
        REPLAY_64(bytes_out) REPLAY_64(bytes_in) REPLAY_64(request)))

LTTNG_UST_TRACEPOINT_EVENT(ckreplay, kernel,
    LTTNG_UST_TP_ARGS(const struct ck_kernel *, r),
    LTTNG_UST_TP_FIELDS(REPLAY_HEAD REPLAY_64(dur) REPLAY_64(queued)
        REPLAY_64(submitted) REPLAY_32(tid) REPLAY_32(call) REPLAY_32(device)
        REPLAY_32(queue)
        lttng_ust_field_array(uint32_t, global, r->global, 3)
        lttng_ust_field_array(uint32_t, local, r->local, 3)
        REPLAY_64(correlation) REPLAY_32(shared_bytes) REPLAY_32(registers)))

LTTNG_UST_TRACEPOINT_EVENT(ckreplay, copy,
    LTTNG_UST_TP_ARGS(const struct ck_copy *, r),
    LTTNG_UST_TP_FIELDS(REPLAY_HEAD REPLAY_64(dur) REPLAY_64(queued)
        REPLAY_64(submitted) REPLAY_32(tid) REPLAY_32(call) REPLAY_32(device)
        REPLAY_32(queue) REPLAY_64(bytes) REPLAY_64(correlation)
        REPLAY_32(peer_device) REPLAY_32(memory)))

LTTNG_UST_TRACEPOINT_EVENT(ckreplay, counter,
    LTTNG_UST_TP_ARGS(const struct ck_counter *, r),
    LTTNG_UST_TP_FIELDS(REPLAY_HEAD REPLAY_64(value) REPLAY_64(enabled)
        REPLAY_64(running) REPLAY_32(tid) REPLAY_32(reason)))

LTTNG_UST_TRACEPOINT_EVENT(ckreplay, text,
    LTTNG_UST_TP_ARGS(const struct ck_text *, r),
    LTTNG_UST_TP_FIELDS(REPLAY_HEAD REPLAY_64(object) REPLAY_32(extra)
        lttng_ust_field_sequence_text(char, text, ck_text_bytes(r), uint32_t,
                                      r->length)))
/* clang-format on */

#endif

#include <lttng/tracepoint-event.h>
