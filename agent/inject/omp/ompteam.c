/* ompteam.c - the records of teams
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/inject/omp/ompteam.h"

#include <stdatomic.h>

__thread struct omp_part *omp_here;
__thread struct omp_part omp_past;

/* Of regions, that a thread takes at once. */
#define NUMBERS 64

static _Atomic uint32_t regions; /* numbers given */

static struct inject_label labels[OMP_NAMES] = {
    [OMP_NAME_GOMP] = INJECT_LABEL("libgomp"),
    [OMP_NAME_LLVM] = INJECT_LABEL("libomp"),
    [OMP_NAME_BARRIER] = INJECT_LABEL("barrier"),
    [OMP_NAME_LOOP] = INJECT_LABEL("end of loop"),
    [OMP_NAME_SECTIONS] = INJECT_LABEL("end of sections"),
    [OMP_NAME_SINGLE] = INJECT_LABEL("single"),
    [OMP_NAME_REDUCTION] = INJECT_LABEL("reduction"),
    [OMP_NAME_WORKSHARE] = INJECT_LABEL("implicit barrier"),
    [OMP_NAME_CRITICAL] = INJECT_LABEL("critical"),
    [OMP_NAME_ATOMIC] = INJECT_LABEL("atomic"),
    [OMP_NAME_ORDERED] = INJECT_LABEL("ordered"),
    [OMP_NAME_LOCK] = INJECT_LABEL("lock"),
    [OMP_NAME_NEST_LOCK] = INJECT_LABEL("nestable lock"),
    [OMP_NAME_TASKWAIT] = INJECT_LABEL("taskwait"),
    [OMP_NAME_TASKGROUP] = INJECT_LABEL("taskgroup"),
    [OMP_NAME_TASK] = INJECT_LABEL("task"),
};

/* Room for a record, NULL = none is written; *id is the name's. The writer may
 * be another one than at the start, after a fork. */
static struct ck_team *record_begin(enum omp_name name, uint32_t *id)
{
    struct ck_ring_writer *writer = inject_writer();

    if (writer == NULL) {
        return NULL;
    }
    *id = inject_label_id(&labels[name]);
    return ck_ring_begin(writer, inject_ring.clock, 2);
}

static void record_commit(void)
{
    ck_ring_commit(&inject_thread, 2);
}

static inline struct ck_event
head(enum ck_kind kind, uint32_t name, int64_t start)
{
    return (struct ck_event){
        .kind = (uint16_t)kind, .units = 2, .name = name, .start = start};
}

/* Numbers are taken by the dozen: one that all threads write to for each region
 * costs them more. */
static uint32_t region_number(void)
{
    static __thread uint32_t next, left;

    if (left == 0) {
        left = NUMBERS;
        next =
            atomic_fetch_add_explicit(&regions, NUMBERS, memory_order_relaxed);
    }
    left--;
    return ++next;
}

/* The code that a team runs has the better line than the call that begins
 * the region, to which compilers give any line around. Of a library of the
 * system, or in Python, the user's own call. */
static uint64_t region_site(const void *site, uint64_t code)
{
    return code - call_site_begin < call_site_size ? code + 1 : call_site(site);
}

bool omp_region_begin(struct omp_region *region,
                      const void *site,
                      uint64_t code)
{
    region->number = 0;
    if (inject_writer() == NULL) {
        return false;
    }
    region->number = region_number();
    region->site = region_site(site, code);
    region->code = code;
    region->size = 0;
    region->alone = 0;
    region->start = inject_now();
    return true;
}

void omp_region_end(const struct omp_region *region, enum omp_name runtime)
{
    const struct omp_part *outer = omp_here;
    int64_t dur;
    struct ck_team *record;
    uint32_t name;

    if (region->number == 0 || inject_writer() == NULL) {
        return;
    }
    dur = inject_now() - region->start;
    record = record_begin(runtime, &name);
    if (record == NULL) {
        return;
    }
    *record = (struct ck_team){
        .e = head(CK_KIND_TEAM_REGION, name, region->start),
        .dur = dur,
        .site = region->site,
        .region = region->number,
        .outer = outer == NULL ? 0 : outer->region,
        .thread = outer == NULL ? 0 : outer->thread,
        .size = region->size,
        .object = region->code,
        .number = region->alone,
        .level = outer == NULL ? 0 : outer->level + 1,
    };
    record_commit();
}

void omp_part_begin(struct omp_part *part,
                    uint32_t region,
                    unsigned thread,
                    unsigned size)
{
    *part = (struct omp_part){
        .outer = omp_here,
        .region = region,
        .thread = (uint16_t)thread,
        .size = (uint16_t)size,
        .level = omp_here == NULL ? 0 : omp_here->level + 1,
    };
    part->start = omp_wait_begin();
}

void omp_part_begin_alone(struct omp_part *part,
                          const struct omp_region *region)
{
    *part = (struct omp_part){
        .outer = omp_here,
        .region = region->number,
        .size = 1,
        .level = omp_here == NULL ? 0 : omp_here->level + 1,
        .is_alone = true,
        .start = region->start,
    };
}

void omp_part_end(const struct omp_part *part, struct omp_region *region)
{
    int64_t dur;
    struct ck_team *record;
    uint32_t name;

    if (part->is_alone) {
        region->alone = CK_TEAM_ALONE | (part->shorts & ~CK_TEAM_ALONE);
        return;
    }
    if (part->start == 0 || part->region == 0 || inject_writer() == NULL) {
        return;
    }
    dur = inject_now() - part->start;
    record = record_begin(OMP_NAME_TASK, &name);
    if (record == NULL) {
        return;
    }
    *record = (struct ck_team){
        .e = head(CK_KIND_TEAM_PART, name, part->start),
        .dur = dur,
        .region = part->region,
        .outer = part->outer == NULL ? 0 : part->outer->region,
        .thread = part->thread,
        .size = part->size,
        .number = part->shorts,
        .level = part->level,
    };
    record_commit();
}

void omp_wait_end(const struct omp_wait *wait)
{
    static const struct omp_part nothing;
    const struct omp_part *its;
    struct omp_part *part = omp_here;
    uint32_t number = 0;
    int64_t dur;
    uint64_t site;
    struct ck_team *record;
    uint32_t name;

    if (part == NULL && omp_past.region != 0) {
        part = &omp_past;
    }
    if (wait->start == 0 || inject_writer() == NULL) {
        return;
    }
    dur = inject_now() - wait->start;
    if (wait->kind == CK_KIND_TEAM_BARRIER && part != NULL) {
        number = ++part->barriers;
    } else if (wait->kind != CK_KIND_TEAM_BARRIER && dur < OMP_WAIT_LEAST) {
        if (part != NULL) {
            part->shorts++;
        }
        return;
    }
    site = wait->site == NULL ? 0 : call_site(wait->site);
    record = record_begin(wait->name, &name);
    if (record == NULL) {
        return;
    }
    its = part == NULL ? &nothing : part;
    *record = (struct ck_team){
        .e = head(wait->kind, name, wait->start),
        .dur = dur,
        .site = site,
        .region = its->region,
        .outer = its->outer == NULL ? 0 : its->outer->region,
        .thread = its->thread,
        .size = its->size,
        .number = number,
        .object = wait->object,
        .level = its->level,
    };
    record_commit();
}
