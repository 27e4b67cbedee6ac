/* pythonsites.h - numbers for places of Python programs
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A place gets a site at or above CK_SITE_TOLD, which is no address. A SYMBOL
 * record names it once in each process image that runs it.
 */
#ifndef CK_AGENT_PYTHON_PYTHONSITES_H
#define CK_AGENT_PYTHON_PYTHONSITES_H

#include <stdint.h>

#include "agent/python/pythonplace.h"
#include "agent/stream/selfstream.h"

/* Limits: places that have numbers, and SYMBOL records of them. */
#define PYTHONSITES_MAX 16384
#define PYTHONSITES_NAMED_MAX 65536

struct pythonsites;

/* Numbers follow `before`, where others number places of the same processes as
 * well. NULL with ENOMEM. */
struct pythonsites *pythonsites_create(uint32_t before);
void pythonsites_destroy(struct pythonsites *sites);

/* The place's site; the text is copied. 0 = there is no room for more. */
uint64_t pythonsites_number(struct pythonsites *sites,
                            const struct pythonplace *place);
/* Write the site's SYMBOL record, if it is a Python place and that process
 * image has none yet. */
void pythonsites_name(struct pythonsites *sites,
                      struct selfstream *selfstream,
                      uint32_t incarnation,
                      uint64_t site);
/* Places that got no number. */
uint64_t pythonsites_left_out(const struct pythonsites *sites);

#endif
