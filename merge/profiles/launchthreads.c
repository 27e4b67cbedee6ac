/* launchthreads.c - which thread made the launch with a given correlation id
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/profiles/launchthreads.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "merge/model/memory.h"

#define BYTES (LAUNCHTHREADS_MAX * sizeof(uint16_t))

struct launchthreads {
    uint16_t *threads; /* + 1; 0 = not known */
};

struct launchthreads *launchthreads_create(const char *dir, struct ck_err *err)
{
    struct launchthreads *launchthreads = xcalloc(1, sizeof(*launchthreads));
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    void *map = MAP_FAILED;

    if (fd >= 0 && ftruncate(fd, (off_t)BYTES) == 0) {
        map = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
                   MAP_SHARED | MAP_NORESERVE, fd, 0);
    }
    if (map == MAP_FAILED) {
        (void)ck_err_set(err, "cannot make a temporary file in %s: %s", dir,
                         strerror(errno));
        free(launchthreads);
        launchthreads = NULL;
    } else {
        launchthreads->threads = map;
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return launchthreads;
}

void launchthreads_destroy(struct launchthreads *launchthreads)
{
    if (launchthreads != NULL) {
        (void)munmap(launchthreads->threads, BYTES);
        free(launchthreads);
    }
}

void launchthreads_set(struct launchthreads *launchthreads,
                       uint64_t id,
                       unsigned thread)
{
    if (id < LAUNCHTHREADS_MAX && thread < UINT16_MAX) {
        launchthreads->threads[id] = (uint16_t)(thread + 1);
    }
}

bool launchthreads_get(const struct launchthreads *launchthreads,
                       uint64_t id,
                       unsigned *thread)
{
    if (id >= LAUNCHTHREADS_MAX || launchthreads->threads[id] == 0) {
        return false;
    }
    *thread = launchthreads->threads[id] - 1u;
    return true;
}
