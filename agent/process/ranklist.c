/* ranklist.c - a list of ranks as text: "0,4-7"
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/process/ranklist.h"

#include <limits.h>
#include <stddef.h>
#include <stdlib.h>

#define RANK_MAX (1 << 24)

/* One "N" or "N-M" at *text; moves behind it and its comma. False: wrong. */
static bool span_read(const char **text, int *from, int *to)
{
    const char *at = *text;
    char *end;
    long low;
    long high;

    if (*at < '0' || *at > '9') {
        return false;
    }
    low = strtol(at, &end, 10);
    high = low;
    if (*end == '-') {
        at = end + 1;
        if (*at < '0' || *at > '9') {
            return false;
        }
        high = strtol(at, &end, 10);
    }
    if ((*end != '\0' && *end != ',') || low > high || high > RANK_MAX ||
        (*end == ',' && end[1] == '\0')) {
        return false;
    }
    *from = (int)low;
    *to = (int)high;
    *text = *end == ',' ? end + 1 : end;
    return true;
}

int ranklist_check(const char *list, struct ck_err *err)
{
    const char *at = list;
    int from;
    int to;

    do {
        if (!span_read(&at, &from, &to)) {
            return ck_err_set(err,
                              "--ranks '%s': write ranks as 0,4-7 (numbers "
                              "and ranges)",
                              list);
        }
    } while (*at != '\0');
    return 0;
}

bool ranklist_has(const char *list, int rank)
{
    int from;
    int to;

    if (list == NULL) {
        return true;
    }
    while (*list != '\0' && span_read(&list, &from, &to)) {
        if (rank >= from && rank <= to) {
            return true;
        }
    }
    return false;
}

int ranklist_first(const char *list)
{
    int first = INT_MAX;
    int from;
    int to;

    if (list == NULL) {
        return 0;
    }
    while (*list != '\0' && span_read(&list, &from, &to)) {
        first = from < first ? from : first;
    }
    return first;
}

int ranklist_count(const char *list, int size)
{
    int count = 0;

    for (int rank = 0; list != NULL && rank < size; rank++) {
        count += ranklist_has(list, rank);
    }
    return list == NULL ? size : count;
}

bool ranklist_is_beyond(const char *list, int size)
{
    int from;
    int to;

    while (list != NULL && size > 0 && *list != '\0' &&
           span_read(&list, &from, &to)) {
        if (to >= size) {
            return true;
        }
    }
    return false;
}
