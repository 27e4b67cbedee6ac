/* words.c - numbers and texts as a person reads them
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/words.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A value in one of several units, each so many times the one before. */
struct unit {
    double size;
    const char *name;
};

/* Decimals that leave three significant figures of a value below 1000. */
static int decimals_of(double value)
{
    if (value >= 99.95 || value == 0) {
        return 0;
    }
    return value >= 9.995 ? 1 : 2;
}

static struct word
word_unit(double value, const struct unit *units, size_t count)
{
    struct word word;
    size_t at = 0;

    while (at + 1 < count && fabs(value) >= units[at + 1].size * 0.9995) {
        at++;
    }
    value /= units[at].size;
    (void)snprintf(word.text, sizeof(word.text), "%.*f%s%s",
                   at == 0 ? 0 : decimals_of(fabs(value)), value,
                   units[at].name[0] == '\0' ? "" : " ", units[at].name);
    return word;
}

struct word word_time(ck_time_t ns)
{
    static const struct unit units[] = {
        {1, "ns"}, {1e3, "us"}, {1e6, "ms"}, {1e9, "s"}};

    return word_unit((double)ns, units, 4);
}

struct word word_seconds(ck_time_t ns)
{
    double value = (double)ns / 1e9;
    struct word word;
    int decimals = decimals_of(fabs(value));

    if (value != 0 && fabs(value) < 0.9995) {
        decimals = fabs(value) < 0.0995 ? 4 : 3;
    }
    (void)snprintf(word.text, sizeof(word.text), "%.*f", decimals, value);
    return word;
}

struct word word_bytes(uint64_t bytes)
{
    static const struct unit units[] = {
        {1, "B"}, {1e3, "kB"}, {1e6, "MB"}, {1e9, "GB"}, {1e12, "TB"}};

    return word_unit((double)bytes, units, 5);
}

struct word word_count(uint64_t count)
{
    struct word word;
    char digits[24];
    int length =
        snprintf(digits, sizeof(digits), "%llu", (unsigned long long)count);
    size_t used = 0;

    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0) {
            word.text[used++] = ',';
        }
        word.text[used++] = digits[i];
    }
    word.text[used] = '\0';
    return word;
}

struct word word_rank(int32_t rank)
{
    struct word word = {"no rank"};

    if (rank >= 0) {
        (void)snprintf(word.text, sizeof(word.text), "rank %d", rank);
    }
    return word;
}

const char *word_s(uint64_t count)
{
    return count == 1 ? "" : "s";
}

struct word word_number(double value)
{
    static const struct unit units[] = {{1, ""},    {1e3, "k"},  {1e6, "M"},
                                        {1e9, "G"}, {1e12, "T"}, {1e15, "P"}};
    struct word word;

    if (fabs(value) < 999.5) {
        (void)snprintf(word.text, sizeof(word.text), "%.3g", value);
        return word;
    }
    return word_unit(value, units, 6);
}

struct word word_percent(ck_time_t part, ck_time_t whole)
{
    struct word word = {"-"};

    if (whole > 0) {
        (void)snprintf(word.text, sizeof(word.text), "%.1f",
                       100.0 * (double)part / (double)whole);
    }
    return word;
}

size_t word_utf8(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t length;

    if (at[0] < 0x80) {
        length = 1;
    } else if (at[0] < 0xc2) {
        length = 0;
    } else if (at[0] < 0xe0) {
        length = 2;
    } else if (at[0] < 0xf0) {
        length = 3;
    } else if (at[0] < 0xf5) {
        length = 4;
    } else {
        length = 0;
    }

    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    /* Too long forms, surrogates, beyond the last character. */
    if ((at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f) ||
        (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f)) {
        return 0;
    }
    return length;
}

/* True for a character of several bytes that moves no cursor. */
static int is_shown(const char *text, size_t length)
{
    return length > 1 &&
           !((unsigned char)text[0] == 0xc2 && (unsigned char)text[1] < 0xa0);
}

size_t word_escape(
    char *to, size_t room, const char *text, size_t columns, int is_plain)
{
    const char *at = text;
    size_t used = 0, shown = 0;
    size_t keep_used = 0, keep_shown = 0; /* where "..." would go */

    while (*at != '\0' && used + 8 < room) {
        size_t length = word_utf8(at);

        if (columns > 0 && shown == columns) {
            used = keep_used;
            shown = keep_shown + 3;
            memcpy(to + used, "...", 3);
            used += 3;
            break;
        }
        if (columns < 4 || shown + 3 <= columns) {
            keep_used = used;
            keep_shown = shown;
        }
        if (is_shown(at, length) && !is_plain) {
            memcpy(to + used, at, length);
            used += length;
        } else {
            to[used++] = (char)(*at < 0x20 || *at >= 0x7f ? '?' : *at);
        }
        at += length > 0 ? length : 1;
        shown++;
    }
    to[used] = '\0';
    return shown;
}

/* Counters of time are nanoseconds. */
struct word word_counter(const char *name, double value)
{
    static const char *const times[] = {"task-clock", "cpu-clock",
                                        "thread-cpu-time", "run-queue-wait"};

    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
        if (strcmp(name, times[i]) == 0) {
            return word_time((ck_time_t)value);
        }
    }
    return word_number(value);
}
