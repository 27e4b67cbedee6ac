/* clockbounds.c - how well clocks are known over time, for a trace
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/clockbounds.h"

/* Of all clocks together: with more clocks a sample is of a longer stretch. */
#define SAMPLES_MAX 65536

static uint32_t agent_of(const struct defs *defs, uint32_t domain)
{
    uint32_t agent = 0;

    while (agent < defs->agents_count && defs->agents[agent].domain != domain) {
        agent++;
    }
    return agent;
}

/* Parts of the trace that one sample is of. */
static size_t parts_together(size_t clocks)
{
    size_t together = 1;

    while (together < CLOCKPARTS &&
           clocks * (CLOCKPARTS / together) > SAMPLES_MAX) {
        together *= 2;
    }
    return together;
}

static ck_time_t parts_most(const ck_time_t *parts, size_t count)
{
    ck_time_t most = 0;

    for (size_t i = 0; i < count; i++) {
        most = parts[i] > most ? parts[i] : most;
    }
    return most == CLOCKMAP_ERROR_UNKNOWN ? CLOCKBOUNDS_UNKNOWN : most;
}

static void clock_each(const ck_time_t *parts,
                       size_t together,
                       struct region part,
                       uint32_t clock,
                       clockbounds_f f,
                       void *state)
{
    ck_time_t last = CLOCKBOUNDS_UNKNOWN - 1;

    for (size_t k = 0; k < CLOCKPARTS; k += together) {
        ck_time_t bound = parts_most(&parts[k], together);

        if (bound != last) {
            f(state, clock,
              part.start + (ck_time_t)((__int128)region_length(part) *
                                       (__int128)k / CLOCKPARTS),
              bound);
        }
        last = bound;
    }
}

void clockbounds_each(const struct defs *defs,
                      const struct align *align,
                      struct region part,
                      clockbounds_f f,
                      void *state)
{
    const ck_time_t stretch[2] = {part.start, part.end};
    size_t together = parts_together(defs->domains_count);

    if (defs->domains_count < 2) {
        return;
    }
    for (uint32_t i = 0; i < defs->domains_count; i++) {
        uint32_t agent = agent_of(defs, i);
        ck_time_t parts[CLOCKPARTS];

        if (agent < defs->agents_count &&
            align_bound_parts(align, agent, stretch, parts) == 0) {
            clock_each(parts, together, part, i, f, state);
        }
    }
}
