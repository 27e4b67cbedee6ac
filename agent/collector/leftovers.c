/* leftovers.c - what killed agents left, in one line
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/collector/leftovers.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void leftovers_add(const char *path,
                   enum salvage_state state,
                   const struct salvage *found,
                   void *context)
{
    struct leftovers *leftovers = context;

    if (state == SALVAGE_FAILED) {
        if (leftovers->failed++ == 0) {
            (void)snprintf(leftovers->path, sizeof(leftovers->path), "%s",
                           path);
            memcpy(leftovers->why, found->why, sizeof(leftovers->why));
        }
    } else if (state == SALVAGE_DONE && found->spool[0] != '\0') {
        if (leftovers->moved++ == 0) {
            leftovers->rank = found->rank;
            memcpy(leftovers->spool, found->spool, sizeof(leftovers->spool));
        }
        leftovers->records += found->records;
    }
    leftovers->lost += state == SALVAGE_LOST;
}

/* Append to the line's `used` characters. Its new length. */
static int lost_append(const struct leftovers *leftovers,
                       char line[LEFTOVERS_LINE],
                       int used)
{
    if (leftovers->lost == 0 || used < 0 || used >= LEFTOVERS_LINE) {
        return used;
    }
    return used + snprintf(line + used, LEFTOVERS_LINE - (size_t)used,
                           "%sof %u killed agent%s another program had cut "
                           "off a part of the recording memory: what it held "
                           "is lost",
                           used > 0 ? "; " : "", leftovers->lost,
                           leftovers->lost > 1 ? "s" : "");
}

/* "300 records that a killed agent of rank 2 left are now in ..." */
static int moved_line(const struct leftovers *leftovers,
                      char line[LEFTOVERS_LINE])
{
    char whose[32] = ""; /* no launcher had numbered it */

    if (leftovers->moved > 1) {
        return snprintf(line, LEFTOVERS_LINE,
                        "%" PRIu64 " records that %u killed agents left are "
                        "now in %s and %u more; ckmerge reads them, rm "
                        "removes them",
                        leftovers->records, leftovers->moved, leftovers->spool,
                        leftovers->moved - 1);
    }
    if (leftovers->rank != ~0u) {
        (void)snprintf(whose, sizeof(whose), " of rank %" PRIu32,
                       leftovers->rank);
    }
    return snprintf(line, LEFTOVERS_LINE,
                    "%" PRIu64 " records that a killed agent%s left are now "
                    "in %s; ckmerge reads them, rm removes them",
                    leftovers->records, whose, leftovers->spool);
}

void leftovers_line(const struct leftovers *leftovers,
                    char line[LEFTOVERS_LINE])
{
    int used = 0;
    char more[64] = "";

    line[0] = '\0';
    if (leftovers->moved > 0) {
        used = moved_line(leftovers, line);
    }
    used = lost_append(leftovers, line, used);
    if (leftovers->failed == 0 || used < 0 || used >= LEFTOVERS_LINE) {
        return;
    }
    if (leftovers->failed > 1) {
        (void)snprintf(more, sizeof(more), " and %u more files",
                       leftovers->failed - 1);
    }
    (void)snprintf(line + used, LEFTOVERS_LINE - (size_t)used,
                   "%s%s%s, left by %s, could not be recovered: %s (rm "
                   "removes %s)",
                   used > 0 ? "; " : "", leftovers->path, more,
                   leftovers->failed > 1 ? "killed agents" : "a killed agent",
                   leftovers->why, leftovers->failed > 1 ? "them" : "it");
}
