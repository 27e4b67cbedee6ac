/* workdir.h - a temporary directory of a test's own
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * workdir_setup() and workdir_teardown() are cmocka's; the directory is `work`.
 * A fixture that keeps its path elsewhere uses the other two.
 */
#ifndef CK_TESTS_WORKDIR_H
#define CK_TESTS_WORKDIR_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORKDIR_BYTES 64

static char work[WORKDIR_BYTES];

/* Make an empty directory. 0 with its path, or -1 with errno. */
static inline int workdir_make(char path[WORKDIR_BYTES])
{
    strcpy(path, "/tmp/ck-test-XXXXXX");
    return mkdtemp(path) == NULL ? -1 : 0;
}

/* Remove it with all that is in it; 0 when it is gone. */
static inline int workdir_remove(const char *path)
{
    char command[WORKDIR_BYTES + 16];

    (void)snprintf(command, sizeof(command), "rm -rf %s", path);
    return system(command);
}

static inline int workdir_setup(void **state)
{
    (void)state;
    return workdir_make(work);
}

static inline int workdir_teardown(void **state)
{
    (void)state;
    return workdir_remove(work);
}

/* A case with such a directory; its setup is workdir_setup() or calls it. */
#define WORKDIR_CASE(name, setup)                                              \
    cmocka_unit_test_setup_teardown(name, setup, workdir_teardown)

#endif
