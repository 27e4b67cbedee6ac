/* run.c - names in a run directory, files replaced whole, key=value lines
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "schema/store/run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "schema/fd.h"

void ck_run_agent_hex(const uint8_t agent[16], char hex[CK_AGENT_HEX])
{
    static const char digits[] = "0123456789abcdef";

    for (int i = 0; i < 16; i++) {
        hex[2 * i] = digits[agent[i] >> 4];
        hex[2 * i + 1] = digits[agent[i] & 15];
    }
    hex[CK_AGENT_HEX - 1] = '\0';
}

static int digit_value(char digit)
{
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    if (digit >= 'a' && digit <= 'f') {
        return digit - 'a' + 10;
    }
    return -1;
}

int ck_run_agent_parse(const char *hex, uint8_t agent[16])
{
    uint8_t parsed[16];

    if (strlen(hex) != CK_AGENT_HEX - 1) {
        errno = EINVAL;
        return -1;
    }
    for (int i = 0; i < 16; i++) {
        int high = digit_value(hex[2 * i]);
        int low = digit_value(hex[2 * i + 1]);

        if (high < 0 || low < 0) {
            errno = EINVAL;
            return -1;
        }
        parsed[i] = (uint8_t)(high << 4 | low);
    }
    memcpy(agent, parsed, sizeof(parsed));
    return 0;
}

static int path_make(char path[PATH_MAX],
                     const char *dir,
                     const char *head,
                     const char *tail)
{
    int length = snprintf(path, PATH_MAX, "%s/%s-%s.ck", dir, head, tail);

    if (length < 0 || length >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return 0;
}

int ck_run_segment_path(char path[PATH_MAX],
                        const char *dir,
                        const uint8_t agent[16],
                        bool is_spool)
{
    char hex[CK_AGENT_HEX];

    ck_run_agent_hex(agent, hex);
    return path_make(path, dir, is_spool ? "spool" : "seg", hex);
}

int ck_run_part_path(char path[PATH_MAX],
                     const char *dir,
                     const uint8_t agent[16],
                     uint32_t number)
{
    char tail[CK_AGENT_HEX + 16];

    ck_run_agent_hex(agent, tail);
    if (number > 0) {
        (void)snprintf(tail + CK_AGENT_HEX - 1, 16, "-%08" PRIu32, number);
    }
    return path_make(path, dir, "seg", tail);
}

int ck_run_facts_path(char path[PATH_MAX],
                      const char *dir,
                      const uint8_t agent[16])
{
    char hex[CK_AGENT_HEX];

    ck_run_agent_hex(agent, hex);
    return path_make(path, dir, "facts", hex);
}

int ck_run_create(const char *dir, struct ck_err *err)
{
    struct stat st;

    if (mkdir(dir, 0700) == 0) {
        return 0;
    }
    if (errno != EEXIST) {
        return ck_err_set(err, "cannot create run directory %s: %s", dir,
                          strerror(errno));
    }
    if (stat(dir, &st) != 0) {
        return ck_err_set(err, "cannot look at run directory %s: %s", dir,
                          strerror(errno));
    }
    if (!S_ISDIR(st.st_mode)) {
        errno = ENOTDIR;
        return ck_err_set(err, "run directory %s is not a directory", dir);
    }
    if (st.st_uid != geteuid()) {
        errno = EPERM;
        return ck_err_set(err, "run directory %s belongs to another user", dir);
    }
    if (access(dir, W_OK | X_OK) != 0) {
        return ck_err_set(err, "cannot write to run directory %s: %s", dir,
                          strerror(errno));
    }
    return 0;
}

/* "-<number>", 8 digits or more, not 0; or nothing. False: neither. */
static bool number_parse(const char *text, size_t length, uint32_t *number)
{
    uint64_t value = 0;

    *number = 0;
    if (length == 0) {
        return true;
    }
    if (text[0] != '-' || length < 9 || length > 11) {
        return false;
    }
    for (size_t i = 1; i < length; i++) {
        if (text[i] < '0' || text[i] > '9') {
            return false;
        }
        value = value * 10 + (uint64_t)(text[i] - '0');
    }
    *number = (uint32_t)value;
    return value > 0 && value <= UINT32_MAX;
}

