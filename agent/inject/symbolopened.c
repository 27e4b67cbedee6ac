/* symbolopened.c - symbol.h for a library that is opened later
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * It does not know which libraries were there at the start: the loader is
 * asked, with its lock.
 */
#include "agent/inject/symbol.h"

#include <dlfcn.h>

void *symbol_next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

void *symbol_first(const char *name)
{
    return dlsym(RTLD_DEFAULT, name);
}
