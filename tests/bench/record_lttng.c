/* record_lttng.c - the peer: LTTng-UST tracepoints in a shared library
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "tests/bench/record_lttng_tp.h"

#include "tests/bench/record_call.h"

void bench_lttng_mark(int64_t value)
{
    lttng_ust_tracepoint(ckbench, mark, 1, 0, value);
}

void bench_lttng_call(int64_t bytes)
{
    static uint32_t call;

    call++;
    lttng_ust_tracepoint(ckbench, enter, 1,
                         (uint64_t)(uintptr_t)__builtin_return_address(0),
                         call);
    lttng_ust_tracepoint(ckbench, leave, call, (uint64_t)bytes, 0);
}

int bench_lttng_is_on(void)
{
    return lttng_ust_tracepoint_enabled(ckbench, mark) &&
           lttng_ust_tracepoint_enabled(ckbench, enter);
}
