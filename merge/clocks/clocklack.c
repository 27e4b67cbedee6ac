/* clocklack.c - why a clock is not calibrated
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/clocks/clocklack.h"

#include <stdlib.h>
#include <string.h>

#include "schema/store/run.h"

/* A line that an agent wrote of itself, at its end or at its beginning. */
static bool line_get(const struct defs_agent *agent,
                     const char *name,
                     char *value,
                     size_t room)
{
    const char *const lines[] = {agent->exit, agent->identity};

    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        if (lines[i] != NULL &&
            ck_lines_get(lines[i], strlen(lines[i]), name, value, room)) {
            return true;
        }
    }
    return false;
}

static enum clocklack agent_lack(const struct defs_agent *agent)
{
    char value[64];
    long long asked;

    if (!line_get(agent, "reference_boot_id", value, sizeof(value))) {
        return CLOCKLACK_REFERENCE;
    }
    if (!line_get(agent, "clock_asked", value, sizeof(value))) {
        return CLOCKLACK_PROBES;
    }
    asked = strtoll(value, NULL, 10);
    if (line_get(agent, "clock_lost", value, sizeof(value)) &&
        strtoll(value, NULL, 10) >= asked) {
        return CLOCKLACK_ANSWERS;
    }
    return CLOCKLACK_FACTS;
}

/* Of several agents one probes: what went furthest is returned. */
enum clocklack clocklack_find(const struct defs *defs, uint32_t domain)
{
    enum clocklack most = CLOCKLACK_REFERENCE;

    for (size_t i = 0; i < defs->agents_count; i++) {
        if (defs->agents[i].domain == domain) {
            enum clocklack lack = agent_lack(&defs->agents[i]);

            most = lack > most ? lack : most;
        }
    }
    return most;
}

const char *clocklack_text(enum clocklack lack)
{
    static const char *const texts[] = {
        [CLOCKLACK_COMMON] = "too little in common with the others",
        [CLOCKLACK_REFERENCE] = "nothing shows that it reached an aggregator",
        [CLOCKLACK_PROBES] = "it was not probed",
        [CLOCKLACK_ANSWERS] = "none of its probes was answered",
        [CLOCKLACK_FACTS] = "its probes do not tie it to the first rank's",
    };

    return texts[lack];
}
