/* codemaps.c - where processes have which code
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A file is the same as one seen before where path, inode and time of change
 * are equal: a program that is built again during the run is another file.
 * Files are looked up when an address in them is first asked for: of a script's
 * many programs few are ever sampled.
 */
#include "agent/unwind/codemaps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "agent/symbols/pages.h"
#include "agent/symbols/symboltable.h"
#include "schema/fnv.h"
#include "schema/order.h"
#include "schema/time.h"

#define PATH_BYTES 4352 /* with the process' root before it */
#define ROOT "/root"
/* Maps are not read again before that. */
#define LOOK_AGAIN (100 * CK_TIME_MS)
#define RANGES_MAX 65536
#define NO_FILE UINT32_MAX
#define NOT_LOOKED_UP (UINT32_MAX - 1)
/* Paths that are remembered; a power of two. */
#define PATHS 8192

/* Code of a process. */
struct range {
    uint64_t start;
    uint64_t end;
    uint64_t offset;                /* in the file */
    uint32_t file;                  /* NO_FILE = none */
    uint32_t path;                  /* of one that is NOT_LOOKED_UP */
    bool is_asked;                  /* the next two are known */
    const struct unwindfile *rules; /* of the file; NULL = none */
    uint64_t bias;
};

struct process {
    pid_t pid;            /* 0 = unused */
    struct range *ranges; /* sorted, none is in another */
    size_t count, room;
    size_t last;        /* range that was found last */
    ck_time_t looked;   /* 0 = maps were not read */
    bool is_told;       /* all that it has mapped was reported, or lost */
    bool has_generated; /* code of no file */
    uint32_t dump;      /* path of its jit-PID.dump, + 1; 0 = none */
};

/* They call others on a stack of their own (systemstack), or begin one. */
static const char *const switches[] = {
    "runtime.systemstack.abi0", "runtime.systemstack",    "runtime.mcall",
    "runtime.mcall.abi0",       "runtime.morestack.abi0", "runtime.morestack",
    "runtime.asmcgocall.abi0",  "runtime.asmcgocall",     "runtime.mstart.abi0",
    "runtime.mstart",           "runtime.goexit.abi0",    "runtime.goexit",
    "runtime.rt0_go.abi0",      "runtime.rt0_go",
};
#define SWITCHES (sizeof(switches) / sizeof(switches[0]))

struct file {
    char *path;
    uint64_t hash; /* of the path */
    dev_t device;
    ino_t inode;
    struct timespec changed;
    bool is_opened; /* it was tried */
    struct unwindfile *file;
    struct symbol_range *switches; /* SWITCHES of them; NULL = not asked yet */
};

struct codemaps {
    struct process processes[CODEMAPS_PROCESSES];
    char *paths[PATHS]; /* by their hash, or behind it; NULL = unused */
    uint32_t paths_count;
    struct file files[CODEMAPS_FILES];
    uint32_t files_count;
    struct unwindspace space; /* of their tables */
    struct mappings mappings;
    uint64_t unread;
};

struct codemaps *codemaps_create(void)
{
    return ck_pages_create(1, sizeof(struct codemaps));
}

void codemaps_destroy(struct codemaps *codemaps)
{
    int saved = errno;

    if (codemaps == NULL) {
        return;
    }
    for (size_t i = 0; i < CODEMAPS_PROCESSES; i++) {
        free(codemaps->processes[i].ranges);
    }
    for (size_t i = 0; i < PATHS; i++) {
        free(codemaps->paths[i]);
    }
    for (uint32_t i = 0; i < codemaps->files_count; i++) {
        free(codemaps->files[i].path);
        unwindfile_destroy(codemaps->files[i].file);
        free(codemaps->files[i].switches);
    }
    unwindspace_fini(&codemaps->space);
    mappings_fini(&codemaps->mappings);
    ck_pages_destroy(codemaps, 1, sizeof(*codemaps));
    errno = saved;
}

static struct process *process_at(struct codemaps *codemaps, pid_t pid)
{
    return &codemaps->processes[(uint32_t)pid % CODEMAPS_PROCESSES];
}

void codemaps_begin(struct codemaps *codemaps, pid_t pid)
{
    struct process *process = process_at(codemaps, pid);

    process->pid = pid;
    process->count = 0;
    process->looked = 0;
    process->is_told = false;
    process->has_generated = false;
    process->dump = 0;
}

void codemaps_execed(struct codemaps *codemaps, pid_t pid)
{
    codemaps_begin(codemaps, pid);
    process_at(codemaps, pid)->is_told = true;
}

