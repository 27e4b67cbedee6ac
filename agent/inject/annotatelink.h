/* annotatelink.h - what cknvtx asks of ckannotate, in one process
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Ranges and steps that need not end in the order in which they began: NVTX
 * nests them within a domain, and domains know nothing of each other.
 */
#ifndef CK_AGENT_INJECT_ANNOTATELINK_H
#define CK_AGENT_INJECT_ANNOTATELINK_H

#include <stdint.h>

#include "schema/event.h"

#define ANNOTATE_LINK "ck_annotate_link"

struct annotate_link {
    /* A STEP of that number, or a RANGE of that name; the token is not 0, and
     * one of this thread's. */
    void (*begin)(enum ck_kind kind,
                  const char *name,
                  int64_t number,
                  uint32_t token);
    void (*end)(uint32_t token);
};
typedef const struct annotate_link *annotate_link_f(void);

#endif
