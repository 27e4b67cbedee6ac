/* module.c - a library that a program loads and unloads again
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/inject/ck.h"

void module_marks(int first, int count);

void module_marks(int first, int count)
{
    for (int i = first; i < first + count; i++) {
        ck_mark("module", i);
    }
}
