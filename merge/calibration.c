/* calibration.c - the offset of each clock domain, with its bound
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A band is asked once a cell of 2^20 ns: inside of it the offset is a
 * straight line between the values at its ends, since records come in order of
 * time and a look into the band costs more than all else.
 */
#include "merge/calibration.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "merge/array.h"
#include "schema/run.h"

#define CELL_BITS 20

struct probe {
    uint32_t agent;
    struct ck_clock_probe stamps;
};

/* The cell looked at last. */
struct cell {
    int64_t number; /* RAW >> CELL_BITS */
    ck_time_t offset;
    ck_time_t change; /* to the next cell */
    bool is_set;
};

struct domain {
    struct ck_clockband *band; /* NULL = not probed */
    struct calibration_domain facts;
    struct cell cell;
};

struct calibration {
    struct probe *probes;
    size_t probes_count, probes_room;
    struct domain *domains;
    size_t domains_count;
};

struct calibration *calibration_create(void)
{
    return calloc(1, sizeof(struct calibration));
}

void calibration_destroy(struct calibration *calibration)
{
    if (calibration == NULL) {
        return;
    }
    for (size_t i = 0; i < calibration->domains_count; i++) {
        ck_clockband_destroy(calibration->domains[i].band);
    }
    free(calibration->domains);
    free(calibration->probes);
    free(calibration);
}

int calibration_probe(struct calibration *calibration,
                      uint32_t agent,
                      const struct ck_clock_fact *fact)
{
    struct probe *probe;

    if (array_grow(&calibration->probes, &calibration->probes_room,
                   calibration->probes_count, sizeof(*probe)) != 0) {
        return -1;
    }
    probe = &calibration->probes[calibration->probes_count++];
    probe->agent = agent;
    probe->stamps = (struct ck_clock_probe){
        .a1 = fact->e.start,
        .r2 = fact->value,
        .r3 = fact->t3,
        .a4 = fact->t4,
        .error_forward = fact->width,
        .error_backward = fact->width,
    };
    return 0;
}

/* The reference's boot id and time namespace as some agent was told them. */
static bool
reference_read(const struct cast *cast, char boot[64], char timens[64])
{
    for (size_t i = 0; i < cast->agents_count; i++) {
        const char *const lines[] = {cast->agents[i].identity,
                                     cast->agents[i].exit};

        for (size_t k = 0; k < sizeof(lines) / sizeof(lines[0]); k++) {
            size_t length = lines[k] == NULL ? 0 : strlen(lines[k]);

            if (length > 0 &&
                ck_lines_get(lines[k], length, "reference_boot_id", boot, 64) &&
                ck_lines_get(lines[k], length, "reference_timens", timens,
                             64)) {
                return true;
            }
        }
    }
    return false;
}

/* The reference's number among the domains, CAST_NONE = it is none of them. */
static uint32_t reference_find(const struct cast *cast)
{
    char boot[64];
    char timens[64];

    if (!reference_read(cast, boot, timens)) {
        return CAST_NONE;
    }
    for (size_t i = 0; i < cast->domains_count; i++) {
        if (strcmp(cast->domains[i].boot_id, boot) == 0 &&
            strcmp(cast->domains[i].timens, timens) == 0) {
            return (uint32_t)i;
        }
    }
    return CAST_NONE;
}

static int probe_add(struct domain *domain, const struct ck_clock_probe *stamps)
{
    if (domain->band == NULL) {
        domain->band = ck_clockband_create(NULL);
        if (domain->band == NULL) {
            return -1;
        }
    }
    if (stamps->r2 == 0 || stamps->a4 == 0) {
        domain->facts.lost++;
    }
    if (ck_clockband_add(domain->band, stamps) != 0) {
        return errno == EINVAL ? 0 : -1;
    }
    return 0;
}

static int domain_solve(struct domain *domain)
{
    struct calibration_domain *facts = &domain->facts;
    struct ck_clock_offset middle;
    ck_time_t at;

    if (domain->band == NULL) {
        return 0;
    }
    if (ck_clockband_solve(domain->band) != 0) {
        return errno == ENODATA ? 0 : -1;
    }
    ck_clockband_summarise(domain->band, &facts->band);
    at = facts->band.from + (facts->band.to - facts->band.from) / 2;
    if (ck_clockband_at(domain->band, at, &middle) == 0) {
        facts->method = CALIBRATION_PROBES;
        facts->offset = middle.offset;
    }
    return 0;
}