bool ck_run_name(const char *path, struct ck_run_name *name)
{
    static const char *const heads[] = {[CK_RUN_SEGMENT] = "seg-",
                                        [CK_RUN_SPOOL] = "spool-",
                                        [CK_RUN_FACTS] = "facts-"};
    const char *slash = strrchr(path, '/');
    const char *at = slash == NULL ? path : slash + 1;
    struct ck_run_name parsed = {.number = 0};
    char hex[CK_AGENT_HEX];
    size_t kind = 0;
    size_t length;

    while (kind < sizeof(heads) / sizeof(heads[0]) &&
           strncmp(at, heads[kind], strlen(heads[kind])) != 0) {
        kind++;
    }
    if (kind == sizeof(heads) / sizeof(heads[0])) {
        return false;
    }
    parsed.kind = (enum ck_run_file)kind;
    at += strlen(heads[kind]);
    length = strlen(at);
    if (length < CK_AGENT_HEX - 1 + 3 || strcmp(at + length - 3, ".ck") != 0) {
        return false;
    }
    memcpy(hex, at, CK_AGENT_HEX - 1);
    hex[CK_AGENT_HEX - 1] = '\0';
    at += CK_AGENT_HEX - 1;
    length -= CK_AGENT_HEX - 1 + 3;
    if (ck_run_agent_parse(hex, parsed.agent) != 0 ||
        !number_parse(at, length, &parsed.number) ||
        (parsed.number > 0 && parsed.kind != CK_RUN_SEGMENT)) {
        return false;
    }
    *name = parsed;
    return true;
}

static int files_add(struct ck_run_files *files,
                     size_t *room,
                     const char *dir,
                     const char *name)
{
    char *path;

    if (files->count == *room) {
        size_t wider = *room == 0 ? 16 : *room * 2;
        char **paths = realloc(files->paths, wider * sizeof(*paths));

        if (paths == NULL) {
            return -1;
        }
        files->paths = paths;
        *room = wider;
    }
    if (asprintf(&path, "%s/%s", dir, name) < 0) {
        errno = ENOMEM;
        return -1;
    }
    files->paths[files->count++] = path;
    return 0;
}

static int path_compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int ck_run_files(const char *dir,
                 struct ck_run_files *files,
                 struct ck_err *err)
{
    struct ck_run_files found = {NULL, 0};
    struct ck_run_name name;
    struct dirent *entry;
    size_t room = 0;
    int rc = 0;
    DIR *handle = opendir(dir);

    if (handle == NULL) {
        return ck_err_set(err, "cannot open run directory %s: %s", dir,
                          strerror(errno));
    }
    errno = 0;
    while (rc == 0 && (entry = readdir(handle)) != NULL) {
        if (ck_run_name(entry->d_name, &name)) {
            rc = files_add(&found, &room, dir, entry->d_name);
        }
        errno = rc == 0 ? 0 : errno;
    }
    if (errno != 0) {
        (void)ck_err_set(err, "cannot read run directory %s: %s", dir,
                         strerror(errno));
        rc = errno;
        ck_run_files_free(&found);
        (void)closedir(handle);
        errno = rc;
        return -1;
    }
    (void)closedir(handle);
    if (found.count > 0) {
        qsort(found.paths, found.count, sizeof(*found.paths), path_compare);
    }
    *files = found;
    return 0;
}

void ck_run_files_free(struct ck_run_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        free(files->paths[i]);
    }
    free(files->paths);
    files->paths = NULL;
    files->count = 0;
}

static int write_whole(int fd, const char *text, size_t length)
{
    while (length > 0) {
        ssize_t n = write(fd, text, length);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return -1;
        }
        text += n;
        length -= (size_t)n;
    }
    return 0;
}

int ck_run_replace(const char *dir,
                   const char *name,
                   const char *text,
                   size_t length,
                   struct ck_err *err)
{
    char path[PATH_MAX];
    char temporary[PATH_MAX];
    int saved;
    int fd;

