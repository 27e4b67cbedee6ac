/* time.c - the skew of this process's clock (CK_TEST_CLOCK, tests only)
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Compiled into each injected library as well, so it needs libc alone.
 */
#include "schema/time.h"

#include <stdlib.h>
#include <string.h>

#include "schema/kernelask.h"
#include "schema/skew.h"

/* Zero, but beside what is not: each process writes there at its start. */
__attribute__((section(".data"))) int ck_time_is_skewed;
static struct ck_skew own_skew;

ck_time_t ck_time_skew(ck_time_t raw)
{
    return ck_skew_apply(&own_skew, raw);
}

__attribute__((section(".text.startup"))) ck_time_t ck_time_raw_asked(void)
{
    struct timespec ts = {0};
    int saved = errno;

    (void)ck_kernel_ask(SYS_clock_gettime,
                        (long[6]){CLOCK_MONOTONIC_RAW, (long)&ts});
    errno = saved;
    return (ck_time_t)ts.tv_sec * CK_TIME_S + ts.tv_nsec;
}

__attribute__((section(".text.startup"))) const char *ck_skew_text(void)
{
    /* As CK_RING_ENV_HERE: each program asks. */
    const char *text = getenv((char[]){CK_SKEW_VARIABLE});

    return text == NULL || text[0] == '\0' ? NULL : text;
}

/* Before main(): a clock must not change under a program. What cannot be
 * parsed changes nothing; ckagent and ckagg refuse it. */
__attribute__((constructor)) static void skew_start(void)
{
    const char *text = ck_skew_text();

    if (text != NULL && ck_skew_parse(text, &own_skew) == 0) {
        ck_time_is_skewed = 1;
    }
}
