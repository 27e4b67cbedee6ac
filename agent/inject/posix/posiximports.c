/* posiximports.c - what a program asks of other libraries
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A linker puts the tables of names in front, so the beginning of the file has
 * them; where it does not, the program is taken for one that asks for all.
 * Offsets are the file's own and not believed.
 */
#include "agent/inject/posix/posiximports.h"

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "schema/kernelask.h"

/* Of the file, with the tables; and of its dynamic section. */
#define HEAD_BYTES 4096
#define DYNAMIC_BYTES 1024
#define ONLY_LIBRARY "libc.so.6"

struct imports {
    union {
        Elf64_Ehdr elf;
        char bytes[HEAD_BYTES];
    } head;
    union {
        Elf64_Dyn entries[DYNAMIC_BYTES / sizeof(Elf64_Dyn)];
        char bytes[DYNAMIC_BYTES];
    } dynamic;
    size_t head_bytes;
    size_t dynamic_entries;
    uint64_t base;    /* address of the file's first byte */
    uint64_t symbols; /* offsets */
    uint64_t texts;
    uint64_t texts_bytes;
    uint64_t library; /* in the texts */
    unsigned libraries;
};

/* Names, one behind the other: an array of pointers would have to be
 * relocated in each program. */
#define POSIX_ENTRY(symbol_, name, words, shape) #symbol_ "\0"
static const char recorded[] =
#include "agent/inject/posix/posix.def"
    "fopen\0fopen64\0fread\0prctl\0";
#undef POSIX_ENTRY
/* What starts a program, and loads one. */
static const char starts[] =
    "_Fork\0__clone\0__fork\0__vfork\0_IO_popen\0_IO_proc_open\0clone\0daemon\0"
    "fexecve\0fork\0forkpty\0popen\0rcmd\0rexec\0syscall\0system\0vfork\0"
    "wordexp\0";
/* All that begins so. */
static const char families[] = "GOMP_\0__dl\0__libc_dl\0aio_\0ck_\0cnd_\0dl\0"
                               "exec\0mtx_\0omp_\0posix_spawn\0pthread_\0sem_\0"
                               "thrd_\0";

static bool is_among(const char *names, const char *name)
{
    for (; *names != '\0'; names += strlen(names) + 1) {
        if (strcmp(names, name) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_of(const char *beginnings, const char *name)
{
    for (; *beginnings != '\0'; beginnings += strlen(beginnings) + 1) {
        if (strncmp(beginnings, name, strlen(beginnings)) == 0) {
            return true;
        }
    }
    return false;
}

static size_t part_read(long fd, void *to, size_t bytes, uint64_t at)
{
    long got = ck_kernel_ask(SYS_pread64,
                             (long[6]){fd, (long)to, (long)bytes, (long)at});

    return got > 0 ? (size_t)got : 0;
}

/* The table of parts: where the dynamic section is. */
static bool parts_read(struct imports *imports, long fd)
{
    const Elf64_Ehdr *elf = &imports->head.elf;
    bool has_base = false;

    if (imports->head_bytes < sizeof(*elf) ||
        memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0 ||
        elf->e_ident[EI_CLASS] != ELFCLASS64 ||
        elf->e_phentsize != sizeof(Elf64_Phdr) ||
        elf->e_phoff > imports->head_bytes ||
        elf->e_phnum >
            (imports->head_bytes - elf->e_phoff) / sizeof(Elf64_Phdr)) {
        return false;
    }
    for (size_t i = 0; i < elf->e_phnum; i++) {
        Elf64_Phdr part;

        memcpy(&part, imports->head.bytes + elf->e_phoff + i * sizeof(part),
               sizeof(part));
        if (part.p_type == PT_LOAD && !has_base) {
            has_base = part.p_offset == 0;
            imports->base = part.p_vaddr;
        }
        if (part.p_type == PT_DYNAMIC &&
            part.p_filesz <= sizeof(imports->dynamic)) {
            imports->dynamic_entries =
                part_read(fd, &imports->dynamic, (size_t)part.p_filesz,
                          part.p_offset) /
                sizeof(Elf64_Dyn);
        }
    }
    return has_base && imports->dynamic_entries > 0;
}

/* Where the tables are, and how many libraries are needed. */
static bool dynamic_read(struct imports *imports)
{
    for (size_t i = 0; i < imports->dynamic_entries; i++) {
        const Elf64_Dyn *entry = &imports->dynamic.entries[i];

        switch (entry->d_tag) {
        case DT_NEEDED:
            imports->library = entry->d_un.d_val;
            imports->libraries++;
            break;
        case DT_SYMTAB:
            imports->symbols = entry->d_un.d_ptr - imports->base;
            break;
        case DT_STRTAB:
            imports->texts = entry->d_un.d_ptr - imports->base;
            break;
        case DT_STRSZ:
            imports->texts_bytes = entry->d_un.d_val;
            break;
        case DT_AUDIT:
        case DT_DEPAUDIT:
            return false;
        case DT_NULL:
            return imports->libraries == 1;
        default:
            break;
        }
    }
    return false;
}

/* Are both tables in the part of the file that was read, and is each text ended
 * there? The texts follow the symbols, with other tables between them in the
 * files of some linkers, whose words are hardly names. */
static bool has_tables(const struct imports *imports)
{
    return imports->symbols < imports->texts &&
           imports->texts < imports->head_bytes && imports->texts_bytes > 0 &&
           imports->texts_bytes <= imports->head_bytes - imports->texts &&
           imports->head.bytes[imports->texts + imports->texts_bytes - 1] ==
               '\0';
}

/* NULL: it is none. */
static const char *text_at(const struct imports *imports, uint64_t at)
{
    return at < imports->texts_bytes ? imports->head.bytes + imports->texts + at
                                     : NULL;
}

static bool symbols_are_few(const struct imports *imports)
{
    uint64_t count = (imports->texts - imports->symbols) / sizeof(Elf64_Sym);

    for (uint64_t i = 1; i < count; i++) {
        Elf64_Sym symbol;
        const char *name;

        memcpy(&symbol,
               imports->head.bytes + imports->symbols + i * sizeof(symbol),
               sizeof(symbol));
        name = text_at(imports, symbol.st_name);
        if (name == NULL || is_of(families, name) || is_among(starts, name) ||
            is_among(recorded, name)) {
            return false;
        }
    }
    return true;
}

bool posix_imports_little(const char *path)
{
    struct imports imports = {.head_bytes = 0};
    const char *library;
    bool is_little;
    long fd = ck_kernel_open(path);

    if (fd < 0) {
        return false;
    }
    imports.head_bytes = part_read(fd, &imports.head, HEAD_BYTES, 0);
    is_little = parts_read(&imports, fd) && dynamic_read(&imports) &&
                has_tables(&imports);
    (void)ck_kernel_ask(SYS_close, (long[6]){fd});
    if (!is_little) {
        return false;
    }
    library = text_at(&imports, imports.library);
    return library != NULL && strcmp(library, ONLY_LIBRARY) == 0 &&
           symbols_are_few(&imports);
}
