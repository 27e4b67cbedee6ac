/* manifest.h - what ckagg wrote of a run into manifest.json
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The manifest has what the files cannot show of themselves: which agents
 * took part, and how many records each had stored.
 */
#ifndef CK_MERGE_INPUT_MANIFEST_H
#define CK_MERGE_INPUT_MANIFEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More agents than any job has: of more the manifest is refused. */
#define MANIFEST_AGENTS_MAX ((size_t)1 << 20)

struct manifest_agent {
    uint8_t id[16];
    int32_t rank;           /* -1 = none */
    uint64_t records;       /* in its segment, of all frames */
    uint64_t missing_units; /* between them: these never came */
    bool is_left;           /* its GOODBYE came: all it made was stored, or. */
    bool has_made;          /* it reported. */
    uint64_t made;          /* records that it made in all */
    uint64_t lost;          /* beside these */
    char *host;             /* "" = not known */
    char *spool; /* file with what found no room; "" = none did; NULL = all that
                    was made was stored, or it is not known */
};

/* Clock probes that ckagg got. */
struct manifest_probes {
    bool is_said;
    uint64_t answered;
    uint64_t malformed;
    uint64_t foreign;
    uint64_t untagged;
    uint64_t replayed;
};

struct manifest {
    struct manifest_probes probes;
    bool is_there; /* there is something of that name */
    bool is_read;  /* whole, and of a version that is known */
    bool is_final; /* written when the job had ended */
    char why[256]; /* it could not be read: "it is missing" */
    struct manifest_agent *agents;
    size_t agents_count, agents_room;
};

/* Read the manifest of a run directory into *manifest, whatever that held.
 * `why` has what is wrong with it. */
void manifest_read(struct manifest *manifest, const char *dir);
void manifest_fini(struct manifest *manifest);

#endif
