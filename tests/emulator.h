/* emulator.h - tests of what an emulator in user mode cannot show are left out
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * There the kernel's view of a process is that of the emulator: its files in
 * /proc, its vDSO and the calls that its threads wait in; and shells and Python
 * are of the machine that emulates.
 */
#ifndef CK_TESTS_EMULATOR_H
#define CK_TESTS_EMULATOR_H

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

/* The kernel runs this process as a program of another machine. */
static inline bool is_emulated(void)
{
#if defined(__aarch64__)
    const uint16_t own = EM_AARCH64;
#elif defined(__x86_64__)
    const uint16_t own = EM_X86_64;
#else
    const uint16_t own = EM_NONE;
#endif
    uint16_t machine = own;
    /* Emulators pretend in /proc/self only. */
    int fd = open("/proc/thread-self/exe", O_RDONLY | O_CLOEXEC);

    if (fd >= 0) {
        (void)pread(fd, &machine, sizeof(machine),
                    (off_t)offsetof(Elf64_Ehdr, e_machine));
        (void)close(fd);
    }
    return own != EM_NONE && machine != own;
}

/* The case that asks is left out in an emulator, for this reason. */
#define EMULATOR_SKIP(why)                                                     \
    do {                                                                       \
        if (is_emulated()) {                                                   \
            print_message("skipped in an emulator: %s\n", why);                \
            skip();                                                            \
        }                                                                      \
    } while (0)

#endif
