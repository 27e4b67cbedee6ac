/* bell.c - what wakes a collector when a slot fills up
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/bell.h"

#include <sys/inotify.h>
#include <unistd.h>

/* All that may be waiting: the same event twice in a row is one. */
#define EVENTS_BYTES 4096

void bell_open(struct bell *bell, const struct ringfile *ring)
{
    *bell = (struct bell){.header = ring->header,
                          .fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC)};
    atomic_store(&bell->header->bell, CK_BELL_OFF);
    if (bell->fd >= 0 &&
        inotify_add_watch(bell->fd, ring->path, IN_ATTRIB) < 0) {
        bell_close(bell);
    }
}

void bell_close(struct bell *bell)
{
    if (bell->fd >= 0) {
        (void)close(bell->fd);
        bell->fd = -1;
    }
}

void bell_set(struct bell *bell, bool is_on)
{
    uint32_t wanted = is_on ? CK_BELL_ON : CK_BELL_OFF;
    uint32_t now = atomic_load(&bell->header->bell);

    if (bell->fd < 0) {
        return;
    }
    if (now == CK_BELL_BROKEN) {
        bell_close(bell);
        atomic_store(&bell->header->bell, CK_BELL_OFF);
    } else if (now != wanted) {
        (void)atomic_compare_exchange_strong(&bell->header->bell, &now, wanted);
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
