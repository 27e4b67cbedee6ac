/* debugpackage.c - what would name the functions of code without symbols
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/debugpackage.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "merge/model/memory.h"

/* A build id is in a note near the file's beginning. */
#define HEAD_BYTES 8192
#define ID_BYTES 64
#define ID_LEAST 8 /* a shorter one is in files of other builds, too */
/* Longer lists of files are not read. */
#define LIST_BYTES ((size_t)16 << 20)
#define PATH_BYTES 4096

static int digit(char c)
{
    static const char digits[] = "0123456789abcdef";
    const char *at = c == '\0' ? NULL : strchr(digits, c);

    return at == NULL ? -1 : (int)(at - digits);
}

/* The bytes of hex text; 0 = it is none. */
static size_t id_read(const char *text, unsigned char id[ID_BYTES])
{
    size_t count = strlen(text) / 2;

    if (count < ID_LEAST || count > ID_BYTES || strlen(text) % 2 != 0) {
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);

        if (high < 0 || low < 0) {
            return 0;
        }
        id[i] = (unsigned char)(high << 4 | low);
    }
    return count;
}

bool debugpackage_is_build(const char *path, const char *build_id)
{
    unsigned char id[ID_BYTES], head[HEAD_BYTES];
    size_t count = id_read(build_id, id), length = 0;
    struct stat status;
    FILE *file;

    if (count == 0 || stat(path, &status) != 0 || !S_ISREG(status.st_mode)) {
        return false;
    }
    file = fopen(path, "re");
    if (file != NULL) {
        length = fread(head, 1, sizeof(head), file);
        (void)fclose(file);
    }
    return memmem(head, length, id, count) != NULL;
}

/* ---- dpkg ----------------------------------------------------------------
 */

/* Is that line in the text, whole? */
static bool has_line(const char *text, const char *line)
{
    size_t length = strlen(line);
    const char *at = text;

    while ((at = strstr(at, line)) != NULL) {
        if ((at == text || at[-1] == '\n') &&
            (at[length] == '\n' || at[length] == '\0')) {
            return true;
        }
        at += length;
    }
    return false;
}

/* A list of files as text, the caller's to free; NULL = it cannot be read. */
static char *list_read(const char *info, const char *name)
{
    char path[PATH_BYTES];
    struct stat status;
    char *text = NULL;
    FILE *file;
    int n = snprintf(path, sizeof(path), "%s/%s", info, name);

    if (n >= (int)sizeof(path) || stat(path, &status) != 0 ||
        !S_ISREG(status.st_mode) || (size_t)status.st_size > LIST_BYTES) {
        return NULL;
    }
    file = fopen(path, "re");
    if (file != NULL) {
        text = xcalloc((size_t)status.st_size + 1, 1);
        text[fread(text, 1, (size_t)status.st_size, file)] = '\0';
        (void)fclose(file);
    }
    return text;
}

/* The same file where /lib is /usr/lib: lists have it either way. */
static const char *other_path(const char *path, char other[PATH_BYTES])
{
    static const char usr[] = "/usr";
    int n;

    if (strncmp(path, usr, sizeof(usr) - 1) == 0) {
        return path + sizeof(usr) - 1;
    }
    n = snprintf(other, PATH_BYTES, "%s%s", usr, path);
    return n < PATH_BYTES ? other : path;
}

bool debugpackage_find(const char *info,
                       const char *path,
                       char *package,
                       size_t room)
{
    static const char ending[] = ".list";
    char other_text[PATH_BYTES];
    const char *other = other_path(path, other_text);
    DIR *folder = opendir(info);
    struct dirent *entry;
    bool is_found = false;

    while (folder != NULL && !is_found && (entry = readdir(folder)) != NULL) {
        size_t length = strlen(entry->d_name), name;
        char *text;

        if (length < sizeof(ending) ||
            strcmp(entry->d_name + length - (sizeof(ending) - 1), ending) !=
                0) {
            continue;
        }
        text = list_read(info, entry->d_name);
        name = strcspn(entry->d_name, ":"); /* "libc6:amd64.list" */
        name = name < length ? name : length - (sizeof(ending) - 1);
        if (text != NULL && name < room &&
            (has_line(text, path) || has_line(text, other))) {
            (void)snprintf(package, room, "%.*s", (int)name, entry->d_name);
            is_found = true;
        }
        free(text);
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    return is_found;
}

/* ---- the report ----------------------------------------------------------
 */

/* The module of that name; NULL = there is none, or different ones. */
static const struct defs_module *module_find(const struct defs *defs,
                                             const char *name)
{
    const struct defs_module *found = NULL;

    for (size_t i = 0; i < defs->processes_count; i++) {
        const struct defs_process *process = &defs->processes[i];

        for (size_t k = 0; k < process->modules_count; k++) {
            const struct defs_module *module = &process->modules[k];
            const char *slash = strrchr(module->path, '/');

            if (strcmp(slash == NULL ? module->path : slash + 1, name) != 0) {
                continue;
            }
            if (found != NULL &&
                (strcmp(found->path, module->path) != 0 ||
                 strcmp(found->build_id, module->build_id) != 0)) {
                return NULL;
            }
            found = module;
        }
    }
    return found;
}

/* The hottest file without symbols. */
static const char *file_find(const struct report *report)
{
    for (size_t i = 0; i < report->hot_count; i++) {
        if (report->hot[i].is_file) {
            return report->hot[i].place.function;
        }
    }
    return NULL;
}

void debugpackage_report(const struct defs *defs,
                         const struct debugpackage_roots *roots,
                         struct report *report)
{
    struct report_unnamed *unnamed = &report->unnamed;
    const char *file = file_find(report);
    const struct defs_module *module =
        file == NULL ? NULL : module_find(defs, file);

    if (module == NULL) {
        return;
    }
    unnamed->file = file;
    unnamed->path = module->path;
    unnamed->build_id = module->build_id;
    if (!debugpackage_is_build(module->path, module->build_id)) {
        return;
    }
    if (!debugpackage_find(roots->dpkg, module->path, unnamed->package,
                           sizeof(unnamed->package))) {
        unnamed->has_rpm = access(roots->rpm, F_OK) == 0;
    }
}
