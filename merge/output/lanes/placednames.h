/* placednames.h - names of calls, one for each place that they were called from
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The lanes (lanes.h) keep one name of an item. That of a call is a copy for
 * its place, so that all calls from one line can be found among those of the
 * name.
 */
#ifndef CK_MERGE_OUTPUT_LANES_PLACEDNAMES_H
#define CK_MERGE_OUTPUT_LANES_PLACEDNAMES_H

#include <stdint.h>

#include "merge/model/defs.h"

struct placednames;
/* `defs` is borrowed. */
struct placednames *placednames_create(const struct defs *defs);
void placednames_destroy(struct placednames *names);
/* What a call of that name (a kept text) at that site is named: a copy, one for
 * each name and place; `name` itself where the place is not known. It lives as
 * long as `names`. */
const char *placednames_of(struct placednames *names,
                           uint32_t process,
                           const char *name,
                           uint64_t site);
/* Where what has that copy was called from, borrowed: a file and a line, else a
 * function; NULL = `name` is no copy. */
const struct place *placednames_place(const struct placednames *names,
                                      const char *name);

#endif
