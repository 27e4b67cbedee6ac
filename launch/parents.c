/* parents.c - the directories above one that is to be made
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "launch/parents.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

bool ck_parents_create(const char *path)
{
    char parent[PATH_MAX];
    size_t length = strlen(path);
    bool is_made = false;

    if (length >= sizeof(parent)) {
        return false;
    }
    for (size_t i = 1; i < length; i++) {
        struct stat status;

        if (path[i] != '/') {
            continue;
        }
        memcpy(parent, path, i);
        parent[i] = '\0';
        if (stat(parent, &status) == 0) {
            continue;
        }
        if (mkdir(parent, 0777) == 0) {
            is_made = true;
        } else if (errno != EEXIST) { /* another rank may have made it */
            return false;
        }
    }
    return is_made;
}
