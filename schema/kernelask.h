/* kernelask.h - a system call, or a variable, without the C library
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * For what each program runs at its start that has an injected library in it:
 * getenv() and the strlen() that it calls are on pages of the C library
 * that a program which ends at once has no other use for.
 */
#ifndef CK_SCHEMA_KERNELASK_H
#define CK_SCHEMA_KERNELASK_H

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Asked without the C library: a program's own calls are counted there, and to
 * find its functions takes longer than most of these. -1 with errno. */
__attribute__((section(".text.startup"), unused)) static long
ck_kernel_ask(long number, const long words[6])
{
#if defined(__x86_64__)
    /* Loaded before registers are chosen: with the thread sanitizer a load is
     * a call, which would change them. */
    long one = words[0], two = words[1], three = words[2];
    long four = words[3], five = words[4], six = words[5];
    register long fourth __asm__("r10") = four;
    register long fifth __asm__("r8") = five;
    register long sixth __asm__("r9") = six;
    long rc;

    __asm__ volatile("syscall"
                     : "=a"(rc)
                     : "a"(number), "D"(one), "S"(two), "d"(three), "r"(fourth),
                       "r"(fifth), "r"(sixth)
                     : "rcx", "r11", "memory");
    if (rc < 0 && rc >= -4095) {
        errno = (int)-rc;
        return -1;
    }
    return rc;
#else
    return syscall(number, words[0], words[1], words[2], words[3], words[4],
                   words[5]);
#endif
}

/* A file to be read, whatever it is: no wait for one that writes to it, no
 * terminal of the process. A descriptor, or -1 with errno. */
__attribute__((section(".text.startup"), unused)) static long
ck_kernel_open(const char *path)
{
    return ck_kernel_ask(
        SYS_openat, (long[6]){AT_FDCWD, (long)path,
                              O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY});
}

/* `env` is the third argument that glibc gives to a constructor; other C
 * libraries give none, and it is not looked at. NULL of a program that cleared
 * its variables before it opened a library. Borrowed; NULL = not set. */
__attribute__((section(".text.startup"))) static inline char *
ck_start_env(char *const *env, const char *name)
{
#ifdef __GLIBC__
    for (; env != NULL && *env != NULL; env++) {
        size_t i = 0;

        while (name[i] != '\0' && (*env)[i] == name[i]) {
            i++;
        }
        if (name[i] == '\0' && (*env)[i] == '=') {
            return *env + i + 1;
        }
    }
    return NULL;
#else
    (void)env;
    return getenv(name);
#endif
}

#endif
