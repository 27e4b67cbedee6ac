/* cupti_find.c - the CUPTI libraries that ckcupti would try, a line each
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     cupti_find LIBRARY...   what the process has loaded before
 */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>

#include "agent/inject/cupti/cuptifind.h"

int main(int argc, char **argv)
{
    void *library;

    for (int i = 1; i < argc; i++) {
        if (dlopen(argv[i], RTLD_NOW) == NULL) {
            (void)fprintf(stderr, "cupti_find: %s\n", dlerror());
            return 2;
        }
    }
    while ((library = cuptifind_next()) != NULL) {
        struct link_map *map = NULL;

        if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0) {
            (void)puts(map->l_name);
        }
    }
    return 0;
}
