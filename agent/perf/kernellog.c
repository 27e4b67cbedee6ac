/* kernellog.c - faults that the kernel has written to its log
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/perf/kernellog.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* A line of the log has less. */
#define LINE_BYTES 8192
/* Lines that are read at once. */
#define LINES_MAX 4096

int kernellog_open(void)
{
    int fd = open("/dev/kmsg", O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd >= 0) {
        (void)lseek(fd, 0, SEEK_END);
    }
    return fd;
}

bool kernellog_parse(const char *line, struct kernellog_fault *fault)
{
    const char *at = strstr(line, ": segfault at ");

    return at != NULL &&
           sscanf(at, ": segfault at %" SCNx64 " ip %" SCNx64 " sp %" SCNx64,
                  &fault->address, &fault->pc, &fault->sp) == 3;
}

bool kernellog_find(int fd, struct kernellog_fault *fault)
{
    char line[LINE_BYTES];
    bool is_found = false;

    for (int i = 0; fd >= 0 && i < LINES_MAX; i++) {
        ssize_t got = read(fd, line, sizeof(line) - 1);
        struct kernellog_fault seen;

        if (got < 0 && errno == EPIPE) {
            continue; /* older lines were written over */
        }
        if (got <= 0) {
            break;
        }
        line[got] = '\0';
        if (kernellog_parse(line, &seen) && seen.pc == fault->pc &&
            seen.sp == fault->sp) {
            *fault = seen;
            is_found = true;
        }
    }
    return is_found;
}
