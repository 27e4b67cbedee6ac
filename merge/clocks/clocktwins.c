/* clocktwins.c - clocks that have one name and are two
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Agents that name one machine have one clock. Machines that name one clock
 * are compared: in the reference's domain the offset has to be 0 at each probe,
 * in another one each probe has to be in the band of the first machine. What
 * contradicts that becomes another clock, and its machines are compared again.
 * A machine without probes is believed as long as no other contradicts.
 */
#include "merge/clocks/clocktwins.h"

#include <stdlib.h>
#include <string.h>

#include "merge/clocks/probeband.h"
#include "merge/model/memory.h"
#include "schema/clock/clockband.h"
#include "schema/store/run.h"

/* Fewer contradictions may be wrong stamps. */
#define CONTRADICTIONS 3
#define NAME_BYTES 40

struct machine {
    uint32_t domain;
    char name[NAME_BYTES];
    struct ck_clockband *band; /* NULL = no probes */
    uint64_t probes;
    uint32_t clock; /* of its domain's clocks, 0 = the one with the name */
};

struct twins {
    struct defs *defs;                      /* borrowed */
    const struct calibration_probe *probes; /* borrowed */
    size_t probes_count;
    struct machine *machines;
    size_t count;
    uint32_t *machine_of; /* agent */
    uint32_t reference;
};

static void twins_fini(struct twins *twins)
{
    for (size_t i = 0; twins->machines != NULL && i < twins->count; i++) {
        ck_clockband_destroy(twins->machines[i].band);
    }
    free(twins->machines);
    free(twins->machine_of);
}

/* The machine that an agent names, a new one if need be. */
static uint32_t machine_find(struct twins *twins, uint32_t number)
{
    const struct defs_agent *agent = &twins->defs->agents[number];
    struct machine machine = {.domain = agent->domain};
    uint32_t i = 0;

    (void)ck_lines_get(agent->identity, strlen(agent->identity), "machine",
                       machine.name, sizeof(machine.name));
    while (i < twins->count &&
           (twins->machines[i].domain != machine.domain ||
            strcmp(twins->machines[i].name, machine.name) != 0)) {
        i++;
    }
    if (i == twins->count) {
        twins->machines[twins->count++] = machine;
    }
    return i;
}

static void probe_add(struct machine *machine,
                      const struct ck_clock_probe *probe)
{
    machine->probes += probeband_add(&machine->band, probe);
}

static void twins_init(struct twins *twins)
{
    size_t agents = twins->defs->agents_count;

    twins->machines = xcalloc(agents + 1, sizeof(*twins->machines));
    twins->machine_of = xcalloc(agents + 1, sizeof(*twins->machine_of));
    for (uint32_t i = 0; i < agents; i++) {
        twins->machine_of[i] = machine_find(twins, i);
    }
    for (size_t i = 0; i < twins->probes_count; i++) {
        const struct calibration_probe *probe = &twins->probes[i];

        probe_add(&twins->machines[twins->machine_of[probe->agent]],
                  &probe->stamps);
    }
    for (size_t i = 0; i < twins->count; i++) {
        struct machine *machine = &twins->machines[i];

        if (machine->band != NULL && !probeband_solve(machine->band)) {
            ck_clockband_destroy(machine->band);
            machine->band = NULL;
            machine->probes = 0;
        }
    }
}

/* What a machine's clock would be against the reference if it were that of
 * `like`, NULL = the reference's own. */
static struct ck_clock_offset expected(const struct machine *like, ck_time_t at)
{
    struct ck_clock_offset offset = {0, 0};

    if (like != NULL) {
        (void)ck_clockband_at(like->band, at, &offset);
    }
    return offset;
}

/* Whether a machine's probes contradict its having that clock. */
static bool is_other(const struct twins *twins,
                     uint32_t machine,
                     const struct machine *like)
{
    unsigned found = 0;

    for (size_t i = 0; i < twins->probes_count && found < CONTRADICTIONS; i++) {
        const struct ck_clock_probe *stamps = &twins->probes[i].stamps;
        struct ck_clock_offset there, back;

        if (twins->machine_of[twins->probes[i].agent] != machine ||
            stamps->r2 == 0 || stamps->a4 == 0) {
            continue;
        }
        there = expected(like, stamps->a1);
        back = expected(like, stamps->a4);
        found += stamps->r2 - stamps->a1 + stamps->error_forward <
                 there.offset - there.bound;
        found += stamps->r3 - stamps->a4 - stamps->error_backward >
                 back.offset + back.bound;
    }
    return found >= CONTRADICTIONS;
}

/* Put those machines of a domain that contradict a clock to the next one. The
 * number of clocks. */
