/* cuptiapi.h - CUPTI as found at run time
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * ckcupti never links CUPTI: it takes the copy that the process already has,
 * because two copies would fight over one driver hook.
 */
#ifndef CK_AGENT_INJECT_CUPTI_CUPTIAPI_H
#define CK_AGENT_INJECT_CUPTI_CUPTIAPI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/inject/cupti/cuptiabi.h"

struct cupti_api {
#define CUPTI_NEEDED(name) name##_f *name;
#define CUPTI_OPTIONAL(name) name##_f *name; /* may be NULL */
#include "agent/inject/cupti/cupti.def"
    uint32_t version; /* of cuptiGetVersion() */
};

extern struct cupti_api cupti_api;

/* Find and open it. 0, or -1 with a sentence in `text`. Keeps the library
 * for the life of the process. */
int cupti_api_open(char *text, size_t room);
/* Another one, where the one that was opened is no good: not where the process
 * had it already, or it was named. 0, or -1 (`text` may be left as it is). */
int cupti_api_open_next(char *text, size_t room);
/* Text of a result; static. */
const char *cupti_api_error(int result);
/* Whether the libcuda of this process is a link-time stub. */
bool cupti_api_is_stub(void);

#endif
