/* symbols_library.c - a shared library whose call sites are looked up
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/agent/symbols_library.h"

#include <stdio.h>

__attribute__((noinline)) void symbols_here(const char *function, int line)
{
    printf("%p %s %d\n", __builtin_return_address(0), function, line);
}

void symbols_inside(void)
{
    symbols_here(__func__, __LINE__);
    fflush(stdout);
}
