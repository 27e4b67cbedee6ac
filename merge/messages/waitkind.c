/* waitkind.c - the ways in which an MPI call waits for others
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/messages/waitkind.h"

#include <stddef.h>
#include <string.h>

const char *wait_kind_name(enum wait_kind kind)
{
    static const char *const names[WAIT_KINDS] = {
        [WAIT_LATE_SENDER] = "late_sender",
        [WAIT_LATE_RECEIVER] = "late_receiver",
        [WAIT_BARRIER] = "wait_at_barrier",
        [WAIT_NXN] = "wait_at_nxn",
        [WAIT_LATE_BROADCAST] = "late_broadcast",
        [WAIT_EARLY_REDUCE] = "early_reduce",
        [WAIT_EARLY_SCAN] = "early_scan",
        [WAIT_NEIGHBOURS] = "wait_at_neighbours",
        [WAIT_WINDOW] = "wait_at_window",
        [WAIT_INIT] = "wait_at_init",
        [WAIT_FINALIZE] = "wait_at_finalize",
        [WAIT_LATE_DATA] = "late_data",
    };

    return names[kind];
}

enum wait_rule wait_rule_of(const char *function)
{
    static const struct {
        const char *start;
        enum wait_rule rule;
    } rules[] = {{"MPI_Test", WAIT_RULE_NONE},
                 {"MPI_Request_get_status", WAIT_RULE_NONE},
                 {"MPI_Iprobe", WAIT_RULE_NONE},
                 {"MPI_Improbe", WAIT_RULE_NONE},
                 {"MPI_Win_test", WAIT_RULE_NONE},
                 {"MPI_Waitany", WAIT_RULE_ANY},
                 {"MPI_Waitsome", WAIT_RULE_ANY}};

    for (size_t i = 0; function != NULL && i < sizeof(rules) / sizeof(rules[0]);
         i++) {
        if (strncmp(function, rules[i].start, strlen(rules[i].start)) == 0) {
            return rules[i].rule;
        }
    }
    return WAIT_RULE_ALL;
}

enum wait_kind wait_kind_of(enum collective_role role)
{
    static const enum wait_kind kinds[] = {
        [COLLECTIVE_OTHER] = WAIT_NONE,
        [COLLECTIVE_BARRIER] = WAIT_BARRIER,
        [COLLECTIVE_ALL] = WAIT_NXN,
        [COLLECTIVE_FROM_ROOT] = WAIT_LATE_BROADCAST,
        [COLLECTIVE_TO_ROOT] = WAIT_EARLY_REDUCE,
        [COLLECTIVE_SCAN] = WAIT_EARLY_SCAN,
        [COLLECTIVE_NEIGHBOUR] = WAIT_NEIGHBOURS,
        [COLLECTIVE_FILE] = WAIT_BARRIER,
    };

    return kinds[role];
}
