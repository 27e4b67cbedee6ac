/* ranklist.h - a list of ranks as text: "0,4-7"
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_PROCESS_RANKLIST_H
#define CK_AGENT_PROCESS_RANKLIST_H

#include <stdbool.h>

#include "schema/err.h"

/* 0, or -1 with err: not a list of ranks. A list of NULL means all ranks in
 * all functions. */
int ranklist_check(const char *list, struct ck_err *err);
bool ranklist_has(const char *list, int rank);
/* The lowest rank in the list. */
int ranklist_first(const char *list);
/* How many ranks of a job of `size` are in it; 0 when size is not known. */
int ranklist_count(const char *list, int size);
/* True when it names a rank that a job of `size` does not have; false when
 * size is not known. */
bool ranklist_is_beyond(const char *list, int size);

#endif
