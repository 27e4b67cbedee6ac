/* kernelonly.h - device profiles in place of a run
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Foreign profiles become segments in a temporary directory; together with
 * the runs and segments of ck among the inputs they are one store.
 */
#ifndef CK_MERGE_KERNELONLY_H
#define CK_MERGE_KERNELONLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "merge/model/defs.h"
#include "merge/profiles/profile.h"
#include "merge/report/report.h"
#include "schema/err.h"

/* "--rank FILE=N" as given; borrowed. */
struct kernelonly_ranks {
    const char *const *items;
    size_t count;
};

struct kernelonly;
/* Read all inputs. `paths` is borrowed. NULL with err: an input is nothing
 * that is known, has no rank, or has another's. */
struct kernelonly *kernelonly_create(const char *const *paths,
                                     size_t count,
                                     struct kernelonly_ranks ranks,
                                     struct ck_err *err);
/* Removes the temporary directory. */
void kernelonly_destroy(struct kernelonly *all);

/* Once the definitions is closed: no rank is there twice. 0, or -1 with err. */
int kernelonly_check(const struct defs *defs, struct ck_err *err);
/* For rundir_create_all(). */
const char *const *kernelonly_stores(const struct kernelonly *all,
                                     size_t *count);
const struct profile *kernelonly_profiles(const struct kernelonly *all,
                                          size_t *count);
/* Write report->inputs. */
void kernelonly_report(const struct kernelonly *all, struct report *report);
/* The profiles' clocks have dates: else starts were put together. */
bool kernelonly_has_dates(const struct kernelonly *all);
/* Something was left out of some input. */
bool kernelonly_is_partial(const struct kernelonly *all);

#endif
