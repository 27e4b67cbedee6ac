/* record_call.h - recorders that bench/record.c compares
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_TESTS_BENCH_RECORD_CALL_H
#define CK_TESTS_BENCH_RECORD_CALL_H

#include <stdint.h>

/* record_call.c: one call recorded as ckmpi and ckopencl do. */
void bench_call(int64_t bytes);

/* record_lttng.c: one tracepoint with the payload of a mark, or of a call's
 * entry and exit. */
void bench_lttng_mark(int64_t value);
void bench_lttng_call(int64_t bytes);
/* Whether a session listens. */
int bench_lttng_is_on(void);

#endif
