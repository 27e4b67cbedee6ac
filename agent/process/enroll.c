/* enroll.c - a program that records nothing gets its entry all the same
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/process/enroll.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/uio.h>

#include "agent/process/procfile.h"

/* Where the random bytes of the image are, 0 = not known. */
static uint64_t random_find(pid_t pid)
{
    Elf64_auxv_t words[64];
    ssize_t bytes =
        procfile_read((char *)words, sizeof(words), "/proc/%d/auxv", (int)pid);

    for (ssize_t i = 0; i < bytes / (ssize_t)sizeof(words[0]); i++) {
        if (words[i].a_type == AT_RANDOM) {
            return words[i].a_un.a_val;
        }
    }
    return 0;
}

int enroll(struct ck_ring_header *header, pid_t pid)
{
    uint8_t bytes[CK_RING_IMAGE_BYTES];
    struct iovec here = {bytes, sizeof(bytes)};
    struct iovec there = {(void *)(uintptr_t)random_find(pid), sizeof(bytes)};

    if (there.iov_base == NULL) {
        errno = ESRCH;
        return -1;
    }
    if (process_vm_readv(pid, &here, 1, &there, 1, 0) !=
        (ssize_t)sizeof(bytes)) {
        return -1;
    }
    return ck_ring_enroll(header, (uint32_t)pid, bytes);
}
