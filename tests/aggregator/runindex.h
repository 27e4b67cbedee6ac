/* runindex.h - the index of frames that ckagg would make of a stored run
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_TESTS_AGGREGATOR_RUNINDEX_H
#define CK_TESTS_AGGREGATOR_RUNINDEX_H

#include <stddef.h>
#include <stdint.h>

/* As ckagg opens the run: a torn tail of a segment is cut. A question may read
 * the last `most` bytes of each agent. The caller's to free; NULL: it cannot be
 * read. */
void *runindex_make(const char *dir, uint64_t most, size_t *bytes);

#endif
