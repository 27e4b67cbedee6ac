/* import.h - a foreign profile as a segment of ck
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Readers of foreign formats hand their events over as ck's records; they are
 * stored as an agent's would be, in a segment of a temporary directory. So
 * all that follows knows one format only, and memory does not grow with the
 * profile. Times are ns of the profile's own clock (RAW of a clock domain of
 * its own); how that clock relates to the date is recorded at the end.
 */
#ifndef CK_MERGE_PROFILES_IMPORT_H
#define CK_MERGE_PROFILES_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "schema/err.h"
#include "schema/event.h"

/* Host threads of one profile; events of further ones are left out, with a
 * note. */
#define IMPORT_THREADS_MAX 1024
/* With those that have a name and no event. */
#define IMPORT_NAMED_MAX 4096
/* The thread of records that belong to no host thread. */
#define IMPORT_DEVICE 0

/* Kinds of faults that are distinguished. */
#define IMPORT_COMPLAINTS_MAX 24

struct import_complaint {
    const char *what; /* static */
    uint64_t count;
    uint64_t offset; /* of the first */
};

/* What is left of an import once it is parked; between a process and a fork
 * of it. */
struct import_state {
    uint8_t id[16];
    struct import_complaint complaints[IMPORT_COMPLAINTS_MAX];
    size_t complaints_count;
    bool is_cut;      /* the text ended, or went wrong, before its end */
    bool is_unclosed; /* it ends where it may, and where a cut may be as well */
};

/* What a reader found out, for import_finish(). */
struct import_facts {
    int32_t rank; /* -1 = not known */
    int32_t size; /* of the world; 0 = not known */
    uint32_t pid;
    char host[128]; /* "" = not known */
    bool has_epoch; /* the date of the clock's zero is known: */
    int64_t epoch;  /* ns since 1970 at the clock's zero */
    int64_t start;  /* of the recording, on its clock; 0, 0 = not known */
    int64_t stop;
    uint64_t operations;  /* on devices */
    uint64_t by_id;       /* of them, those whose launch was found by its id */
    uint64_t by_order;    /* ... by its place in the order alone */
    uint64_t groups;      /* nkipy: calls on several cores */
    uint64_t submits;     /* nkipy: submissions by the host, */
    int64_t submit;       /* and how long they took */
    int64_t device_clock; /* nkipy: sum of lengths by the device's own clock */
    uint64_t unused;      /* events that ck has no use for */
};

struct import;
/* `path` (copied) is the profile's, for messages; the segment goes to `dir`.
 * NULL with err. */
struct import *
import_create(const char *dir, const char *path, struct ck_err *err);
void import_destroy(struct import *import);
/* Remove its segment. */
void import_discard(struct import *import);
const char *import_path(const struct import *import);
const char *import_dir(const struct import *import);

/* Id of a text, made at first sight. 0 = none ("" or no memory). */
uint32_t import_name(struct import *import, const char *text, size_t length);
/* The text of such an id, borrowed until the next one is made. */
const char *
import_name_text(const struct import *import, uint32_t id, size_t *length);
/* Number of a host thread of a process, or -1: there are too many. */
int import_thread(struct import *import, int64_t pid, int64_t tid);
/* What it is called in records: its tid, or another number where a thread of
 * another process has that. */
uint32_t import_tid(const struct import *import, unsigned thread);
/* Append a record (copied) to a thread's; sets its units. 0, or -1: the error
 * is kept for import_finish(). */
int import_put(struct import *import, unsigned thread, void *record);
int import_text(struct import *import,
                const struct ck_text *head,
                const char *bytes,
                size_t length);

/* Once all records are there: write them, and let their memory go. The many
 * imports of a merge wait like that for import_finish(). 0, or -1 with err. */
int import_park(struct import *import, struct ck_err *err);

/* Hand a parked import to another process, which goes on with it. */
void import_give(const struct import *import, struct import_state *state);
/* NULL with err. */
struct import *import_adopt(const char *dir,
                            const char *path,
                            const struct import_state *state,
                            struct ck_err *err);

/* Something is wrong at that byte (`what` is a static text): counted by text,
 * the first place is kept. */
void import_complain(struct import *import, uint64_t offset, const char *what);
/* Reading on failed, with errno: ENOMEM, or the directory cannot be written to.
 * Always -1 with err. */
int import_failed(const struct import *import, struct ck_err *err);
/* As import_complain(); what follows that byte is not known. */
void import_cut(struct import *import, uint64_t offset, const char *what);
/* The text ends where it may, without the mark of a whole one. */
void import_unclosed(struct import *import);
/* The index-th complaint as a sentence in `line`, false beyond the last. */
bool import_complaint(const struct import *import,
                      size_t index,
                      char *line,
                      size_t room);

/* Record whose it was and write what is left. `realtime`: the date of the
 * clock's zero, NULL = not known. 0, or -1 with err. */
int import_finish(struct import *import,
                  const struct import_facts *facts,
                  const int64_t *realtime,
                  struct ck_err *err);

#endif
