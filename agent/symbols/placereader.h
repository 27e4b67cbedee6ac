/* placereader.h - a process that reads the program's files for places
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The files belong to the program: they may be shortened while they are mapped,
 * which is a signal, or hold what libdw reads for ever or with all memory. That
 * ends a process of its own and not the collector, which goes on behind the
 * file that did it. Used by the collector's thread only.
 */
#ifndef CK_AGENT_SYMBOLS_PLACEREADER_H
#define CK_AGENT_SYMBOLS_PLACEREADER_H

#include <stdint.h>
#include <sys/types.h>

#include "agent/symbols/symboltable.h"
#include "schema/time.h"

#define PLACEREADER_TEXT 4096

/* An answer: the place of the site with that number. */
struct placereader_place {
    uint32_t site;
    uint32_t line;
    char function[PLACEREADER_TEXT]; /* "" = not known */
    char file[PLACEREADER_TEXT];
    /* What was inlined there, innermost first: of each NUL, function, NUL, file
     * of its call, NUL, line of it. */
    char inlined[PLACEREADER_TEXT];
    uint32_t inlined_length;
};

/* In the process of its own: answers by placereader_put() for each site from
 * `first` on, in their order. */
typedef void (*placereader_f)(void *context, uint32_t first, int out);

struct placereader {
    pid_t pid;           /* 0 = it does not run */
    ck_time_t kept_back; /* of those that have ended */
    int in;
    size_t used, at;
    char bytes[32768]; /* read ahead */
};

/* 0, or -1 with errno. */
int placereader_start(struct placereader *reader,
                      placereader_f read,
                      void *context,
                      uint32_t first);
/* End it, whatever it does. */
void placereader_end(struct placereader *reader);

enum placereader_next {
    PLACEREADER_PLACE,
    PLACEREADER_DIED, /* has ended without a further answer */
    PLACEREADER_LATE  /* there is none yet */
};

/* The next answer, waited for until the time `deadline`. */
enum placereader_next placereader_next(struct placereader *reader,
                                       ck_time_t deadline,
                                       struct placereader_place *place);

/* How long those processes could have run, and had no CPU
 * (procfile_kept_back()). */
ck_time_t placereader_kept_back(const struct placereader *reader);

/* Send an answer. It ends the process where no one reads any more. */
void placereader_put(int out, uint32_t site, const struct symbol_place *place);

#endif
