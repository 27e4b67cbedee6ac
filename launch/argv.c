/* argv.c - an argument vector that grows
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "launch/argv.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void take(struct argv *words, char *word)
{
    char **items = realloc(words->items, (words->count + 2) * sizeof(*items));

    if (word == NULL || items == NULL) {
        words->items = items != NULL ? items : words->items;
        words->is_short = 1;
        free(word);
        return;
    }
    words->items = items;
    items[words->count++] = word;
    items[words->count] = NULL;
}

void argv_add(struct argv *words, const char *word)
{
    take(words, strdup(word));
}

void argv_printf(struct argv *words, const char *format, ...)
{
    va_list arguments;
    char *word = NULL;

    va_start(arguments, format);
    if (vasprintf(&word, format, arguments) < 0) {
        word = NULL;
    }
    va_end(arguments);
    take(words, word);
}

void argv_fini(struct argv *words)
{
    for (size_t i = 0; i < words->count; i++) {
        free(words->items[i]);
    }
    free(words->items);
    memset(words, 0, sizeof(*words));
}

/* Characters that no shell gives a meaning. */
static int is_plain(const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "@%_-+=:,./";

    return *word != '\0' && word[strspn(word, plain)] == '\0';
}

static void print_quoted(FILE *out, const char *word)
{
    fputc('\'', out);
    for (; *word != '\0'; word++) {
        if (*word == '\'') {
            fputs("'\\''", out);
        } else {
            fputc(*word, out);
        }
    }
    fputc('\'', out);
}

char *argv_line(const struct argv *words)
{
    char *line = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&line, &length);

    if (out == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < words->count; i++) {
        if (i != 0) {
            fputc(' ', out);
        }
        if (is_plain(words->items[i])) {
            fputs(words->items[i], out);
        } else {
            print_quoted(out, words->items[i]);
        }
    }
    if (fclose(out) != 0) {
        free(line);
        errno = ENOMEM;
        return NULL;
    }
    return line;
}
