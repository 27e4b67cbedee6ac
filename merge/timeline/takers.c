/* takers.c - the consumers of a pass by the class of records that they take
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/timeline/takers.h"

#include <assert.h>

void takers_add(struct takers takers[CK_CLASS_LIMIT],
                const struct timeline_consumer *consumer,
                bool is_witness)
{
    uint32_t classes = consumer->classes == 0 ? UINT32_MAX : consumer->classes;

    for (unsigned cls = 0; cls < CK_CLASS_LIMIT; cls++) {
        struct takers *to = &takers[cls];

        if ((classes >> cls & 1) != 0) {
            assert(to->count < TIMELINE_CONSUMERS_MAX);
            to->items[to->count++] = *consumer;
            to->witnesses += is_witness;
        }
    }
}
