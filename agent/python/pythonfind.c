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
#include <unistd.h>

#include "agent/process/mappings.h"
#include "agent/python/pythonmemory.h"
#include "agent/symbols/symboltable.h"

#define PATH_BYTES 4096
#define CANDIDATES 4

/* A file that may be the interpreter, and where it is mapped. */
struct candidate {
    char path[PATH_BYTES];
    uint64_t start, offset, end;
};

enum name { RUNTIME, CODE, TEXT, BYTES, VERSION, NAMES };

static const char *const names[NAMES] = {
    "_PyRuntime", "PyCode_Type", "PyUnicode_Type", "PyBytes_Type", "Py_Version",
};

static bool is_candidate(const char *path, const char *program)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash == NULL ? path : slash + 1;

    return strcmp(path, program) == 0 || strncmp(base, "python", 6) == 0 ||
           strncmp(base, "libpython", 9) == 0;
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

static enum pythonfind candidate_look(pid_t pid,
                                      const struct candidate *candidate,
                                      struct pythonprogram *program)
{
    char path[PATH_BYTES + 64], build_id[SYMBOLTABLE_ID_BYTES];
    struct symbol_range at[NAMES];
    uint64_t bias = 0, word;

    (void)snprintf(path, sizeof(path), "/proc/%d/root%s", (int)pid,
                   candidate->path);
    if (symboltable_ranges(path, names, NAMES, at) <= 0 ||
        at[RUNTIME].start == 0 ||
        symboltable_identify(path, candidate->start, candidate->offset, &bias,
                             build_id) != 0) {
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
