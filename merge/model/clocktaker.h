/* clocktaker.h - who takes the clock facts that a run holds
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The files of a run are read before anything is known of its clocks: the
 * facts are handed on as they come.
 */
#ifndef CK_MERGE_MODEL_CLOCKTAKER_H
#define CK_MERGE_MODEL_CLOCKTAKER_H

#include <stdint.h>

#include "schema/event.h"

struct clocktaker {
    /* A CLOCK record of an agent of the definitions. */
    void (*take)(void *state, uint32_t agent, const struct ck_clock_fact *fact);
    void *state; /* borrowed */
};

#endif
