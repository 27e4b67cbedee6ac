/* reportout.c - where a collector shows the job's report
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/reportout.h"

#include <string.h>
#include <unistd.h>

#include "agent/channel.h"

bool reportout_show(int channel,
                    int stderr_fd,
                    const char *report,
                    size_t length)
{
    const char *body = strstr(report, "\n\n");
    size_t left;

    body = body == NULL ? report : body + 2;
    left = length - (size_t)(body - report);
    while (left > 0) {
        size_t piece = left < CHANNEL_TEXT ? left : CHANNEL_TEXT;

        if (channel >= 0 &&
            channel_send(channel, CHANNEL_REPORT, body, piece) != 0) {
            channel = -1;
        }
        if (channel < 0 && stderr_fd >= 0) {
            (void)!write(stderr_fd, body, piece);
        }
        body += piece;
        left -= piece;
    }
    return channel >= 0;
}
