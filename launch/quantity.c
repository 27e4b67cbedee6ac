/* quantity.c - sizes and durations as people write them: "64K", "20ms"
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "launch/cli.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct unit {
    const char *name;
    double scale;
};

/* Sizes are powers of 1024 however they are written. */
static const struct unit byte_units[] = {
    {"", 1},
    {"B", 1},
    {"K", 1024},
    {"KB", 1024},
    {"KiB", 1024},
    {"M", 1048576},
    {"MB", 1048576},
    {"MiB", 1048576},
    {"G", 1073741824},
    {"GB", 1073741824},
    {"GiB", 1073741824},
    {"T", 1099511627776},
    {"TB", 1099511627776},
    {"TiB", 1099511627776},
    {NULL, 0},
};

static const struct unit time_units[] = {
    {"", 1e9},     {"ns", 1},      {"us", 1e3}, {"ms", 1e6},
    {"s", 1e9},    {"sec", 1e9},   {"m", 60e9}, {"min", 60e9},
    {"h", 3600e9}, {"d", 86400e9}, {NULL, 0},
};

static int
quantity_parse(const char *text, const struct unit *units, int64_t *value)
{
    char *end;
    double number;
    double result;

    if (!isdigit((unsigned char)text[0]) && text[0] != '.') {
        return -1;
    }
    number = strtod(text, &end);
    if (end == text || !isfinite(number) ||
        (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))) {
        return -1;
    }
    while (units->name != NULL && strcasecmp(units->name, end) != 0) {
        units++;
    }
    result = number * units->scale;
    if (units->name == NULL || result >= 9.2e18) {
        return -1;
    }
    *value = (int64_t)(result + 0.5);
    return 0;
}

int ck_cli_bytes(const char *text, int64_t *bytes)
{
    return quantity_parse(text, byte_units, bytes);
}

int ck_cli_duration(const char *text, int64_t *ns)
{
    return quantity_parse(text, time_units, ns);
}
