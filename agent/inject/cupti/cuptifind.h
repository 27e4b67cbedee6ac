/* cuptifind.h - where libcupti may be
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_INJECT_CUPTI_CUPTIFIND_H
#define CK_AGENT_INJECT_CUPTI_CUPTIFIND_H

#include <stdbool.h>
#include <stddef.h>

/* The copy that the process has already; NULL = none. */
void *cuptifind_loaded(void);
/* The next file that can be opened, those of the driver's CUDA version first,
 * wherever pip, conda and the toolkit put them; NULL = there is no other. */
void *cuptifind_next(void);

#endif
