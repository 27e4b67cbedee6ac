/* verify.h - does a run hold together, and do the results add up
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_VERIFY_H
#define CK_MERGE_VERIFY_H

#include <stdint.h>
#include <stdio.h>

#include "merge/report/report.h"

/* Print a line for each thing that is wrong; returns how many. `merged` is
 * what the timeline handed out, of `expected`. */
unsigned verify_print(const struct report *report,
                      uint64_t merged,
                      uint64_t expected,
                      FILE *file);

#endif