static uint32_t clocks_part(struct twins *twins, uint32_t domain)
{
    uint32_t clock = 0;
    bool is_parted = true;

    for (; is_parted; clock++) {
        const struct machine *like = NULL;
        bool is_reference = clock == 0 && domain == twins->reference;

        is_parted = false;
        for (uint32_t i = 0; i < twins->count; i++) {
            struct machine *machine = &twins->machines[i];

            if (machine->domain != domain || machine->clock != clock ||
                machine->band == NULL) {
                continue;
            }
            if (like == NULL && !is_reference) {
                like = machine;
            } else if (is_other(twins, i, like)) {
                machine->clock = clock + 1;
                is_parted = true;
            }
        }
    }
    return clock;
}

/* Whether the probes of a domain's machines show one clock. */
static void domain_count(struct twins *twins, uint32_t number, uint32_t clock)
{
    struct defs_domain *domain = &twins->defs->domains[number];
    uint64_t probes = 0;

    domain->machines = domain->believed = 0;
    for (size_t i = 0; i < twins->count; i++) {
        const struct machine *machine = &twins->machines[i];

        if (machine->domain == number && machine->clock == clock) {
            domain->machines++;
            domain->believed += machine->band == NULL;
            probes += machine->probes;
        }
    }
    domain->checked =
        number == twins->reference || domain->machines > 1 ? probes : 0;
}

/* The domain of a domain's clock of that number. */
static uint32_t domain_of(struct twins *twins, uint32_t domain, uint32_t clock)
{
    struct defs *defs = twins->defs;
    uint32_t added = defs_domain_clone(defs, domain, clock);

    defs->domains[added].is_clone = true;
    defs->domains[added].checked = 0;
    defs->domains[added].machines = defs->domains[added].believed = 0;
    for (uint32_t i = 0; i < defs->agents_count; i++) {
        const struct machine *machine = &twins->machines[twins->machine_of[i]];

        if (machine->domain == domain && machine->clock == clock) {
            if (defs->domains[added].machines++ == 0) {
                defs->domains[added].host = defs->agents[i].host;
            }
            defs->agents[i].domain = added;
        }
    }
    return added;
}

/* Of a domain that is several clocks no machine is believed without probes. */
static uint32_t
doubtful_part(struct twins *twins, uint32_t domain, uint32_t end)
{
    for (size_t i = 0; i < twins->count; i++) {
        struct machine *machine = &twins->machines[i];

        if (machine->domain == domain && machine->band == NULL) {
            machine->clock = end++;
        }
    }
    return end;
}

static void domains_swap(struct defs *defs, uint32_t a, uint32_t b)
{
    struct defs_domain swapped = defs->domains[a];

    defs->domains[a] = defs->domains[b];
    defs->domains[b] = swapped;
    for (size_t i = 0; i < defs->agents_count; i++) {
        uint32_t *domain = &defs->agents[i].domain;

        if (*domain == a) {
            *domain = b;
        } else if (*domain == b) {
            *domain = a;
        }
    }
}

/* Remove a domain that no agent has any more, the last one in its place. */
static void domain_sift(struct defs *defs, uint32_t domain)
{
    for (size_t i = 0; i < defs->agents_count; i++) {
        if (defs->agents[i].domain == domain) {
            return;
        }
    }
    domains_swap(defs, domain, (uint32_t)defs->domains_count - 1);
    defs->domains_count--;
}

static void domain_split(struct twins *twins, uint32_t domain)
{
    uint32_t clocks = clocks_part(twins, domain);

    if (clocks > 1) {
        clocks = doubtful_part(twins, domain, clocks);
    }
    for (uint32_t clock = 1; clock < clocks; clock++) {
        domain_of(twins, domain, clock);
    }
    domain_count(twins, domain, 0);
}

void clocktwins_split(struct defs *defs, const struct calibration *calibration)
{
    struct twins twins = {.defs = defs,
                          .reference = calibration_reference(defs)};
    uint32_t domains = (uint32_t)defs->domains_count;

    twins.probes = calibration_probes(calibration, &twins.probes_count);
    twins_init(&twins);
    for (uint32_t i = 0; i < domains; i++) {
        domain_split(&twins, i);
    }
    twins_fini(&twins);
    for (uint32_t i = domains; i-- > 0;) {
        domain_sift(defs, i);
    }
    /* The lowest rank's domain is number 0. */
    if (defs->ranks_count > 0) {
        uint32_t lowest = defs->agents[defs->ranks[0].agent].domain;

        if (lowest != 0) {
            domains_swap(defs, 0, lowest);
        }
    }
}
