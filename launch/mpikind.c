/* mpikind.c - which MPI a program is linked with
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The dynamic section of an ELF file names the libraries that it needs
 * (DT_NEEDED). The loader would find those of the libraries, too, but only by
 * starting the program.
 */
#include "launch/mpikind.h"

#include <elf.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* A file in memory; nothing outside of it is read. */
struct image {
    const char *bytes;
    uint64_t size;
};

static const void *part(const struct image *image, uint64_t at, uint64_t bytes)
{
    return at <= image->size && bytes <= image->size - at ? image->bytes + at
                                                          : NULL;
}

static const Elf64_Phdr *segment_at(const struct image *image, unsigned index)
{
    const Elf64_Ehdr *elf = part(image, 0, sizeof(*elf));

    if (elf == NULL || memcmp(elf->e_ident, ELFMAG, SELFMAG) != 0 ||
        elf->e_ident[EI_CLASS] != ELFCLASS64 || index >= elf->e_phnum ||
        elf->e_phentsize != sizeof(Elf64_Phdr) || elf->e_phoff % 8 != 0) {
        return NULL;
    }
    return part(image, elf->e_phoff + index * sizeof(Elf64_Phdr),
                sizeof(Elf64_Phdr));
}

/* Where in the file the byte of an address is; UINT64_MAX: nowhere. */
static uint64_t offset_of(const struct image *image, uint64_t address)
{
    const Elf64_Phdr *segment;

    for (unsigned i = 0; (segment = segment_at(image, i)) != NULL; i++) {
        if (segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
            address - segment->p_vaddr < segment->p_filesz) {
            return segment->p_offset + (address - segment->p_vaddr);
        }
    }
    return UINT64_MAX;
}

static enum mpi_kind kind_of_library(const char *name)
{
    if (strncmp(name, "libmpich", 8) == 0 ||
        strcmp(name, "libmpi.so.12") == 0) {
        return CK_MPI_MPICH;
    }
    return strncmp(name, "libmpi.so.", 10) == 0 ? CK_MPI_OPEN : CK_MPI_UNKNOWN;
}

/* One of the dynamic section, `texts` is where its names begin. */
static enum mpi_kind
kind_of_entry(const struct image *image, const Elf64_Dyn *entry, uint64_t texts)
{
    uint64_t at = texts + entry->d_un.d_val;

    if (entry->d_tag != DT_NEEDED || at >= image->size ||
        memchr(image->bytes + at, '\0', image->size - at) == NULL) {
        return CK_MPI_UNKNOWN;
    }
    return kind_of_library(image->bytes + at);
}

static enum mpi_kind kind_of_image(const struct image *image)
{
    const Elf64_Phdr *segment;
    const Elf64_Dyn *list = NULL;
    enum mpi_kind kind = CK_MPI_UNKNOWN;
    uint64_t count = 0;
    uint64_t texts = UINT64_MAX;

    for (unsigned i = 0; (segment = segment_at(image, i)) != NULL; i++) {
        if (segment->p_type == PT_DYNAMIC && segment->p_offset % 8 == 0) {
            list = part(image, segment->p_offset, segment->p_filesz);
            count = segment->p_filesz / sizeof(*list);
        }
    }
    for (uint64_t i = 0; list != NULL && i < count; i++) {
        if (list[i].d_tag == DT_STRTAB) {
            texts = offset_of(image, list[i].d_un.d_ptr);
        }
    }
    for (uint64_t i = 0; list != NULL && i < count && texts < image->size &&
                         kind == CK_MPI_UNKNOWN && list[i].d_tag != DT_NULL;
         i++) {
        kind = kind_of_entry(image, &list[i], texts);
    }
    return kind;
}

enum mpi_kind mpi_kind_of(const char *path)
{
    enum mpi_kind kind = CK_MPI_UNKNOWN;
    struct image image;
    struct stat status;
    void *map = MAP_FAILED;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0) {
        return kind;
    }
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
        status.st_size > 0) {
        map = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    }
    (void)close(fd);
    if (map != MAP_FAILED) {
        image = (struct image){map, (uint64_t)status.st_size};
        kind = kind_of_image(&image);
        (void)munmap(map, (size_t)status.st_size);
    }
    return kind;
}
