/* unwindfile.c - what an ELF file has of the callers of its functions
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * All pointers of the tables are relative to the place of the pointer or to
 * the header, so they can be followed in a copy: an address of the file is
 * moved by the distance of the copy from where the file has the same bytes.
 */
#include "agent/unwind/unwindfile.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/process/mappings.h"
#include "schema/fd.h"

#define SEGMENTS_MAX 128
#define TABLE_BYTES_MAX ((uint64_t)512 << 20)
/* How the header has the address of .eh_frame. */
#define FRAMES_FROM_PLACE 0x1b

/* Code from an entry point on that has no caller. */
#define ENTRY_BYTES 128

struct unwindfile {
    Elf64_Phdr *segments;
    size_t count;
    uint8_t *copy; /* borrowed; NULL = it has no table */
    uint64_t bytes;
    uint64_t address; /* of the copy's first byte, in the file's own */
    uint64_t header;  /* of .eh_frame_hdr, in the file's own */
    uint64_t entry;   /* 0 = nothing begins there */
};

/* Where the bytes come from. */
struct source {
    int fd; /* -1 = memory */
    const uint8_t *memory;
    uint64_t length;
};

static int
source_read(const struct source *source, uint64_t at, void *to, size_t bytes)
{
    size_t done = 0;

    if (at > source->length || source->length - at < bytes) {
        return -1;
    }
    if (source->fd < 0) {
        memcpy(to, source->memory + at, bytes);
        return 0;
    }
    while (done < bytes) {
        ssize_t got = pread(source->fd, (uint8_t *)to + done, bytes - done,
                            (off_t)(at + done));

        if (got <= 0) {
            return -1;
        }
        done += (size_t)got;
    }
    return 0;
}

/* Of our own memory; all of it that is loaded. False: there is none. */
static bool vdso_source(struct source *source)
{
    const uint8_t *image =
        (const uint8_t *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
    const Elf64_Ehdr *header = (const void *)image;

    if (image == NULL) {
        return false;
    }
    *source = (struct source){-1, image, 0};
    for (unsigned i = 0; i < header->e_phnum; i++) {
        const Elf64_Phdr *segment =
            (const void *)(image + header->e_phoff + i * sizeof(*segment));

        if (segment->p_type == PT_LOAD) {
            source->length = segment->p_offset + segment->p_filesz;
        }
    }
    return true;
}

/* False with errno. */
static bool file_source(const char *path, struct source *source)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    if (fd < 0) {
        return false;
    }
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
        (void)close(fd);
        errno = EBADMSG;
        return false;
    }
    *source = (struct source){fd, NULL, (uint64_t)status.st_size};
    return true;
}

/* 0, or -1: no ELF file of this machine, or no memory. */
static int segments_read(struct unwindfile *file, const struct source *source)
{
    Elf64_Ehdr header;

    if (source_read(source, 0, &header, sizeof(header)) != 0 ||
        memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
        header.e_ident[EI_CLASS] != ELFCLASS64 ||
        header.e_phentsize != sizeof(*file->segments) || header.e_phnum == 0 ||
        header.e_phnum > SEGMENTS_MAX) {
        return -1;
    }
    file->entry = header.e_entry;
    file->count = header.e_phnum;
    file->segments = calloc(file->count, sizeof(*file->segments));
    return file->segments == NULL
               ? -1
               : source_read(source, header.e_phoff, file->segments,
                             file->count * sizeof(*file->segments));
}

static const Elf64_Phdr *segment_find(const struct unwindfile *file,
                                      uint32_t type)
{
    for (size_t i = 0; i < file->count; i++) {
        if (file->segments[i].p_type == type) {
            return &file->segments[i];
        }
    }
    return NULL;
}

/* The loaded segment that has the address in its file. */
static const Elf64_Phdr *segment_of(const struct unwindfile *file,
                                    uint64_t address)
{
    for (size_t i = 0; i < file->count; i++) {
        const Elf64_Phdr *segment = &file->segments[i];

        if (segment->p_type == PT_LOAD && address >= segment->p_vaddr &&
            address - segment->p_vaddr < segment->p_filesz) {
            return segment;
        }
    }
    return NULL;
}

