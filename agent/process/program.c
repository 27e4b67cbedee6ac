/* program.c - what a file that is executed is, for the loader
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/process/program.h"

#include <elf.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#endif

static bool is_read(int fd, void *bytes, size_t length, uint64_t at)
{
    return pread(fd, bytes, length, (off_t)at) == (ssize_t)length;
}

/* The program's interpreter, "" for none. False: it cannot be read. */
static bool interpreter_find(int fd, const Elf64_Ehdr *elf, char path[PATH_MAX])
{
    Elf64_Phdr segment;

    path[0] = '\0';
    if (elf->e_phentsize != sizeof(segment)) {
        return false;
    }
    for (unsigned i = 0; i < elf->e_phnum; i++) {
        if (!is_read(fd, &segment, sizeof(segment),
                     elf->e_phoff + i * sizeof(segment))) {
            return false;
        }
        if (segment.p_type == PT_INTERP) {
            path[PATH_MAX - 1] = '\0';
            return segment.p_filesz < PATH_MAX &&
                   is_read(fd, path, segment.p_filesz, segment.p_offset);
        }
    }
    return true;
}

static const char *elf_obstacle(int fd)
{
    char interpreter[PATH_MAX] = "";
    Elf64_Ehdr elf;

    if (!is_read(fd, &elf, sizeof(elf), 0) ||
        memcmp(elf.e_ident, ELFMAG, SELFMAG) != 0) {
        return NULL;
    }
    if (elf.e_ident[EI_CLASS] == ELFCLASS32) {
        return "it is a 32-bit program";
    }
    if (elf.e_machine != MACHINE) {
        return "it is built for another machine";
    }
    if (!interpreter_find(fd, &elf, interpreter)) {
        return NULL;
    }
    if (interpreter[0] == '\0') {
        return "it is statically linked";
    }
    return strstr(interpreter, "/ld-musl") != NULL ? "it is linked with musl"
                                                   : NULL;
}

const char *program_obstacle(int fd)
{
    struct stat st;

    if (fstat(fd, &st) != 0) {
        return NULL;
    }
    if ((st.st_mode & S_ISUID) != 0 || (st.st_mode & S_ISGID) != 0) {
        return "it is setuid or setgid";
    }
    return elf_obstacle(fd);
}
