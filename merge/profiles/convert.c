/* convert.c - files of other tools that are not read, and what converts them
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/profiles/convert.h"

#include <string.h>

#define PERFETTO                                                               \
    "rocprofv3 --kernel-trace --memory-copy-trace --output-format pftrace "    \
    "-- PROGRAM, then traceconv json X.pftrace X.json"

static const char nsys_sqlite[] =
    "an SQLite export of Nsight Systems is not read, a Chrome trace is: "
    "nsys2json.py -f X.sqlite -o X.json (of "
    "https://github.com/chenyu-jiang/nsys2json)";
static const char nsys_report[] =
    "a report of Nsight Systems is not read, a Chrome trace is: nsys export "
    "--type sqlite X.nsys-rep, then nsys2json.py -f X.sqlite -o X.json (of "
    "https://github.com/chenyu-jiang/nsys2json)";
static const char rocpd[] =
    "a rocpd database is not read, a Chrome trace is: rocpd convert -i X.db "
    "--output-format pftrace, then traceconv json X.pftrace X.json";
static const char rocprof_csv[] =
    "CSV of rocprof is not read, and lacks what a Chrome trace has: record "
    "that with " PERFETTO "; of the older rocprof, rocprof --sys-trace PROGRAM "
    "writes results.json";
static const char otf2[] =
    "OTF2 is not read, and no tool is known that makes a Chrome trace of it: "
    "of rocprofv3, record one with " PERFETTO "; of Score-P, record with "
    "ckagent PROGRAM";
static const char perfetto[] =
    "a Perfetto trace is not read, its JSON is: traceconv json X.pftrace "
    "X.json";
#define FROM_UTF(from)                                                         \
    from " is not read, UTF-8 is: iconv -f " from " -t UTF-8 X.json > Y.json"
static const char utf16[] = FROM_UTF("UTF-16");
static const char utf16le[] = FROM_UTF("UTF-16LE");
static const char utf16be[] = FROM_UTF("UTF-16BE");
static const char utf32[] = FROM_UTF("UTF-32");

static const struct {
    const char *suffix;
    const char *text;
} suffixes[] = {
    {".nsys-rep", nsys_report},
    {".qdrep", nsys_report},
    {".otf2", otf2},
    {".evt", otf2},
    {".def", otf2},
    {".pftrace", perfetto},
    {".perfetto-trace", perfetto},
};

static const struct {
    const char *bytes;
    size_t length;
    const char *text;
} beginnings[] = {
#define BEGINS(bytes, text)                                                    \
    {                                                                          \
        bytes, sizeof(bytes) - 1, text                                         \
    }
    BEGINS("SQLite format 3\0", nsys_sqlite),
    BEGINS("\"Kind\",", rocprof_csv),
    BEGINS("\"Domain\",", rocprof_csv),
    BEGINS("\"Index\",", rocprof_csv),
    BEGINS("Index,KernelName", rocprof_csv),
    BEGINS("\"Index\",\"KernelName\"", rocprof_csv),
    BEGINS("\"Name\",\"Calls\"", rocprof_csv),
    BEGINS("\xff\xfe\0\0", utf32), /* begins as UTF-16 does */
    BEGINS("\0\0\xfe\xff", utf32),
    BEGINS("\xff\xfe", utf16),
    BEGINS("\xfe\xff", utf16),
    BEGINS("{\0", utf16le),
    BEGINS("[\0", utf16le),
    BEGINS("\0{", utf16be),
    BEGINS("\0[", utf16be),
};

static int ends_with(const char *name, const char *suffix)
{
    size_t length = strlen(name), end = strlen(suffix);

    return length >= end && strcmp(name + length - end, suffix) == 0;
}

const char *convert_find(const char *name, const char *bytes, size_t length)
{
    for (size_t i = 0; i < sizeof(beginnings) / sizeof(beginnings[0]); i++) {
        if (beginnings[i].length <= length &&
            memcmp(bytes, beginnings[i].bytes, beginnings[i].length) == 0) {
            return beginnings[i].text == nsys_sqlite && ends_with(name, ".db")
                       ? rocpd
                       : beginnings[i].text;
        }
    }
    for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
        if (ends_with(name, suffixes[i].suffix)) {
            return suffixes[i].text;
        }
    }
    return NULL;
}