/* Domain 0 has no place on the reference's axis: it is the axis. */
static void axis_withdraw(struct calibration *calibration)
{
    for (size_t i = 0; i < calibration->domains_count; i++) {
        struct calibration_domain *facts = &calibration->domains[i].facts;

        facts->method = i == 0 ? CALIBRATION_SAME : CALIBRATION_NONE;
        facts->offset = 0;
    }
}

int calibration_close(struct calibration *calibration, const struct cast *cast)
{
    uint32_t reference = reference_find(cast);

    calibration->domains =
        calloc(cast->domains_count + 1, sizeof(*calibration->domains));
    if (calibration->domains == NULL) {
        return -1;
    }
    calibration->domains_count = cast->domains_count;
    for (size_t i = 0; i < calibration->probes_count; i++) {
        const struct probe *probe = &calibration->probes[i];
        uint32_t domain = cast->agents[probe->agent].domain;

        if (domain != reference &&
            probe_add(&calibration->domains[domain], &probe->stamps) != 0) {
            return -1;
        }
    }
    for (size_t i = 0; i < calibration->domains_count; i++) {
        if (domain_solve(&calibration->domains[i]) != 0) {
            return -1;
        }
    }
    if (reference != CAST_NONE) {
        calibration->domains[reference].facts.method = CALIBRATION_SAME;
    }
    if (calibration->domains_count > 0 &&
        calibration->domains[0].facts.method == CALIBRATION_NONE) {
        axis_withdraw(calibration);
    }
    return 0;
}

static ck_time_t band_offset(const struct domain *domain, ck_time_t raw)
{
    struct ck_clock_offset offset = {0, 0};

    (void)ck_clockband_at(domain->band, raw, &offset);
    return offset.offset;
}

ck_time_t calibration_offset(const struct calibration *calibration,
                             uint32_t domain_number,
                             ck_time_t raw)
{
    struct domain *domain = &calibration->domains[domain_number];
    struct cell *cell = &domain->cell;
    int64_t number = raw >> CELL_BITS;
    int64_t into = raw & (((int64_t)1 << CELL_BITS) - 1);

    if (domain->facts.method != CALIBRATION_PROBES) {
        return 0;
    }
    if (!cell->is_set || cell->number != number) {
        ck_time_t start = raw - into;

        cell->number = number;
        cell->offset = band_offset(domain, start);
        cell->change =
            band_offset(domain, start + ((ck_time_t)1 << CELL_BITS)) -
            cell->offset;
        cell->is_set = true;
    }
    return cell->offset +
           (ck_time_t)((__int128)cell->change * into / (1 << CELL_BITS));
}

int calibration_bound(const struct calibration *calibration,
                      uint32_t domain_number,
                      ck_time_t raw,
                      ck_time_t *bound)
{
    const struct domain *domain = &calibration->domains[domain_number];
    struct ck_clock_offset offset;
    ck_time_t used;

    if (domain->facts.method == CALIBRATION_NONE) {
        return -1;
    }
    if (domain->facts.method == CALIBRATION_SAME) {
        *bound = 0;
        return 0;
    }
    if (ck_clockband_at(domain->band, raw, &offset) != 0) {
        return -1;
    }
    /* What the cell's straight line adds. */
    used = calibration_offset(calibration, domain_number, raw);
    *bound = offset.bound + (used > offset.offset ? used - offset.offset
                                                  : offset.offset - used);
    return 0;
}

struct calibration_domain
calibration_domain(const struct calibration *calibration, uint32_t domain)
{
    return calibration->domains[domain].facts;
}

const struct ck_clock_fault *calibration_fault(
    const struct calibration *calibration, uint32_t domain, size_t index)
{
    const struct domain *of = &calibration->domains[domain];

    return of->band == NULL ? NULL : ck_clockband_fault(of->band, index);
}

const char *calibration_name(enum calibration_method method)
{
    static const char *const names[] = {"none", "same clock", "probes"};

    return names[method];
}

char calibration_grade(ck_time_t bound)
{
    return bound < CK_TIME_US         ? 'A'
           : bound < 10 * CK_TIME_US  ? 'B'
           : bound < 100 * CK_TIME_US ? 'C'
                                      : 'D';
}
