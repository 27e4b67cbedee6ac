/* toldsites.h - numbers for places that no file of code has: of Python
 * programs, and of code that is compiled at run time
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A place gets a site at or above CK_SITE_TOLD, which is no address. A SYMBOL
 * record names it once in each process image that runs it.
 */
#ifndef CK_AGENT_SYMBOLS_TOLDSITES_H
#define CK_AGENT_SYMBOLS_TOLDSITES_H

#include <stddef.h>
#include <stdint.h>

#include "agent/stream/selfstream.h"

/* Limits: places that have numbers, and SYMBOL records of them. */
#define TOLDSITES_MAX 16384
#define TOLDSITES_NAMED_MAX 65536

struct toldsites;

/* A place. */
struct toldplace {
    const char *text; /* function, NUL, file; borrowed */
    size_t length;
    uint32_t line; /* 0 = not known */
};

/* Numbers follow `base`, where others number places of the same processes as
 * well. NULL with ENOMEM. */
struct toldsites *toldsites_create(uint64_t base);
void toldsites_destroy(struct toldsites *sites);

/* The place's site; the text is copied. 0 = there is no room for more. */
uint64_t toldsites_number(struct toldsites *sites,
                          const struct toldplace *place);
/* Write the site's SYMBOL record, if it is one of these and that process
 * image has none yet. */
void toldsites_name(struct toldsites *sites,
                    struct selfstream *selfstream,
                    uint32_t incarnation,
                    uint64_t site);
/* Places that got no number. */
uint64_t toldsites_left_out(const struct toldsites *sites);

#endif
