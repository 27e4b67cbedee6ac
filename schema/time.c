/* time.c - what this process's clock is wrong by: a time namespace, a test
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Compiled into each injected library as well, so it needs libc alone.
 */
#include "schema/time.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "schema/kernelask.h"
#include "schema/skew.h"

/* Less between two namespaces is not noticed. */
#define SPACE_LEAST CK_TIME_S

/* Zero, but beside what is not: each process writes there at its start. */
__attribute__((section(".data"))) int ck_time_is_skewed;
static struct ck_skew own_skew;
/* What the time namespace adds to the agent's RAW; beside the one above. */
__attribute__((section(".data"))) static ck_time_t own_space;

ck_time_t ck_time_skew(ck_time_t raw)
{
    return ck_skew_apply(&own_skew, raw - own_space);
}

/* "monotonic SECONDS NANOSECONDS": of this process's children, and its own
 * unless it has just asked for another namespace for them. */
ck_time_t ck_time_space(void)
{
    char text[128] = "";
    char *end;
    ck_time_t seconds;
    int fd = (int)ck_kernel_ask(
        SYS_openat,
        (long[6]){AT_FDCWD, (long)"/proc/self/timens_offsets", O_CLOEXEC});

    if (fd < 0) {
        return 0;
    }
    (void)ck_kernel_ask(SYS_read, (long[6]){fd, (long)text, sizeof(text) - 1});
    (void)ck_kernel_ask(SYS_close, (long[6]){fd});
    if (strncmp(text, "monotonic", strlen("monotonic")) != 0) {
        return 0;
    }
    seconds = strtoll(text + strlen("monotonic"), &end, 10);
    return seconds * CK_TIME_S + strtoll(end, NULL, 10);
}

__attribute__((section(".text.startup"))) void
ck_time_space_look(ck_time_t near, ck_time_t space)
{
    int saved = errno;
    ck_time_t away = ck_time_raw_asked() - near;

    if (away >= SPACE_LEAST || away <= -SPACE_LEAST) {
        own_space = ck_time_space() - space;
        ck_time_is_skewed = ck_time_is_skewed || own_space != 0;
    }
    errno = saved;
}

__attribute__((section(".text.startup"))) ck_time_t ck_time_raw_asked(void)
{
    struct timespec ts = {0};
    int saved = errno;

    (void)ck_kernel_ask(SYS_clock_gettime,
                        (long[6]){CLOCK_MONOTONIC_RAW, (long)&ts});
    errno = saved;
    return (ck_time_t)ts.tv_sec * CK_TIME_S + ts.tv_nsec - own_space;
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
