/* bell.c - what wakes a collector when a slot fills up
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/bell.h"

#include <stdbool.h>
#include <sys/inotify.h>
#include <unistd.h>

/* All that may be waiting: the same event twice in a row is one. */
#define EVENTS_BYTES 4096

void bell_open(struct bell *bell, struct ringfile *ring)
{
    *bell = (struct bell){.fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC)};
    if (bell->fd >= 0 &&
        inotify_add_watch(bell->fd, ring->path, IN_ATTRIB) < 0) {
        bell_close(bell);
    }
    atomic_store(&ring->header->has_bell, bell->fd >= 0 ? 1 : 0);
}

void bell_close(struct bell *bell)
{
    if (bell->fd >= 0) {
        (void)close(bell->fd);
        bell->fd = -1;
    }
}

int bell_fd(const struct bell *bell, ck_time_t now)
{
    return now - bell->heard_at < BELL_PAUSE ? -1 : bell->fd;
}

void bell_hear(struct bell *bell, ck_time_t now)
{
    char events[EVENTS_BYTES];

    bell->heard_at = now;
    while (read(bell->fd, events, sizeof(events)) == (ssize_t)sizeof(events)) {
    }
}
