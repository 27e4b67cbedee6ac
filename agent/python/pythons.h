/* pythons.h - the Python frames of sampled threads
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * An interpreter is found in a process by its mapped files, and its threads'
 * frames are read from outside when a sample is taken out of the kernel's ring:
 * shortly after the sample. How long after is counted, as is what could not be
 * read. The program is not stopped, takes no part, and is not changed. Used by
 * the collector's thread only.
 */
#ifndef CK_AGENT_PYTHON_PYTHONS_H
#define CK_AGENT_PYTHON_PYTHONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/stream/selfstream.h"
#include "schema/time.h"

/* Processes that are looked at, and threads of each whose states are kept. */
#define PYTHONS_PROCESSES 64
#define PYTHONS_THREADS 64

struct pythons;

/* Numbers of places follow `before` (toldsites.h). NULL with ENOMEM. */
struct pythons *pythons_create(uint32_t before);
void pythons_destroy(struct pythons *pythons);

/* A sample of a thread. */
struct pythons_sample {
    pid_t pid;
    uint32_t tid;
    ck_time_t time;
    uint64_t *frames; /* return addresses, innermost first; borrowed */
    size_t count;
    size_t room;
    bool is_unwound;     /* each native frame is called by the next */
    bool has_no_library; /* no interpreter but in the program's own file */
};

/* Put the Python frames in place of the native ones. The innermost native ones
 * stay up to the interpreter: all where each is called by the next, else one.
 * *sample is as it was where the thread has no Python frame. */
void pythons_take(struct pythons *pythons, struct pythons_sample *sample);

/* A thread of Python was sampled lately: the next sample is to be taken soon.
 */
bool pythons_is_busy(const struct pythons *pythons, ck_time_t now);

/* Another program runs under that number. */
void pythons_forget(struct pythons *pythons, pid_t pid);
/* It has mapped code: perhaps an interpreter. */
void pythons_mapped(struct pythons *pythons, pid_t pid);

/* Name a frame by a SYMBOL record, once in a process image. Frames that are
 * addresses are left to the symbol reader. */
void pythons_name(struct pythons *pythons,
                  struct selfstream *selfstream,
                  uint32_t incarnation,
                  uint64_t frame);

/* Samples of threads of Python, by what was read. */
struct pythons_tally {
    uint64_t samples;
    uint64_t resolved; /* with a Python frame */
    uint64_t moved;    /* of them: it went on between the two reads */
    uint64_t outer;    /* of them: the inner frames changed too fast */
    uint64_t damaged;  /* no frame could be read twice */
    uint64_t empty;    /* the thread ran no Python */
    uint64_t unknown;  /* of interpreters of unknown layout */
    uint64_t refused;  /* of processes that may not be read */
    ck_time_t late;    /* from sample to read, median (within a factor of 2) */
};
struct pythons_tally pythons_tally(const struct pythons *pythons);
/* Notes on what could not be read, if that was much. */
void pythons_notes(const struct pythons *pythons,
                   struct selfstream *selfstream);

#endif
