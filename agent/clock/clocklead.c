/* clocklead.c - which agent probes the clock for all of its domain
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/clock/clocklead.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/link/embedded.h"

void clocklead_init(struct clocklead *lead, const struct identity *identity)
{
    unsigned long long hash = identity_hash(identity);
    char dir[EMBEDDED_DIR];

    lead->fd = -1;
    lead->path[0] = '\0';
    if (embedded_dir(dir, NULL) == 0) {
        hash ^= ck_domain_hash(&identity->domain) * 0x9e3779b97f4a7c15u;
        hash ^= strtoull(identity->machine, NULL, 16) * 0xbf58476d1ce4e5b9u;
        (void)snprintf(lead->path, sizeof(lead->path), "%.95s/%016llx.clock",
                       dir, hash);
    }
}

void clocklead_fini(struct clocklead *lead)
{
    if (lead->fd >= 0) {
        (void)unlink(lead->path);
        (void)close(lead->fd);
        lead->fd = -1;
    }
}

bool clocklead_take(struct clocklead *lead)
{
    struct stat st;
    int fd;

    if (lead->fd >= 0 || lead->path[0] == '\0') {
        return true;
    }
    fd = open(lead->path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        return false;
    }
    /* The one that leads may just have removed it. */
    if (flock(fd, LOCK_EX | LOCK_NB) != 0 || fstat(fd, &st) != 0 ||
        st.st_nlink == 0) {
        (void)close(fd);
        return false;
    }
    lead->fd = fd;
    return true;
}