/* Read the table and what follows it in its segment; .eh_frame is there,
 * or before it. Without one that is understood nothing is read. 0, or -1: no
 * memory, or the file is shorter than its headers have it. */
static int table_read(struct unwindfile *file,
                      const struct source *source,
                      struct unwindspace *space)
{
    const Elf64_Phdr *header = segment_find(file, PT_GNU_EH_FRAME);
    const Elf64_Phdr *segment =
        header == NULL ? NULL : segment_of(file, header->p_vaddr);
    uint8_t head[8];
    int32_t distance;
    uint64_t frames;

    if (segment == NULL ||
        source_read(source,
                    header->p_vaddr - segment->p_vaddr + segment->p_offset,
                    head, sizeof(head)) != 0 ||
        head[1] != FRAMES_FROM_PLACE) {
        return 0;
    }
    memcpy(&distance, head + 4, sizeof(distance));
    frames = header->p_vaddr + 4 + (uint64_t)(int64_t)distance;
    file->header = header->p_vaddr;
    file->address = frames < file->header ? frames : file->header;
    if (segment_of(file, frames) != segment) {
        return 0;
    }
    file->bytes = segment->p_vaddr + segment->p_filesz - file->address;
    if (file->bytes > TABLE_BYTES_MAX || file->bytes > source->length) {
        return 0;
    }
    file->copy = unwindspace_take(space, file->bytes);
    if (file->copy == NULL) {
        return -1;
    }
    return source_read(source,
                       file->address - segment->p_vaddr + segment->p_offset,
                       file->copy, file->bytes);
}

struct unwindfile *unwindfile_open(const char *path, struct unwindspace *space)
{
    struct unwindfile *file;
    struct source source;
    bool is_there = strcmp(path, UNWINDFILE_VDSO) == 0
                        ? vdso_source(&source)
                        : file_source(path, &source);

    if (!is_there) {
        return NULL;
    }
    file = calloc(1, sizeof(*file));
    if (file != NULL && (segments_read(file, &source) != 0 ||
                         table_read(file, &source, space) != 0)) {
        unwindfile_destroy(file);
        file = NULL;
        errno = EBADMSG;
    }
    ck_fd_close(source.fd);
    return file;
}

void unwindfile_destroy(struct unwindfile *file)
{
    int saved = errno;

    if (file != NULL) {
        free(file->segments);
        free(file);
    }
    errno = saved;
}

int unwindfile_bias(const struct unwindfile *file,
                    uint64_t start,
                    uint64_t offset,
                    uint64_t *bias)
{
    for (size_t i = 0; i < file->count; i++) {
        /* A page of the file may be in two segments: as data, and as code. */
        if ((file->segments[i].p_flags & PF_X) != 0 &&
            mapping_bias(&file->segments[i], start, offset, bias)) {
            return 0;
        }
    }
    return -1;
}

/* The kernel begins a process there, so it has no caller. The loader's entry
 * has no rule, and what it calls returns to it. */
static bool is_entry(const struct unwindfile *file, uint64_t address)
{
    return file->entry != 0 && address - 1 - file->entry < ENTRY_BYTES;
}

enum ehframe unwindfile_find(const struct unwindfile *file,
                             uint64_t address,
                             struct ehframe_rule *rule)
{
    uint64_t begin = (uint64_t)(uintptr_t)file->copy;
    struct ehframe_module module = {
        .begin = begin,
        .end = begin + file->bytes,
        .header = begin + (file->header - file->address),
    };
    enum ehframe found =
        file->copy == NULL
            ? EHFRAME_UNKNOWN
            : ehframe_find(&module, address - file->address + begin, rule);

    return found == EHFRAME_UNKNOWN && is_entry(file, address)
               ? EHFRAME_OUTERMOST
               : found;
}
