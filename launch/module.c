/* module.c - a part of a program that is loaded when it is asked for
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "launch/module.h"

#include <dlfcn.h>
#include <limits.h>
#include <stddef.h>

#include "launch/child.h"

void *ck_module_symbol(const char *file, const char *name, struct ck_err *err)
{
    char path[PATH_MAX];
    void *module;
    void *symbol;

    if (ck_child_find(file, path, err) != 0) {
        return NULL;
    }
    module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    symbol = module == NULL ? NULL : dlsym(module, name);
    if (symbol == NULL) {
        const char *why = dlerror();

        return ck_err_null(err, "%s: %s", file,
                           why == NULL ? "it cannot be loaded" : why);
    }
    return symbol;
}
