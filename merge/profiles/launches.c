/* launches.c - which thread made the launch with a given correlation id
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/profiles/launches.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES (LAUNCHES_MAX * sizeof(uint16_t))

struct launches {
    uint16_t *threads; /* + 1; 0 = not said */
};

struct launches *launches_create(const char *dir, struct ck_err *err)
{
    struct launches *launches = calloc(1, sizeof(*launches));
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    void *map = MAP_FAILED;

    if (launches != NULL && fd >= 0 && ftruncate(fd, (off_t)BYTES) == 0) {
        map = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_NORESERVE, fd, 0);
    }
    if (map == MAP_FAILED) {
        (void)ck_err_set(err, "cannot make a temporary file in %s: %s", dir,
                         strerror(errno));
        free(launches);
        launches = NULL;
    } else {
        launches->threads = map;
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return launches;
}

void launches_destroy(struct launches *launches)
{
    if (launches != NULL) {
        (void)munmap(launches->threads, BYTES);
        free(launches);
    }
}

void launches_set(struct launches *launches, uint64_t id, unsigned thread)
{
    if (id < LAUNCHES_MAX && thread < UINT16_MAX) {
        launches->threads[id] = (uint16_t)(thread + 1);
    }
}

bool launches_get(const struct launches *launches,
                  uint64_t id,
                  unsigned *thread)
{
    if (id >= LAUNCHES_MAX || launches->threads[id] == 0) {
        return false;
    }
    *thread = launches->threads[id] - 1u;
    return true;
}
