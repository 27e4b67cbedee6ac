/* metricstext.c - texts of metrics (OpenMetrics 1.0) put together
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "aggregator/http/metricstext.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define TYPE "# TYPE "
#define END "# EOF"

struct line {
    const char *text;
    size_t length; /* without its line feed */
};

/* The line at `at`; what follows it, NULL = it is the end. */
static const char *line_next(const char *at, struct line *line)
{
    const char *feed;

    if (*at == '\0') {
        return NULL;
    }
    feed = strchr(at, '\n');
    line->text = at;
    line->length = feed == NULL ? strlen(at) : (size_t)(feed - at);
    return feed == NULL ? at + line->length : feed + 1;
}

static bool begins(const struct line *line, const char *with)
{
    return line->length >= strlen(with) &&
           memcmp(line->text, with, strlen(with)) == 0;
}

/* The family that a TYPE line begins; length 0 = it begins none. */
static struct line family_of(const struct line *line)
{
    struct line family = {line->text, 0};

    if (begins(line, TYPE)) {
        family.text = line->text + strlen(TYPE);
        while (family.text + family.length < line->text + line->length &&
               family.text[family.length] != ' ') {
            family.length++;
        }
    }
    return family;
}

static bool is_same(const struct line *a, const struct line *b)
{
    return a->length == b->length && memcmp(a->text, b->text, a->length) == 0;
}

/* Where the family begins in a text, behind its TYPE line; NULL = it is not
 * there. */
static const char *family_find(const char *text, const struct line *family)
{
    struct line line;
    const char *at = text;

    while ((at = line_next(at, &line)) != NULL) {
        struct line found = family_of(&line);

        if (found.length > 0 && is_same(&found, family)) {
            return at;
        }
    }
    return NULL;
}

/* The lines from `at` to the next family: those of its head, or its samples. */
static void family_put(FILE *out, const char *at, bool is_head)
{
    struct line line;

    for (at = line_next(at, &line); at != NULL && !begins(&line, TYPE);
         at = line_next(at, &line)) {
        if ((line.text[0] == '#') == is_head && line.length > 0 &&
            !begins(&line, END)) {
            (void)fprintf(out, "%.*s\n", (int)line.length, line.text);
        }
    }
}

static void family_join(FILE *out,
                        const char *const *texts,
                        size_t count,
                        const struct line *family)
{
    for (size_t i = 0; i < count; i++) {
        const char *at = family_find(texts[i], family);

        if (at != NULL) {
            family_put(out, at, false);
        }
    }
}

void metricstext_join(FILE *out, const char *const *texts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct line line;
        const char *at = texts[i];

        for (at = line_next(at, &line); at != NULL; at = line_next(at, &line)) {
            struct line family = family_of(&line);
            bool is_known = family.length == 0;

            for (size_t k = 0; k < i && !is_known; k++) {
                is_known = family_find(texts[k], &family) != NULL;
            }
            if (!is_known) {
                (void)fprintf(out, "%.*s\n", (int)line.length, line.text);
                family_put(out, at, true);
                family_join(out, texts, count, &family);
            }
        }
    }
}

/* The sample's name with its labels. */
static struct line key_of(const struct line *line)
{
    struct line key = *line;

    while (key.length > 0 && key.text[key.length - 1] != ' ') {
        key.length--;
    }
    return key;
}

/* The line of a text with that key; length 0 = none. */
static struct line sample_find(const char *text, const struct line *key)
{
    struct line line;

    for (text = line_next(text, &line); text != NULL;
         text = line_next(text, &line)) {
        struct line its = key_of(&line);

        if (its.length > 0 && line.text[0] != '#' && is_same(&its, key)) {
            return line;
        }
    }
    return (struct line){"", 0};
}

static bool does_rise(const struct line *type)
{
    struct line key = key_of(type);
    const char *word = type->text + key.length;
    size_t length = type->length - key.length;

    return (length == 7 && memcmp(word, "counter", length) == 0) ||
           (length == 9 && memcmp(word, "histogram", length) == 0);
}

char *metricstext_rise(const char *before, const char *now)
{
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);
    struct line line;
    bool is_rising = false;

    if (out == NULL) {
        return NULL;
    }
    for (now = line_next(now, &line); now != NULL;
         now = line_next(now, &line)) {
        struct line key = key_of(&line);
        struct line old = {"", 0};

        if (begins(&line, TYPE)) {
            is_rising = does_rise(&line);
        } else if (is_rising && line.text[0] != '#') {
            old = sample_find(before, &key);
        }
        if (old.length > 0 && strtod(old.text + key.length, NULL) >
                                  strtod(line.text + key.length, NULL)) {
            line = old;
        }
        (void)fprintf(out, "%.*s\n", (int)line.length, line.text);
    }
    if (fclose(out) != 0) {
        free(text);
        return NULL;
    }
    return text;
}
