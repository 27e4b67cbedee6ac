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
            if (!S_ISDIR(status.st_mode)) {
                return false;
            }
        } else if (mkdir(parent, 0777) != 0 && errno != EEXIST) {
            return false;
        }
    }
    return true;
}