    if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= PATH_MAX ||
        snprintf(temporary, sizeof(temporary), "%s/.%s.%ld", dir, name,
                 (long)getpid()) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return ck_err_set(err, "path too long: %s/%s", dir, name);
    }
    /* Of one that was killed. What takes that name, a link of either kind, a
     * FIFO or a device, is not opened. */
    (void)unlink(temporary);
    fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        return ck_err_set(err, "cannot create %s: %s", temporary,
                          strerror(errno));
    }
    if (write_whole(fd, text, length) != 0 || fdatasync(fd) != 0) {
        goto error_close;
    }
    if (close(fd) != 0 || rename(temporary, path) != 0) {
        goto error_unlink;
    }
    return 0;

error_close:
    saved = errno;
    (void)close(fd);
    errno = saved;
error_unlink:
    saved = errno;
    (void)unlink(temporary);
    errno = saved;
    return ck_err_set(err, "cannot write %s: %s", path, strerror(errno));
}

/* "DIR/.NAME.spare" */
static int spare_path(char path[PATH_MAX], const char *dir, const char *name)
{
    if (snprintf(path, PATH_MAX, "%s/.%s.spare", dir, name) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return 0;
}

int ck_run_spare(const char *dir, const char *name, size_t bytes)
{
    char path[PATH_MAX];
    struct stat st;
    int fd, rc;

    if (spare_path(path, dir, name) != 0) {
        return -1;
    }
    fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return -1;
    }
    rc = fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)bytes);
    /* One of an earlier call keeps its room; without any it is no use. */
    if (rc != 0 && fstat(fd, &st) == 0 && st.st_blocks == 0) {
        (void)unlink(path);
    }
    (void)close(fd);
    return rc;
}

void ck_run_spare_remove(const char *dir, const char *name)
{
    char path[PATH_MAX];

    if (spare_path(path, dir, name) == 0) {
        (void)unlink(path);
    }
}

int ck_run_spare_use(const char *dir,
                     const char *name,
                     const char *text,
                     size_t length,
                     struct ck_err *err)
{
    char path[PATH_MAX];
    char spare[PATH_MAX];
    int fd = -1;
    int rc = -1;

    if (spare_path(spare, dir, name) == 0 &&
        snprintf(path, sizeof(path), "%s/%s", dir, name) < PATH_MAX) {
        fd = open(spare, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    }
    if (fd >= 0 && write_whole(fd, text, length) == 0 &&
        ftruncate(fd, (off_t)length) == 0 && fdatasync(fd) == 0) {
        rc = rename(spare, path);
    }
    if (rc != 0) {
        rc = ck_err_set(err, "cannot write %s in %s: %s", name, dir,
                        strerror(errno));
    }
    ck_fd_close(fd);
    return rc;
}

bool ck_lines_get(
    const char *lines, size_t length, const char *key, char *value, size_t room)
{
    size_t key_length = strlen(key);
    size_t at = 0;

    while (at < length) {
        const char *line = lines + at;
        const char *end = memchr(line, '\n', length - at);
        size_t line_length = end == NULL ? length - at : (size_t)(end - line);

        if (line_length > key_length && line[key_length] == '=' &&
            memcmp(line, key, key_length) == 0) {
            size_t kept = line_length - key_length - 1;

            if (room > 0) {
                kept = kept < room ? kept : room - 1;
                memcpy(value, line + key_length + 1, kept);
                value[kept] = '\0';
            }
            return true;
        }
        at += line_length + 1;
    }
    return false;
}

struct ck_lines ck_lines_in(char *text, size_t bytes)
{
    text[0] = '\0';
    return (struct ck_lines){.text = text, .room = bytes - 1};
}

void ck_lines_put(struct ck_lines *lines, const char *key, const char *value)
{
    size_t length = strlen(key) + strlen(value) + 2;
    char *at = lines->text + lines->used;

    if (length > lines->room - lines->used) {
        lines->is_cut = true;
        return;
    }
    at = stpcpy(at, key);
    *at++ = '=';
    for (; *value != '\0'; value++) {
        unsigned char c = (unsigned char)*value;

        *at++ = (char)(c < 0x20 || c == 0x7f ? '?' : c);
    }
    *at++ = '\n';
    *at = '\0';
    lines->used += length;
}

void ck_lines_put_number(struct ck_lines *lines, const char *key, int64_t value)
{
    char text[24];

    (void)snprintf(text, sizeof(text), "%" PRId64, value);
    ck_lines_put(lines, key, text);
}
