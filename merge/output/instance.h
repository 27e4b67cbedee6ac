/* instance.h - templates and overloads of one name, as a person distinguishes
 * them
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_OUTPUT_INSTANCE_H
#define CK_MERGE_OUTPUT_INSTANCE_H

#include <stddef.h>

/* "_ZN3gmx4sendIiEEvPKT_" -> "send<int>" in at most so many columns. Where
 * `twin` would be the same, "send<int>(...const*)": the end of the parameters,
 * as much as there is room for. False: not a name of C++. */
int instance_text(char *to,
                  size_t columns,
                  const char *mangled,
                  const char *twin);

#endif
