/* openclmap.h - sizes of mapped regions, by pointer
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_INJECT_OPENCL_OPENCLMAP_H
#define CK_AGENT_INJECT_OPENCL_OPENCLMAP_H

#include <stdint.h>

/* A region was mapped. A full table forgets: its unmap then has 0 bytes. */
void map_enter(const void *host, uint64_t bytes);
/* Bytes of the last map that gave this pointer; 0 = not known. */
uint64_t map_bytes(const void *host);

#endif
