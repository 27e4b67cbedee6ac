/* requests.h - the values of processes' requests, while they are open
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Asked for each record of a message: one look at a table that has but the
 * requests that are open.
 */
#ifndef CK_MERGE_MESSAGES_REQUESTS_H
#define CK_MERGE_MESSAGES_REQUESTS_H

#include <stddef.h>
#include <stdint.h>

/* Open requests that are kept. */
#define REQUESTS_MAX ((size_t)1 << 20)

struct requests;
struct requests *requests_create(void);
void requests_destroy(struct requests *requests);
/* The value of such a request is `value` now, 0 = none that matters; beyond
 * the bound none. */
void requests_set(struct requests *requests,
                  uint32_t process,
                  uint64_t request,
                  uint32_t value);
/* Its value. */
uint32_t requests_get(const struct requests *requests,
                      uint32_t process,
                      uint64_t request);

#endif
