/* userfile.c - which code is the user's
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/model/userfile.h"

#include <string.h>

bool userfile_path(const char *path)
{
    static const char *const others[] = {"/usr/", "/lib", "/bin/", "/sbin/",
                                         "/opt/", "[",    "<"};

    if (strncmp(path, "/usr/local/", 11) == 0) {
        return true;
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (strncmp(path, others[i], strlen(others[i])) == 0) {
            return false;
        }
    }
    return strstr(path, "/site-packages/") == NULL &&
           strstr(path, "/dist-packages/") == NULL &&
           strstr(path, "/lib/python3") == NULL;
}

bool userfile_is(const struct defs *defs, uint32_t process, uint64_t address)
{
    const char *path = address >= CK_SITE_TOLD
                           ? defs_place(defs, process, address).file
                           : defs_file(defs, process, address);

    return path != NULL && userfile_path(path) &&
           !defs_is_own(defs, process, address);
}
