/* procfile.c - files of /proc and /sys, whose text the kernel makes
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/process/procfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "schema/fd.h"

#define WORDS_BYTES ((size_t)256 << 10) /* more is not looked at */

ssize_t procfile_take(char *text, size_t room, int fd)
{
    size_t used = 0;
    ssize_t got = -1;

    while (fd >= 0 && used < room - 1 &&
           (got = read(fd, text + used, room - 1 - used)) > 0) {
        used += (size_t)got;
    }
    text[used] = '\0';
    ck_fd_close(fd);
    return got < 0 && used == 0 ? -1 : (ssize_t)used;
}

static ssize_t
read_at(char *text, size_t room, const char *format, va_list arguments)
{
    char path[PATH_MAX];
    int length = vsnprintf(path, sizeof(path), format, arguments);

    if (length < 0 || (size_t)length >= sizeof(path)) {
        text[0] = '\0';
        errno = ENAMETOOLONG;
        return -1;
    }
    return procfile_take(text, room, open(path, O_RDONLY | O_CLOEXEC));
}

ssize_t procfile_read(char *text, size_t room, const char *format, ...)
{
    va_list arguments;
    ssize_t length;

    va_start(arguments, format);
    length = read_at(text, room, format, arguments);
    va_end(arguments);
    return length;
}

/* Pointers to the words of a text, and the text behind them. */
static char **words_split(const char *text, size_t length)
{
    size_t count = 1; /* the last one may lack its end */
    char **words;
    char *copy;

    for (size_t i = 0; i < length; i++) {
        count += text[i] == '\0';
    }
    words = calloc(1, (count + 1) * sizeof(*words) + length + 1);
    if (words == NULL) {
        return NULL;
    }
    copy = memcpy(&words[count + 1], text, length);
    count = 0;
    for (size_t at = 0; at < length; at += strlen(copy + at) + 1) {
        words[count++] = copy + at;
    }
    return words;
}

char **procfile_words(const char *format, ...)
{
    char *text = malloc(WORDS_BYTES);
    char **words = NULL;
    va_list arguments;

    if (text != NULL) {
        ssize_t length;

        va_start(arguments, format);
        length = read_at(text, WORDS_BYTES, format, arguments);
        va_end(arguments);
        words = length < 0 ? NULL : words_split(text, (size_t)length);
    }
    free(text);
    return words;
}

int64_t procfile_number(const char *text, const char *key, int64_t otherwise)
{
    const char *at = strstr(text, key);

    return at == NULL ? otherwise : strtoll(at + strlen(key), NULL, 10);
}

/* The name before the third field is in parentheses, and may hold anything. */
int procfile_stat(const char *text, int64_t fields[PROCFILE_STAT])
{
    const char *at = strrchr(text, ')');

    if (at == NULL || at[1] != ' ' || at[2] == '\0') {
        return -1;
    }
    at += 3; /* the state */
    for (int i = 4; i < PROCFILE_STAT; i++) {
        char *end;

        fields[i] = strtoll(at, &end, 10);
        if (end == at) {
            return -1;
        }
        at = end;
    }
    return 0;
}

int procfile_schedstat(const char *text, int64_t *cpu_ns, int64_t *wait_ns)
{
    return sscanf(text, "%" SCNd64 " %" SCNd64, cpu_ns, wait_ns) == 2 ? 0 : -1;
}

int64_t procfile_kept_back(const char *task)
{
    char text[128];
    int64_t cpu_ns, wait_ns;

    return procfile_read(text, sizeof(text), "/proc/%s/schedstat", task) > 0 &&
                   procfile_schedstat(text, &cpu_ns, &wait_ns) == 0
               ? wait_ns
               : 0;
}
