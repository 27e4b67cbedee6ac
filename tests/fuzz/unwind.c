/* unwind.c - an ELF file with wrong tables, and a stack of nonsense
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The input is a stack of 512 bytes, then the file. It is mapped at 64 KiB, and
 * threads are at every 61st byte of its code.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "agent/unwind/codemaps.h"
#include "agent/unwind/unwind.h"
#include "tests/fuzz/target.h"

#define STACK_BYTES 512
#define CODE 0x10000
#define CODE_BYTES 0x10000
#define STACK 0x7000000
#define FRAMES 32
#define PID 0x3ffffff1 /* of no process that runs */

static void must(bool is_true)
{
    if (!is_true) {
        abort();
    }
}

static void threads_walk(struct unwind *unwind, const uint8_t *stack)
{
    for (uint64_t pc = CODE; pc < CODE + CODE_BYTES; pc += 61) {
        uint64_t found[FRAMES];
        struct unwind_frames frames = {.frames = found, .room = FRAMES};
        struct unwind_thread thread = {
            .pid = PID, .stack = stack, .length = STACK_BYTES};
        enum unwind_end end;

        for (size_t i = 0; i < EHFRAME_REGISTERS; i++) {
            thread.registers[i] = STACK + 16 * i;
        }
        thread.registers[EHFRAME_SP] = STACK;
        thread.registers[EHFRAME_PC] = pc;
        end = unwind_walk(unwind, &thread, &frames);
        must(end < UNWIND_ENDS && frames.count > 0 && frames.count <= FRAMES &&
             found[0] == pc + 1);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct codemaps *codemaps;
    struct unwind *unwind;
    char path[64];
    int fd;

    if (size <= STACK_BYTES) {
        return 0;
    }
    codemaps = codemaps_create();
    unwind = unwind_create(codemaps);
    fd = memfd_create("file", MFD_CLOEXEC);
    must(codemaps != NULL && unwind != NULL && fd >= 0 &&
         write(fd, data + STACK_BYTES, size - STACK_BYTES) ==
             (ssize_t)(size - STACK_BYTES));
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    codemaps_begin(codemaps, PID);
    codemaps_mapped(codemaps, PID,
                    &(struct mapping){.start = CODE,
                                      .end = CODE + CODE_BYTES,
                                      .path = path,
                                      .is_code = true});
    threads_walk(unwind, data);
    (void)close(fd);
    unwind_destroy(unwind);
    codemaps_destroy(codemaps);
    return 0;
}
