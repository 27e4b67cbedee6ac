/* pythonfind.c - the interpreter in a process
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Symbols come from the file by way of the process' own root directory
 * (/proc/PID/root), so that a container's interpreter is read and no other.
 */
#include "agent/python/pythonfind.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/process/mappings.h"
#include "agent/python/pythonmemory.h"
#include "agent/symbols/symboltable.h"

#define PATH_BYTES 4096
#define CANDIDATES 4
/* Files without an interpreter that are remembered. */
#define NONES 64

/* A file that may be the interpreter, and where it is mapped. */
struct candidate {
    char path[PATH_BYTES];
    uint64_t start, offset, end;
};

enum name { RUNTIME, CODE, TEXT, BYTES, VERSION, NAMES };

static const char *const names[NAMES] = {
    "_PyRuntime", "PyCode_Type", "PyUnicode_Type", "PyBytes_Type", "Py_Version",
};

/* A file as it was when it was read. */
struct identity {
    dev_t device;
    ino_t inode;
    struct timespec changed;
};

static struct identity nones[NONES]; /* one thread */

/* Where it is remembered. */
static struct identity *none_at(const struct stat *status)
{
    return &nones[status->st_ino % NONES];
}

static bool is_none(const struct stat *status)
{
    const struct identity *none = none_at(status);

    return none->inode == status->st_ino && none->device == status->st_dev &&
           none->changed.tv_sec == status->st_mtim.tv_sec &&
           none->changed.tv_nsec == status->st_mtim.tv_nsec;
}

bool pythonfind_is_none(pid_t pid)
{
    struct stat status;
    char path[64];

    (void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    return stat(path, &status) == 0 && is_none(&status);
}

bool pythonfind_is_named(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash == NULL ? path : slash + 1;

    return strncmp(base, "python", 6) == 0 ||
           strncmp(base, "libpython", 9) == 0;
}

static bool is_candidate(const char *path, const char *program)
{
    return strcmp(path, program) == 0 || pythonfind_is_named(path);
}

/* Further mappings of the last candidate are parts of it. */
static void candidate_take(struct candidate *found,
                           size_t *count,
                           const struct mapping *seen)
{
    if (*count > 0 && strcmp(found[*count - 1].path, seen->path) == 0) {
        found[*count - 1].end = seen->end;
    } else if (*count < CANDIDATES && strlen(seen->path) < PATH_BYTES) {
        struct candidate *candidate = &found[(*count)++];

        strcpy(candidate->path, seen->path);
        candidate->start = seen->start;
        candidate->offset = seen->offset;
        candidate->end = seen->end;
    }
}

static size_t candidates_find(pid_t pid, struct candidate *found)
{
    char path[64], program[PATH_BYTES] = "";
    struct mappings mappings = {.text = NULL};
    struct mapping seen;
    size_t count = 0;

    (void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    (void)!readlink(path, program, sizeof(program) - 1);
    (void)mappings_read(&mappings, pid);
    while (mappings_next(&mappings, &seen)) {
        if (seen.path[0] == '/' && is_candidate(seen.path, program)) {
            candidate_take(found, &count, &seen);
        }
    }
    mappings_fini(&mappings);
    return count;
}

/* False: the file has no interpreter, or cannot be read. */
static bool runtime_find(const char *path, struct symbol_range at[NAMES])
{
    struct stat status;

    if (stat(path, &status) != 0 || is_none(&status) ||
        symboltable_ranges(path, names, NAMES, at) < 0) {
        return false;
    }
    if (at[RUNTIME].start == 0) {
        *none_at(&status) =
            (struct identity){status.st_dev, status.st_ino, status.st_mtim};
    }
    return at[RUNTIME].start != 0;
}

static enum pythonfind candidate_look(pid_t pid,
                                      const struct candidate *candidate,
                                      struct pythonprogram *program)
{
    char path[PATH_BYTES + 64], build_id[SYMBOLTABLE_ID_BYTES];
    struct symbol_range at[NAMES];
    uint64_t bias = 0, word;

    (void)snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid,
                   candidate->path);
    if (!runtime_find(path, at) ||
        symboltable_identify(path, candidate->start, candidate->offset, false,
                             &bias, build_id) != 0) {
        return PYTHONFIND_NONE;
    }
    *program = (struct pythonprogram){
        .runtime = at[RUNTIME].start + bias,
        .code = at[CODE].start + bias,
        .text = at[TEXT].start + bias,
        .bytes = at[BYTES].start + bias,
        .code_start = candidate->start,
        .code_end = candidate->end,
    };
    if (pythonmemory_read(pid, program->runtime, &word, sizeof(word)) != 0) {
        return errno == EPERM ? PYTHONFIND_REFUSED : PYTHONFIND_NONE;
    }
    return at[CODE].start != 0 && at[TEXT].start != 0 && at[BYTES].start != 0 &&
                   pythonlayout_read(
                       pid, program->runtime,
                       at[VERSION].start == 0 ? 0 : at[VERSION].start + bias,
                       &program->layout) == 0
               ? PYTHONFIND_FOUND
               : PYTHONFIND_UNKNOWN;
}

enum pythonfind pythonfind(pid_t pid, struct pythonprogram *program)
{
    static struct candidate found[CANDIDATES]; /* one thread; large */
    size_t count = candidates_find(pid, found);
    enum pythonfind result = PYTHONFIND_NONE;

    for (size_t i = 0; i < count && result == PYTHONFIND_NONE; i++) {
        result = candidate_look(pid, &found[i], program);
    }
    return result;
}
