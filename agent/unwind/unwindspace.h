/* unwindspace.h - memory for the unwind tables of many files
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A job of forty libraries has forty tables of some pages each, read once and
 * kept to the end. Together they are in a large page where the kernel has one:
 * below a software hypervisor the first touch of each small page takes longer
 * than to unwind ten samples. One thread.
 */
#ifndef CK_AGENT_UNWIND_UNWINDSPACE_H
#define CK_AGENT_UNWIND_UNWINDSPACE_H

#include <stddef.h>

struct unwindspace_chunk;

/* All zero: empty. */
struct unwindspace {
    struct unwindspace_chunk *chunks; /* the newest one first */
};

/* So many bytes, more than 0, which stay where they are until
 * unwindspace_fini(). NULL: no memory. */
void *unwindspace_take(struct unwindspace *space, size_t bytes);
void unwindspace_fini(struct unwindspace *space);

#endif
