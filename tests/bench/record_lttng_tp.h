/* record_lttng_tp.h - tracepoints with the payload of ck's records
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER ckbench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "tests/bench/record_lttng_tp.h"

#if !defined(CK_TESTS_BENCH_RECORD_LTTNG_TP_H) ||                              \
    defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define CK_TESTS_BENCH_RECORD_LTTNG_TP_H

#include <lttng/tracepoint.h>
#include <stdint.h>

/* clang-format off */
LTTNG_UST_TRACEPOINT_EVENT(ckbench, mark,
    LTTNG_UST_TP_ARGS(uint32_t, name, int64_t, dur, int64_t, value),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(uint32_t, name, name)
        lttng_ust_field_integer(int64_t, dur, dur)
        lttng_ust_field_integer(int64_t, value, value)))

LTTNG_UST_TRACEPOINT_EVENT(ckbench, enter,
    LTTNG_UST_TP_ARGS(uint32_t, name, uint64_t, site, uint32_t, call),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(uint32_t, name, name)
        lttng_ust_field_integer(uint64_t, site, site)
        lttng_ust_field_integer(uint32_t, call, call)))

LTTNG_UST_TRACEPOINT_EVENT(ckbench, leave,
    LTTNG_UST_TP_ARGS(uint32_t, call, uint64_t, bytes, uint64_t, arg),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(uint32_t, call, call)
        lttng_ust_field_integer(uint64_t, bytes, bytes)
        lttng_ust_field_integer(uint64_t, arg, arg)))
/* clang-format on */

#endif

#include <lttng/tracepoint-event.h>
