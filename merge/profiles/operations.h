/* operations.h - device work of a profile, until it is known who launched it
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A kernel may come before the call that launched it. So operations wait in
 * a file without a name; at the end each gets its launch by correlation id.
 */
#ifndef CK_MERGE_PROFILES_OPERATIONS_H
#define CK_MERGE_PROFILES_OPERATIONS_H

#include "merge/profiles/import.h"

struct operations;
/* `import` is borrowed. NULL with err. */
struct operations *operations_create(struct import *import, struct ck_err *err);
void operations_destroy(struct operations *operations);
/* A ck_kernel or ck_copy (copied). 0, or -1 with errno. */
int operations_add(struct operations *operations, const void *record);
/* A call with that id was made by this thread; of several the last one holds.
 * False: another one of its API had that id. */
bool operations_launch(struct operations *operations,
                       uint64_t id,
                       unsigned thread,
                       enum ck_kind api);
/* Hand them all to the import; counts them in `facts`. 0, or -1 with err. */
int operations_finish(struct operations *operations,
                      struct import_facts *facts,
                      struct ck_err *err);

#endif
