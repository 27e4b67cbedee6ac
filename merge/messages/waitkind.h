/* waitkind.h - the ways in which an MPI call waits for others
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_MESSAGES_WAITKIND_H
#define CK_MERGE_MESSAGES_WAITKIND_H

#include "merge/messages/collective.h"

enum wait_kind {
    WAIT_NONE,
    WAIT_LATE_SENDER,
    WAIT_LATE_RECEIVER,
    WAIT_BARRIER,
    WAIT_NXN,
    WAIT_LATE_BROADCAST,
    WAIT_EARLY_REDUCE,
    WAIT_EARLY_SCAN,
    WAIT_NEIGHBOURS,
    WAIT_WINDOW, /* in an epoch of one-sided communication */
    WAIT_INIT,
    WAIT_FINALIZE,
    WAIT_LATE_DATA, /* outside of MPI, on a connection */
    WAIT_KINDS
};
/* "late_sender" ...; static. NULL for WAIT_NONE. */
const char *wait_kind_name(enum wait_kind kind);

/* Of a part in a collective. */
enum wait_kind wait_kind_of(enum collective_role role);

/* How a call that completes several things waits for them. One of none only
 * looks, once: a program that looks again and again waits, for whom is not
 * known. */
enum wait_rule { WAIT_RULE_ALL, WAIT_RULE_ANY, WAIT_RULE_NONE };
enum wait_rule wait_rule_of(const char *function);

#endif