void codemaps_forked(struct codemaps *codemaps, pid_t pid, pid_t parent)
{
    const struct process *from = process_at(codemaps, parent);
    struct process *to = process_at(codemaps, pid);
    struct range *ranges;

    if (to->pid == pid) {
        codemaps_begin(codemaps, pid);
    }
    if (from->pid != parent || from->count == 0 || from == to) {
        return;
    }
    ranges = realloc(to->ranges, from->count * sizeof(*ranges));
    if (ranges == NULL) {
        return;
    }
    memcpy(ranges, from->ranges, from->count * sizeof(*ranges));
    to->pid = pid;
    to->ranges = ranges;
    to->count = to->room = from->count;
    to->looked = 0;
    to->is_told = false;
    to->has_generated = from->has_generated;
}

/* ---- files ----------------------------------------------------------------
 */

/* The file as the process sees it, in a container as well; as we see it where
 * the process has ended. False: it is not there. */
static bool
file_stat(pid_t pid, const char *path, char *as, struct stat *status)
{
    (void)snprintf(as, PATH_BYTES, "/proc/%d" ROOT "%s", (int)pid, path);
    if (stat(as, status) == 0) {
        return true;
    }
    (void)snprintf(as, PATH_BYTES, "%s", path);
    return stat(as, status) == 0;
}

static bool is_same(const struct file *file, const struct stat *status)
{
    return file->inode == status->st_ino && file->device == status->st_dev &&
           file->changed.tv_sec == status->st_mtim.tv_sec &&
           file->changed.tv_nsec == status->st_mtim.tv_nsec;
}

/* Number of the file, a new one if need be; NO_FILE = none. */
static uint32_t
file_number(struct codemaps *codemaps, pid_t pid, const char *path)
{
    uint64_t hash = ck_fnv(CK_FNV_START, path, strlen(path));
    struct stat status = {.st_ino = 0};
    char as[PATH_BYTES];
    struct file *file;

    if (strcmp(path, UNWINDFILE_VDSO) == 0) {
        (void)strcpy(as, path);
    } else if (!file_stat(pid, path, as, &status)) {
        return NO_FILE;
    }
    for (uint32_t i = 0; i < codemaps->files_count; i++) {
        file = &codemaps->files[i];
        if (file->hash == hash && is_same(file, &status)) {
            return i;
        }
    }
    if (codemaps->files_count == CODEMAPS_FILES) {
        return NO_FILE;
    }
    file = &codemaps->files[codemaps->files_count];
    *file = (struct file){.path = strdup(as),
                          .hash = hash,
                          .device = status.st_dev,
                          .inode = status.st_ino,
                          .changed = status.st_mtim};
    return file->path == NULL ? NO_FILE : codemaps->files_count++;
}

/* May code of that name be in a file? */
static bool is_file(const char *path)
{
    return (path[0] == '/' && path[1] != '/') ||
           strcmp(path, UNWINDFILE_VDSO) == 0;
}

/* Number of the path, which is copied; PATHS = there is no room for it. */
static uint32_t path_number(struct codemaps *codemaps, const char *path)
{
    uint32_t at = (uint32_t)ck_fnv(CK_FNV_START, path, strlen(path)) % PATHS;

    while (codemaps->paths[at] != NULL) {
        if (strcmp(codemaps->paths[at], path) == 0) {
            return at;
        }
        at = (at + 1) % PATHS;
    }
    if (codemaps->paths_count == PATHS / 2) {
        return PATHS;
    }
    codemaps->paths[at] = strdup(path);
    if (codemaps->paths[at] == NULL) {
        return PATHS;
    }
    codemaps->paths_count++;
    return at;
}

/* The path as we see it, of one below a process' root. */
static const char *plain_path(const char *path)
{
    const char *root = strstr(path, ROOT);

    return root == NULL || strncmp(path, "/proc/", 6) != 0
               ? path
               : root + sizeof(ROOT) - 1;
}

/* Where the file is now: the process may have ended since it was seen. NULL:
 * nowhere, or another file is there. */
static const char *path_now(const struct file *file)
{
    const char *const paths[] = {file->path, plain_path(file->path)};
    struct stat status;

    if (strcmp(file->path, UNWINDFILE_VDSO) == 0) {
        return file->path;
    }
    for (int i = 0; i < 2; i++) {
        if (stat(paths[i], &status) == 0 && is_same(file, &status)) {
            return paths[i];
        }
    }
    return NULL;
}

