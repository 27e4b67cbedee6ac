/* processexit.c - has a process ended?
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A process that its parent has not yet waited for is still there for signals
 * and /proc. A descriptor of the process shows that it has ended (Linux 5.3).
 */
#include "agent/process/processexit.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PIDFD_OPEN 434 /* SYS_pidfd_open, which older headers lack */

bool process_is_over(uint32_t pid)
{
    struct pollfd item = {.events = POLLIN};
    bool is_over;

    if (kill((pid_t)pid, 0) != 0 && errno == ESRCH) {
        return true;
    }
    item.fd = (int)syscall(PIDFD_OPEN, (pid_t)pid, 0);
    if (item.fd < 0) {
        return errno == ESRCH;
    }
    is_over = poll(&item, 1, 0) == 1 && (item.revents & POLLIN) != 0;
    (void)close(item.fd);
    return is_over;
}
