/* rankset.c - a set of ranks as a person reads and writes it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/model/rankset.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/memory.h"

/* Shorter ones are listed one by one. */
#define RUN_LEAST 3

size_t rankset_run(const int32_t *ranks,
                   size_t count,
                   size_t at,
                   struct rankset_run *run)
{
    size_t end = at + 1;

    while (end < count && ranks[end] == ranks[end - 1] + 1) {
        end++;
    }
    end = end - at < RUN_LEAST ? at + 1 : end;
    *run = (struct rankset_run){ranks[at], ranks[end - 1]};
    return end;
}

size_t rankset_put(const struct rankset_run *run, char *to, size_t room)
{
    int length =
        run->first == run->last
            ? snprintf(to, room, "%" PRId32, run->first)
            : snprintf(to, room, "%" PRId32 "-%" PRId32, run->first, run->last);

    return (size_t)length;
}

char *rankset_text(const int32_t *ranks, size_t count)
{
    char *text;
    size_t bytes;
    FILE *file = xmemstream(&text, &bytes);

    for (size_t at = 0; at < count;) {
        struct rankset_run run;
        char word[32];

        fputs(at > 0 ? "," : "", file);
        at = rankset_run(ranks, count, at, &run);
        (void)rankset_put(&run, word, sizeof(word));
        fputs(word, file);
    }
    (void)fclose(file);
    return text;
}

size_t rankset_fit(const char *text, size_t columns)
{
    size_t least = strcspn(text, ",");
    size_t length = strlen(text);

    if (length <= columns) {
        return length;
    }
    length = columns > least + strlen(RANKSET_MORE)
                 ? columns - strlen(RANKSET_MORE)
                 : least;
    while (length > least && text[length] != ',') {
        length--;
    }
    return length;
}