/* NULL: it cannot be read. */
static const struct unwindfile *file_open(struct codemaps *codemaps,
                                          uint32_t number)
{
    struct file *file = &codemaps->files[number];

    if (!file->is_opened) {
        const char *path = path_now(file);

        file->is_opened = true;
        file->file =
            path == NULL ? NULL : unwindfile_open(path, &codemaps->space);
        codemaps->unread += file->file == NULL;
    }
    return file->file;
}

/* False: there is no memory for them. What cannot be read, or is not Go's, has
 * none. */
static bool switches_read(struct file *file)
{
    const char *path = path_now(file);

    file->switches = calloc(SWITCHES, sizeof(*file->switches));
    if (file->switches != NULL && path != NULL && symboltable_is_go(path)) {
        (void)symboltable_ranges(path, switches, SWITCHES, file->switches);
    }
    return file->switches != NULL;
}

bool codemaps_is_switch(struct codemaps *codemaps,
                        const struct code *code,
                        uint64_t address)
{
    struct file *file;

    if (code->file == NULL) {
        return false;
    }
    file = &codemaps->files[code->number];
    if (file->switches == NULL && !switches_read(file)) {
        return false;
    }
    for (size_t i = 0; i < SWITCHES; i++) {
        if (address - code->bias - file->switches[i].start <
            file->switches[i].size) {
            return true;
        }
    }
    return false;
}

/* ---- ranges ---------------------------------------------------------------
 */

/* The first range that ends behind the address. */
CK_BEFORE(range_search, struct range, uint64_t, a->end <= key)

static bool has_room(struct process *process)
{
    size_t room = process->room == 0 ? 64 : 2 * process->room;
    struct range *grown;

    if (process->count < process->room) {
        return true;
    }
    grown = room > RANGES_MAX ? NULL
                              : realloc(process->ranges, room * sizeof(*grown));
    if (grown == NULL) {
        return false;
    }
    process->ranges = grown;
    process->room = room;
    return true;
}

/* A range that begins before the address and ends behind it becomes two. */
static void range_split(struct process *process, uint64_t address)
{
    size_t at = range_search(process->ranges, process->count, address);
    struct range *range;

    if (at == process->count || process->ranges[at].start >= address ||
        !has_room(process)) {
        return;
    }
    range = &process->ranges[at];
    memmove(range + 1, range, (process->count - at) * sizeof(*range));
    process->count++;
    range[1].offset += address - range->start;
    range[1].start = range->end = address;
    range[1].is_asked = false; /* of another segment, perhaps */
}

/* What lay there is replaced. */
static void range_put(struct process *process, const struct range *range)
{
    size_t first, last;

    range_split(process, range->start);
    range_split(process, range->end);
    first = last = range_search(process->ranges, process->count, range->start);
    while (last < process->count && process->ranges[last].end <= range->end) {
        last++;
    }
    if (!has_room(process)) {
        return;
    }
    memmove(&process->ranges[first + 1], &process->ranges[last],
            (process->count - last) * sizeof(*range));
    process->ranges[first] = *range;
    process->count = process->count + 1 - (last - first);
}

/* Programs map a page of it so that profilers know of it. */
static bool is_dump(const char *path)
{
    const char *slash = strrchr(path, '/');
    size_t length = strlen(path);

    return slash != NULL && strncmp(slash, "/jit-", 5) == 0 && length > 5 &&
           strcmp(path + length - 5, ".dump") == 0;
}

static void mapping_put(struct codemaps *codemaps,
                        struct process *process,
                        const struct mapping *mapping)
{
    struct range range = {.start = mapping->start,
                          .end = mapping->end,
                          .offset = mapping->offset,
                          .file = NO_FILE};

    if (mapping->start >= mapping->end) {
        return;
    }
    if (is_file(mapping->path)) {
        range.path = path_number(codemaps, mapping->path);
        range.file = range.path < PATHS
                         ? NOT_LOOKED_UP
                         : file_number(codemaps, process->pid, mapping->path);
    } else {
        process->has_generated = true;
    }
    if (range.path < PATHS && is_dump(mapping->path)) {
        process->dump = range.path + 1;
    }
    range_put(process, &range);
}

void codemaps_mapped(struct codemaps *codemaps,
                     pid_t pid,
                     const struct mapping *mapping)
{
    struct process *process = process_at(codemaps, pid);

    if (process->pid == pid) {
        mapping_put(codemaps, process, mapping);
    }
}

