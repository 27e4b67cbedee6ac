/* words.h - numbers and texts as a person reads them
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Three significant figures; a text from a program may hold any bytes and
 * comes out printable. Results are in the caller's buffer.
 */
#ifndef CK_MERGE_OUTPUT_WORDS_H
#define CK_MERGE_OUTPUT_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "schema/time.h"

#define WORD_BYTES 64

struct word {
    char text[WORD_BYTES];
};

/* "12.8 s", "850 us", "41 ns". */
struct word word_time(ck_time_t ns);
/* Seconds with three significant figures, without the unit: "9.81". */
struct word word_seconds(ck_time_t ns);
/* "31.2 MB" (decimal units). */
struct word word_bytes(uint64_t bytes);
/* "3,412,881". */
struct word word_count(uint64_t count);
/* "rank 3", "no rank". */
struct word word_rank(int32_t rank);
/* What a noun of so many ends with: "" or "s". */
const char *word_s(uint64_t count);
/* "1.9", "0.00123", "24.1 M". */
struct word word_number(double value);
/* Of a counter: its time, or its number. */
struct word word_counter(const char *name, double value);
/* "38.5" of a whole of 100; "-" when there is no whole. */
struct word word_percent(ck_time_t part, ck_time_t whole);

/* Bytes of the UTF-8 character at `text`, 0 when it is none. */
size_t word_utf8(const char *text);

/* Copy a text for a terminal: control characters and bytes that are not UTF-8
 * become '?'; with `columns` > 0 it is cut there, "..." at its end. `is_plain`:
 * only ASCII. Returns the columns written. */
size_t word_escape(
    char *to, size_t room, const char *text, size_t columns, int is_plain);

#endif
