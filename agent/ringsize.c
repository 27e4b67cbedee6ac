/* ringsize.c - where the recording memory is not as large as asked for
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/ringsize.h"

#include <stdio.h>
#include <string.h>

#define PART_BYTES (RINGSIZE_LINE / 2 - 2)

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

void ringsize_line(const struct ringfile *ring,
                   const struct ringfile_wish *wish,
                   char line[RINGSIZE_LINE])
{
    char slot[PART_BYTES];
    char bound[PART_BYTES];

    slot_line(&ring->plan, wish->plan.slot_bytes, slot);
    bound_line(ring, wish, bound);
    (void)snprintf(line, RINGSIZE_LINE, "%s%s%s", slot,
                   slot[0] != '\0' && bound[0] != '\0' ? "; " : "", bound);
}
