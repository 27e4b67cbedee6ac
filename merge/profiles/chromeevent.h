/* chromeevent.h - one event of a Chrome trace, and the record it becomes
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_PROFILES_CHROMEEVENT_H
#define CK_MERGE_PROFILES_CHROMEEVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "merge/json/jsonread.h"
#include "merge/profiles/operations.h"

/* Longest name that is kept of an event that is not over yet. */
#define CHROMEEVENT_NAME_MAX 8192

/* Later stamps and dates are none, so that the sum of two fits: 2116. */
#define CHROMEEVENT_TIME_MAX (INT64_MAX / 2)
/* Devices that get a name of their own. */
#define CHROMEEVENT_DEVICES 64

/* The categories that matter. */
enum chrome_device {
    CHROME_DEVICE_GPU, /* what ran on devices */
    CHROME_DEVICE_CPU, /* operators of the CPU */
};

enum chrome_category {
    CHROME_OTHER, /* a range of the host's */
    CHROME_KERNEL,
    CHROME_COPY,
    CHROME_FILL,
    CHROME_RUNTIME,
    CHROME_DRIVER,
    CHROME_OPERATOR, /* cpu_op */
    CHROME_ANNOTATION,
    CHROME_OVERHEAD,
    CHROME_SYNC,   /* cuda_sync: a wait, beside the call that waits */
    CHROME_UNUSED, /* device annotations, flows: not time of their own */
};

struct chrome_event {
    uint64_t offset; /* in the text */
    char phase;      /* 'X', 'B' ...; 0 = not known */
    enum chrome_category category;
    enum chrome_category legacy; /* of its pid, where cat has none */
    size_t name_length;
    bool has_pid, has_tid, has_start, has_dur;
    bool is_bad; /* a member has a wrong type */
    int64_t pid;
    int64_t tid;
    int64_t start; /* ns */
    int64_t dur;
    /* args */
    int64_t device; /* -1 = not known */
    int64_t stream;
    uint64_t correlation;
    uint64_t bytes;
    uint32_t grid[3];
    uint32_t block[3];
    uint32_t registers;
    uint32_t shared_bytes;
    uint32_t sequence;  /* number in its process group and 1; 0 = not known */
    bool has_group;     /* text is its process group (kernelgroup.h) */
    size_t text_length; /* args.name, args.labels */
    char text[256];
    char name[CHROMEEVENT_NAME_MAX];
};

/* Read an event whose JSON_OBJECT was the last token. False after an error of
 * the text. */
bool chromeevent_read(struct json *json, struct chrome_event *event);

/* Where events go. */
struct chrome_sink {
    enum chrome_device device;
    struct import *import;         /* borrowed */
    struct operations *operations; /* borrowed */
    struct import_facts *facts;    /* borrowed */
    uint8_t *queues;               /* a bit for each stream of each device */
    bool is_used[CHROMEEVENT_DEVICES];   /* devices that did something */
    uint32_t names[CHROMEEVENT_DEVICES]; /* their names, 0 = not known */
    struct chrome_open *opens;           /* B without E */
    size_t opens_count, opens_room;
};

/* An open B event. */
struct chrome_open {
    int64_t pid, tid;
    int64_t start;
    uint64_t offset;
    enum chrome_category category;
    uint32_t name;
};

/* Take an event over. 0, or -1 with errno. */
int chromeevent_take(struct chrome_sink *sink, struct chrome_event *event);
/* At the end: record the names of the devices that were used. 0 or -1. */
int chromeevent_devices(const struct chrome_sink *sink);

#endif
