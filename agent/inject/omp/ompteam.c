/* ompteam.c - the records of teams
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/inject/omp/ompteam.h"

#include <stdatomic.h>

__thread struct omp_part *omp_here;
__thread struct omp_part omp_past;

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

/* Write a record whose head but kind and name is filled in. The writer may be
 * another one than at the start, after a fork. */
static void
team_write(enum ck_kind kind, enum omp_name name, const struct ck_team *team)
{
    struct ck_ring_writer *writer = inject_writer();
    uint32_t id;
    struct ck_team *record;

    if (writer == NULL) {
        return;
    }
    id = inject_label_id(&labels[name]);
    record = ck_ring_begin(writer, inject_ring.clock, 2);
    if (record == NULL) {
        return;
    }
    *record = *team;
    record->e = (struct ck_event){
        .kind = (uint16_t)kind, .units = 2, .name = id, .start = team->e.start};
    ck_ring_commit(writer, 2);
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
    region->number =
        atomic_fetch_add_explicit(&regions, 1, memory_order_relaxed) + 1;
    region->site = region_site(site, code);
    region->code = code;
    region->size = 0;
    region->start = inject_now();
    return true;
}

void omp_region_end(const struct omp_region *region, enum omp_name runtime)
{
    const struct omp_part *outer = omp_here;

    if (region->number == 0 || inject_writer() == NULL) {
        return;
    }
    team_write(CK_KIND_TEAM_REGION, runtime,
               &(struct ck_team){
                   .e.start = region->start,
                   .dur = inject_now() - region->start,
                   .site = region->site,
                   .region = region->number,
                   .outer = outer == NULL ? 0 : outer->region,
                   .thread = outer == NULL ? 0 : outer->thread,
                   .size = region->size,
                   .object = region->code,
                   .level = outer == NULL ? 0 : outer->level + 1,
               });
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

void omp_part_end(const struct omp_part *part)
{
    if (part->start == 0 || part->region == 0 || inject_writer() == NULL) {
        return;
    }
    team_write(CK_KIND_TEAM_PART, OMP_NAME_TASK,
               &(struct ck_team){
                   .e.start = part->start,
                   .dur = inject_now() - part->start,
                   .region = part->region,
                   .outer = part->outer == NULL ? 0 : part->outer->region,
                   .thread = part->thread,
                   .size = part->size,
                   .number = part->shorts,
                   .level = part->level,
               });
}

void omp_wait_end(const struct omp_wait *wait)
{
    struct omp_part *part = omp_here;
    uint32_t number = 0;
    int64_t dur;

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
    team_write(wait->kind, wait->name,
               &(struct ck_team){
                   .e.start = wait->start,
                   .dur = dur,
                   .site = wait->site == NULL ? 0 : call_site(wait->site),
                   .region = part == NULL ? 0 : part->region,
                   .outer = part == NULL || part->outer == NULL
                                ? 0
                                : part->outer->region,
                   .thread = part == NULL ? 0 : part->thread,
                   .size = part == NULL ? 0 : part->size,
                   .number = number,
                   .object = wait->object,
                   .level = part == NULL ? 0 : part->level,
               });
}
