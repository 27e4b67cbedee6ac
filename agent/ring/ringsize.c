/* ringsize.c - where the recording memory is not as large as asked for
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/ring/ringsize.h"

#include <stdio.h>
#include <string.h>

#define PARTS 3
#define PART_BYTES (RINGSIZE_LINE / PARTS - 2)
#define BODIES_LITTLE ((uint64_t)2 << 20) /* of all slots */

#define SHM "/dev/shm"

struct size {
    char text[32];
};

/* "16 KiB", "1.5 MiB". */
static struct size size_of(uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    struct size size;
    unsigned i = 0;

    while (value >= 1024 && i + 1 < sizeof(units) / sizeof(units[0])) {
        value /= 1024;
        i++;
    }
    (void)snprintf(size.text, sizeof(size.text), "%.4g %s", value, units[i]);
    return size;
}

static int dir_length(const struct ringfile *ring)
{
    const char *slash = strrchr(ring->path, '/');

    return slash == NULL ? 0 : (int)(slash - ring->path);
}

static uint64_t plan_bytes(const struct ringplan *plan)
{
    return ringplan_head(plan->slots) + plan->outbox_bytes +
           ringplan_bodies(plan);
}

static void
slot_line(const struct ringplan *made, uint64_t wished, char line[PART_BYTES])
{
    line[0] = '\0';
    if (wished == 0) {
        return;
    }
    if (made->large < made->slots) {
        (void)snprintf(line, PART_BYTES,
                       "--slot-bytes: %u thread%s can have %s and %u others "
                       "%s: this rank has %s for them all",
                       made->large, made->large == 1 ? "" : "s",
                       size_of(made->slot_bytes).text,
                       made->slots - made->large,
                       size_of(made->small_bytes).text,
                       size_of(ringplan_bodies(made)).text);
    } else if (made->slot_bytes != wished) {
        (void)snprintf(line, PART_BYTES,
                       "--slot-bytes: %s is used in place of %s: a power of "
                       "two",
                       size_of(made->slot_bytes).text, size_of(wished).text);
    }
}

static void bound_line(const struct ringfile *ring,
                       const struct ringfile_wish *wish,
                       char line[PART_BYTES])
{
    const struct ringplan *made = &ring->plan;
    uint64_t bytes = plan_bytes(made);
    struct ringplan all; /* with as much memory as asked for */

    line[0] = '\0';
    if (wish->bound == 0 || bytes >= wish->bound ||
        ringplan_make(&all, UINT64_MAX, wish->bound / 3 * 4, 1, &wish->plan) !=
            0) {
        return;
    }
    if (bytes < plan_bytes(&all)) {
        (void)snprintf(line, PART_BYTES,
                       "--ring-bytes: %s is used in place of %s: this rank's "
                       "share of what is free in %.*s",
                       size_of(bytes).text, size_of(wish->bound).text,
                       dir_length(ring), ring->path);
    } else if (made->large == made->slots) {
        (void)snprintf(line, PART_BYTES,
                       "--ring-bytes: %s is used in place of %s: that is %u "
                       "threads of %s (--slot-bytes)",
                       size_of(bytes).text, size_of(wish->bound).text,
                       made->slots, size_of(made->slot_bytes).text);
    }
}

/* Where the user did not ask for it. */
static void place_line(const struct ringfile *ring,
                       const struct ringfile_wish *wish,
                       char line[PART_BYTES])
{
    uint64_t bytes = ringplan_bodies(&ring->plan);

    line[0] = '\0';
    if (ring->refused[0] != '\0') {
        (void)snprintf(line, PART_BYTES,
                       "%s: recording memory is in %.*s instead", ring->refused,
                       dir_length(ring), ring->path);
    } else if (ring->is_tight) {
        (void)snprintf(line, PART_BYTES,
                       "%s of recording memory in %u slots of %s to %s: an "
                       "eighth of the %s that this machine or control group "
                       "has; fast threads may lose records",
                       size_of(bytes).text, ring->plan.slots,
                       size_of(ring->plan.small_bytes).text,
                       size_of(ring->plan.slot_bytes).text,
                       size_of(wish->memory * 8).text);
    } else if (wish->bound == 0 && bytes < BODIES_LITTLE) {
        (void)snprintf(line, PART_BYTES,
                       "only %s of recording memory are free for this rank in "
                       "%.*s: fast threads will lose records; give it more "
                       "(docker run --shm-size=1g)",
                       size_of(bytes).text, dir_length(ring), ring->path);
    } else if (wish->dir == NULL &&
               strncmp(ring->path, SHM, strlen(SHM)) != 0) {
        (void)snprintf(line, PART_BYTES,
                       "recording memory is in %.*s, which may be slow: " SHM
                       " has no room for it (docker run --shm-size=1g)",
                       dir_length(ring), ring->path);
    }
}

void ringsize_line(const struct ringfile *ring,
                   const struct ringfile_wish *wish,
                   char line[RINGSIZE_LINE])
{
    char parts[PARTS][PART_BYTES];
    size_t used = 0;

    slot_line(&ring->plan, wish->plan.slot_bytes, parts[0]);
    bound_line(ring, wish, parts[1]);
    place_line(ring, wish, parts[2]);
    line[0] = '\0';
    for (size_t i = 0; i < PARTS; i++) {
        if (parts[i][0] != '\0') {
            used += (size_t)snprintf(line + used, RINGSIZE_LINE - used, "%s%s",
                                     used > 0 ? "; " : "", parts[i]);
        }
    }
}
