/* latelookup.h - places of call sites whose collector did not live to look them
 * up
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A collector records function, file and line of each call site when its target
 * has ended, and the modules as they show up. Where it was killed with all
 * others, the modules and the addresses are there: the program cklines is
 * asked, on the host where it ran.
 */
#ifndef CK_MERGE_INPUT_LATELOOKUP_H
#define CK_MERGE_INPUT_LATELOOKUP_H

#include "merge/input/rundir.h"
#include "merge/model/defs.h"
#include "schema/err.h"

/* Call sites that are asked for. */
#define LATELOOKUP_SITES_MAX ((size_t)65536)

struct latelookup;
/* It has the sites of open calls and the stacks of threads that were looked at,
 * of agents that gave no names. Borrowed; `defs` gets the names. */
struct latelookup *latelookup_create(struct defs *defs);
void latelookup_destroy(struct latelookup *lookup);
/* The site of a record, if it is a call. */
void latelookup_take(struct latelookup *lookup,
                     uint32_t process,
                     const struct ck_event *record);

struct latelookup_helper;
/* Start what names sites, before it is known which. What fails is reported on
 * stderr. */
struct latelookup_helper *latelookup_help(void);
void latelookup_dismiss(struct latelookup_helper *helper);
/* Give names to all of these sites. `helper`: borrowed, asked once; NULL = one
 * is started if there are any. What cannot be found is reported on stderr and
 * is no failure. */
void latelookup_ask(struct latelookup *lookup,
                    struct latelookup_helper *helper);

/* Give names to the call sites of agents that gave none. What cannot be found
 * is reported on stderr and is no failure. 0, or -1 with err. */
int latelookup_sites(struct rundir *store,
                     struct defs *defs,
                     struct ck_err *err);

#endif
