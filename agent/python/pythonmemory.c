/* pythonmemory.c - bytes of another process
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/python/pythonmemory.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

int pythonmemory_pieces(pid_t pid,
                        const struct pythonmemory_piece *pieces,
                        size_t count)
{
    struct iovec here[PYTHONMEMORY_PIECES], there[PYTHONMEMORY_PIECES];
    size_t wanted = 0;
    ssize_t got;

    if (count > PYTHONMEMORY_PIECES) {
        errno = EINVAL;
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        here[i] = (struct iovec){pieces[i].bytes, pieces[i].length};
        there[i] = (struct iovec){(void *)(uintptr_t)pieces[i].address,
                                  pieces[i].length};
        wanted += pieces[i].length;
    }
    got = process_vm_readv(pid, here, count, there, count, 0);
    if (got < 0) {
        return -1;
    }
    if ((size_t)got != wanted) {
        errno = EFAULT;
        return -1;
    }
    return 0;
}

int pythonmemory_read(pid_t pid, uint64_t address, void *bytes, size_t length)
{
    return pythonmemory_pieces(
        pid, &(struct pythonmemory_piece){address, bytes, length}, 1);
}

uint64_t pythonmemory_word(const void *bytes, size_t offset)
{
    uint64_t word;

    memcpy(&word, (const uint8_t *)bytes + offset, sizeof(word));
    return word;
}

uint32_t pythonmemory_half(const void *bytes, size_t offset)
{
    uint32_t half;

    memcpy(&half, (const uint8_t *)bytes + offset, sizeof(half));
    return half;
}
