/* tracepoint.c - the kernel's tracepoints, as tracefs describes them
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/perf/tracepoint.h"

#include <inttypes.h>
#include <stdio.h>

#include "agent/process/procfile.h"

#define NUMBER_BYTES 32

bool tracepoint_read(const char *event,
                     const char *file,
                     char *text,
                     size_t room)
{
    static const char *const roots[] = {"/sys/kernel/tracing",
                                        "/sys/kernel/debug/tracing"};
    ssize_t got = -1;

    for (size_t i = 0; i < sizeof(roots) / sizeof(roots[0]) && got <= 0; i++) {
        got =
            procfile_read(text, room, "%s/events/%s/%s", roots[i], event, file);
    }
    return got > 0;
}

bool tracepoint_number(const char *event, uint64_t *number)
{
    char text[NUMBER_BYTES];

    return tracepoint_read(event, "id", text, sizeof(text)) &&
           sscanf(text, "%" SCNu64, number) == 1;
}
