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
#define LINK_BYTES 64

/* Zero, but beside what is not: each process writes there at its start. */
__attribute__((section(".data"))) int ck_time_is_skewed;
static struct ck_skew own_skew;
/* What the time namespace adds to the agent's RAW; beside the one above. */
__attribute__((section(".data"))) static ck_time_t own_space;

ck_time_t ck_time_skew(ck_time_t raw)
{
    return ck_skew_apply(&own_skew, raw - own_space);
}

/* A name in /proc, "" where there is none. */
static void link_read(const char *path, char name[LINK_BYTES])
{
    memset(name, 0, LINK_BYTES);
    (void)ck_kernel_ask(SYS_readlinkat, (long[6]){AT_FDCWD, (long)path,
                                                  (long)name, LINK_BYTES - 1});
}

/* False where this process has asked for another namespace for its children,
 * and has none of them yet: its own clock is as it was. */
static bool is_own_space(void)
{
    char own[LINK_BYTES], next[LINK_BYTES];

    link_read("/proc/self/ns/time", own);
    link_read("/proc/self/ns/time_for_children", next);
    return strcmp(own, next) == 0;
}

/* Lines "CLOCK SECONDS NANOSECONDS": of this process's children, and its own
 * where that is the same (is_own_space()). */
ck_time_t ck_time_space(const char *clock)
{
    char text[128] = "";
    const char *line;
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
    line = strstr(text, clock);
    if (line == NULL) {
        return 0;
    }
    seconds = strtoll(line + strlen(clock), &end, 10);
    return seconds * CK_TIME_S + strtoll(end, NULL, 10);
}

__attribute__((section(".text.startup"))) ck_time_t
ck_time_space_look(ck_time_t near, ck_time_t space)
{
    int saved = errno;
    ck_time_t before = own_space;
    ck_time_t now = ck_time_raw_asked();

    if ((now - near >= SPACE_LEAST || now - near <= -SPACE_LEAST) &&
        is_own_space()) {
        own_space = ck_time_space("monotonic") - space;
        ck_time_is_skewed = ck_time_is_skewed || own_space != 0;
    }
    errno = saved;
    return now + before - own_space;
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
__attribute__((constructor)) static void
skew_start(int argc, char **argv, char **env)
{
    const char *text = ck_start_env(env, (char[]){CK_SKEW_VARIABLE});

    (void)argc;
    (void)argv;
    if (text != NULL && text[0] != '\0' &&
        ck_skew_parse(text, &own_skew) == 0) {
        ck_time_is_skewed = 1;
    }
}
