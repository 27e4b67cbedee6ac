/* pythonsites.h - numbers for places of Python programs
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A place gets a site at or above CK_SITE_TOLD, which is no address, and is
 * said as a SYMBOL record of each process image that meets it.
 */
#ifndef CK_AGENT_PYTHON_PYTHONSITES_H
#define CK_AGENT_PYTHON_PYTHONSITES_H

#include <stdint.h>

#include "agent/python/pythonplace.h"
#include "agent/stream/selfstream.h"

/* Places that have numbers, and how often they are said. */
#define PYTHONSITES_MAX 16384
#define PYTHONSITES_SAID_MAX 65536

struct pythonsites;

/* NULL with ENOMEM. */
struct pythonsites *pythonsites_create(void);
void pythonsites_destroy(struct pythonsites *sites);

/* The place's site; the text is copied. 0 = there is no room for more. */
uint64_t pythonsites_number(struct pythonsites *sites,
                            const struct pythonplace *place);
/* Say what the site stands for, unless it is said of that image or is none of
 * ours. */
void pythonsites_say(struct pythonsites *sites,
                     struct selfstream *selfstream,
                     uint32_t incarnation,
                     uint64_t site);
/* Places that got no number. */
uint64_t pythonsites_left_out(const struct pythonsites *sites);

#endif
