/* profile.h - inputs of a kernel-only merge: what kind each is, whose it is
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Kinds are recognised by content: run directories and segments of ck, and a
 * row of the table in profile.c for each foreign format; JSON plain or gzip.
 */
#ifndef CK_MERGE_PROFILES_PROFILE_H
#define CK_MERGE_PROFILES_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "merge/json/jsonread.h"
#include "merge/profiles/gzip.h"
#include "merge/profiles/import.h"
#include "schema/err.h"

enum profile_kind {
    PROFILE_UNKNOWN,
    PROFILE_RUN,     /* a run directory */
    PROFILE_SEGMENT, /* a segment or spool file */
    PROFILE_SCALENE, /* no input, but known */
    PROFILE_READERS, /* from here on: by a row of the table in profile.c */
};
/* True with err: a file of another program, where a run is asked for. */
bool profile_is_foreign(const char *path, struct ck_err *err);
const char *profile_name(enum profile_kind kind);
/* What readers read, for help and messages, separated by commas: `text`. */
#define PROFILE_FORMATS 512
const char *profile_formats(char text[PROFILE_FORMATS]);
/* Is it read by a reader of this room? */
bool profile_has_reader(enum profile_kind kind);

/* Look at the beginning of a file, called by that name in messages.
 * PROFILE_UNKNOWN with err: not readable, or nothing that is known. */
enum profile_kind
profile_kind_of(const char *file, const char *name, struct ck_err *err);
/* Rank in a file's name: rank3, rank_3, rank-3, r3 between separators. -1 =
 * none, or several. */
int32_t profile_name_rank(const char *path);

/* One input. */
struct profile {
    const char *given; /* as on the command line; borrowed, as are: */
    const char *path;  /* what it is called */
    const char *file;  /* where it is read */
    enum profile_kind kind;
    unsigned threads;      /* that may read it */
    struct import *import; /* NULL with a run or a segment */
    struct import_facts facts;
    bool is_rank_assumed; /* it is in no place: the only input is rank 0 */
    char complaint[512];  /* the first thing that was not understood; "" */
};

/* Where a reader reads. */
struct profile_source {
    struct gzip *gzip;
    unsigned threads;
    bool is_again; /* read once before, without work of a device */
};
/* How many readers there are, and one of them: the text into `import`. 0, or -1
 * with err. For profile_read(), and for tests of all readers. */
unsigned profile_readers(void);
int profile_reader_read(unsigned reader,
                        struct json *json,
                        const struct profile_source *source,
                        struct import *import,
                        struct import_facts *facts,
                        struct ck_err *err);

/* Read a foreign profile into a segment in `dir`, which its import_finish()
 * completes. 0, or -1 with err. */
int profile_read(struct profile *profile, const char *dir, struct ck_err *err);
void profile_fini(struct profile *profile);

#endif
