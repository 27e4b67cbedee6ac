/* pythonmemory.h - bytes of another process
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Read by process_vm_readv: the process is neither stopped nor changed, and
 * may change what is read. Nothing that was read is believed.
 */
#ifndef CK_AGENT_PYTHON_PYTHONMEMORY_H
#define CK_AGENT_PYTHON_PYTHONMEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Pieces of one read. */
#define PYTHONMEMORY_PIECES 128

struct pythonmemory_piece {
    uint64_t address; /* there */
    void *bytes;      /* here, borrowed */
    size_t length;
};

/* All of the bytes. 0, or -1 with errno: EFAULT there is no such memory, EPERM
 * it may not be read, ESRCH the process has ended. */
int pythonmemory_read(pid_t pid, uint64_t address, void *bytes, size_t length);
/* All pieces, in their order, by one call of the kernel. The same. */
int pythonmemory_pieces(pid_t pid,
                        const struct pythonmemory_piece *pieces,
                        size_t count);

/* A number of 8 or 4 bytes within bytes that were read. */
uint64_t pythonmemory_word(const void *bytes, size_t offset);
uint32_t pythonmemory_half(const void *bytes, size_t offset);

#endif