/* All code that it has now, unless it cannot be read any more. */
static void process_look(struct codemaps *codemaps, struct process *process)
{
    struct mapping mapping;

    process->looked = ck_time_raw();
    if (mappings_read(&codemaps->mappings, process->pid) == 0) {
        return;
    }
    process->count = 0;
    while (mappings_next(&codemaps->mappings, &mapping)) {
        if (mapping.is_code) {
            mapping_put(codemaps, process, &mapping);
        }
    }
}

static bool is_in(const struct process *process, size_t at, uint64_t address)
{
    return at < process->count && process->ranges[at].start <= address &&
           address < process->ranges[at].end;
}

static struct range *range_find(const struct process *process, uint64_t address)
{
    size_t at = range_search(process->ranges, process->count, address);

    return is_in(process, at, address) ? &process->ranges[at] : NULL;
}

/* The same: callers of a function are mostly in its file. */
static struct range *range_again(struct process *process, uint64_t address)
{
    struct range *range;

    if (is_in(process, process->last, address)) {
        return &process->ranges[process->last];
    }
    range = range_find(process, address);
    if (range != NULL) {
        process->last = (size_t)(range - process->ranges);
    }
    return range;
}

/* Look its file up and read it, if that was not done. */
static void range_ask(struct codemaps *codemaps, pid_t pid, struct range *range)
{
    if (range->file == NOT_LOOKED_UP) {
        range->file = file_number(codemaps, pid, codemaps->paths[range->path]);
    }
    if (range->file != NO_FILE) {
        range->rules = file_open(codemaps, range->file);
    }
    if (range->rules != NULL &&
        unwindfile_bias(range->rules, range->start, range->offset,
                        &range->bias) != 0) {
        range->rules = NULL;
    }
    range->is_asked = true;
}

bool codemaps_find(struct codemaps *codemaps,
                   pid_t pid,
                   uint64_t address,
                   struct code *code)
{
    struct process *process = process_at(codemaps, pid);
    struct range *range;

    if (process->pid != pid) {
        codemaps_begin(codemaps, pid);
    }
    if (process->looked == 0 && !process->is_told) {
        process_look(codemaps, process);
    }
    range = range_again(process, address);
    if (range == NULL && ck_time_raw() - process->looked > LOOK_AGAIN) {
        process_look(codemaps, process);
        range = range_again(process, address);
    }
    if (range == NULL) {
        return false;
    }
    if (!range->is_asked) {
        range_ask(codemaps, pid, range);
    }
    *code = (struct code){range->rules, range->file, range->bias};
    return true;
}

bool codemaps_is_generated(struct codemaps *codemaps,
                           pid_t pid,
                           uint64_t address)
{
    const struct process *process = process_at(codemaps, pid);
    const struct range *range;

    if (process->pid != pid || !process->has_generated) {
        return false;
    }
    range = range_find(process, address);
    return range != NULL && range->file == NO_FILE;
}

bool codemaps_mapping(const struct codemaps *codemaps,
                      pid_t pid,
                      uint64_t address,
                      struct mapping *mapping)
{
    const struct process *process =
        &codemaps->processes[(uint32_t)pid % CODEMAPS_PROCESSES];
    const struct range *range =
        process->pid == pid ? range_find(process, address) : NULL;

    if (range == NULL || range->file == NO_FILE || range->path >= PATHS) {
        return false;
    }
    *mapping = (struct mapping){.start = range->start,
                                .end = range->end,
                                .offset = range->offset,
                                .path = codemaps->paths[range->path],
                                .is_code = true};
    return true;
}

bool codemaps_may_have(const struct codemaps *codemaps,
                       pid_t pid,
                       bool (*is_wanted)(const char *path))
{
    const struct process *process =
        &codemaps->processes[(uint32_t)pid % CODEMAPS_PROCESSES];

    if (process->pid != pid || !process->is_told) {
        return true;
    }
    for (size_t i = 0; i < process->count; i++) {
        const struct range *range = &process->ranges[i];

        if (range->path >= PATHS || (range->file != NO_FILE &&
                                     is_wanted(codemaps->paths[range->path]))) {
            return true;
        }
    }
    return false;
}

const char *codemaps_dump(const struct codemaps *codemaps, pid_t pid)
{
    const struct process *process =
        &codemaps->processes[(uint32_t)pid % CODEMAPS_PROCESSES];

    return process->pid != pid || process->dump == 0
               ? NULL
               : codemaps->paths[process->dump - 1];
}

uint64_t codemaps_unread(const struct codemaps *codemaps)
{
    return codemaps->unread;
}
