/* indexfile.h - an index of frames that another process made
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_INPUT_INDEXFILE_H
#define CK_MERGE_INPUT_INDEXFILE_H

#include "schema/err.h"

/* Read and check it ("-" = stdin); the caller's to free. NULL with err. */
void *indexfile_read(const char *path, struct ck_err *err);

#endif
