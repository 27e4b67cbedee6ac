/* ringdir.c - where ring files are, and how they are called
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "schema/ring/ringdir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schema/owndir.h"

/* As mkdtemp() wants it. No other user can take these names first. */
#define BESIDE "-XXXXXX"
#define BESIDE_BYTES (sizeof(BESIDE) - 1)

/* A test keeps its rings apart from those of other jobs of its user, and from
 * what they left. */
#define RINGS_ENV "CK_TEST_RINGS"

void ck_ring_dirs(char dirs[CK_RING_DIRS][CK_RING_DIR_BYTES])
{
    const char *test = getenv(RINGS_ENV);
    const char *tmp = getenv("TMPDIR");

    if (test != NULL && test[0] == '/') {
        (void)snprintf(dirs[0], CK_RING_DIR_BYTES, "%s/ck-%u", test,
                       (unsigned)geteuid());
        (void)snprintf(dirs[1], CK_RING_DIR_BYTES, "%s/tmp-%u", test,
                       (unsigned)geteuid());
        return;
    }
    (void)snprintf(dirs[0], CK_RING_DIR_BYTES, "/dev/shm/ck-%u",
                   (unsigned)geteuid());
    (void)snprintf(dirs[1], CK_RING_DIR_BYTES, "%s/ck-%u",
                   tmp != NULL && tmp[0] == '/' ? tmp : "/tmp",
                   (unsigned)geteuid());
}

int ck_ring_dir_open(char dir[CK_RING_DIR_BYTES], struct ck_err *why)
{
    int fd = ck_owndir_make(dir, why);
    size_t length = strlen(dir);

    if (fd >= 0 || errno != EPERM) {
        return fd;
    }
    if (length + BESIDE_BYTES >= CK_RING_DIR_BYTES) {
        errno = ENAMETOOLONG;
        return -1;
    }
    strcpy(dir + length, BESIDE);
    if (mkdtemp(dir) == NULL) {
        dir[length] = '\0';
        return -1;
    }
    return ck_owndir_open(dir, NULL);
}

/* Is `name` that of a directory that was made beside `dir`? */
static bool is_beside(const char *name, const char *dir)
{
    size_t length = strlen(dir);

    return strncmp(name, dir, length) == 0 && name[length] == '-' &&
           strlen(name) == length + BESIDE_BYTES;
}

void ck_ring_dir_remove(const char *path)
{
    char dirs[CK_RING_DIRS][CK_RING_DIR_BYTES];
    const char *slash = strrchr(path, '/');
    char dir[CK_RING_DIR_BYTES];

    if (slash == NULL || (size_t)(slash - path) >= sizeof(dir)) {
        return;
    }
    memcpy(dir, path, (size_t)(slash - path));
    dir[slash - path] = '\0';
    ck_ring_dirs(dirs);
    for (size_t i = 0; i < CK_RING_DIRS; i++) {
        if (is_beside(dir, dirs[i])) {
            (void)rmdir(dir);
        }
    }
}

/* Append to `dirs` what was made beside dirs[at]. Returns how many there are.
 */
static size_t beside_find(char dirs[CK_RING_DIRS_MOST][CK_RING_DIR_BYTES],
                          size_t at,
                          size_t count)
{
    size_t parent = (size_t)(strrchr(dirs[at], '/') - dirs[at]);
    char found[CK_RING_DIR_BYTES - 65];
    struct dirent *entry;
    struct stat st;
    DIR *stream;

    if (parent >= sizeof(found)) {
        return count;
    }
    memcpy(found, dirs[at], parent);
    found[parent] = '\0';
    stream = opendir(found);
    while (stream != NULL && count < CK_RING_DIRS_MOST &&
           (entry = readdir(stream)) != NULL) {
        if (is_beside(entry->d_name, dirs[at] + parent + 1) &&
            fstatat(dirfd(stream), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) ==
                0 &&
            S_ISDIR(st.st_mode) && st.st_uid == geteuid()) {
            (void)snprintf(dirs[count++], CK_RING_DIR_BYTES, "%s/%.64s", found,
                           entry->d_name);
        }
    }
    if (stream != NULL) {
        (void)closedir(stream);
    }
    return count;
}

size_t ck_ring_dirs_all(char dirs[CK_RING_DIRS_MOST][CK_RING_DIR_BYTES])
{
    size_t count = CK_RING_DIRS;

    ck_ring_dirs(dirs);
    for (size_t i = 0; i < CK_RING_DIRS; i++) {
        count = beside_find(dirs, i, count);
    }
    return count;
}

int ck_ring_path(char *path,
                 size_t room,
                 const char *dir,
                 const uint8_t agent[16])
{
    int n = snprintf(path, room,
                     "%s/%02x%02x%02x%02x%02x%02x%02x%02x" CK_RING_SUFFIX, dir,
                     agent[0], agent[1], agent[2], agent[3], agent[4], agent[5],
                     agent[6], agent[7]);

    if (n < 0 || (size_t)n >= room) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return 0;
}

static bool ends_with(const char *name, const char *suffix)
{
    size_t length = strlen(name);
    size_t end = strlen(suffix);

    return length > end && strcmp(name + length - end, suffix) == 0;
}

bool ck_ring_is_name(const char *name)
{
    return ends_with(name, CK_RING_SUFFIX);
}

bool ck_ring_is_new_name(const char *name)
{
    return ends_with(name, CK_RING_SUFFIX_NEW);
}
