/* kernelonly.c - device profiles in place of a run
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/kernelonly.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "merge/clocks/align.h"
#include "merge/input/rundir.h"
#include "merge/model/comm.h"
#include "merge/model/memory.h"
#include "merge/model/tempfiles.h"
#include "merge/profiles/piped.h"
#include "merge/profiles/readers.h"
#include "merge/timeline/region.h"

/* Zero of the axis where no profile knows a date and several must be put
 * together: any time will do. */
#define NO_DATE ((int64_t)1000000000)

struct kernelonly {
    char dir[PATH_MAX];
    struct piped **kept; /* of each profile what came from a pipe, or NULL */
    struct profile *profiles;
    size_t count;
    const char **stores;
    size_t stores_count;
    bool has_dates;
    bool has_imports;
    bool is_partial;
};

static int remove_one(const char *path,
                      const struct stat *status,
                      int type,
                      struct FTW *at)
{
    (void)status;
    (void)type;
    (void)at;
    return remove(path);
}

void kernelonly_destroy(struct kernelonly *all)
{
    if (all == NULL) {
        return;
    }
    for (size_t i = 0; all->profiles != NULL && i < all->count; i++) {
        profile_fini(&all->profiles[i]);
        piped_destroy(all->kept == NULL ? NULL : all->kept[i]);
    }
    if (all->dir[0] != '\0') {
        (void)nftw(all->dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
        tempfiles_forget(all->dir);
    }
    free((void *)all->kept);
    free(all->profiles);
    free(all->stores);
    free(all);
}

static int dir_make(struct kernelonly *all, struct ck_err *err)
{
    const char *where = getenv("TMPDIR");
    int n = snprintf(all->dir, sizeof(all->dir), "%s/ckmerge-XXXXXX",
                     where == NULL || where[0] == '\0' ? "/tmp" : where);
    bool is_made;
    int saved;

    tempfiles_hold();
    is_made = n < (int)sizeof(all->dir) && mkdtemp(all->dir) != NULL;
    saved = errno;
    if (is_made) {
        tempfiles_add(all->dir);
    }
    tempfiles_release();
    if (!is_made) {
        all->dir[0] = '\0';
        return ck_err_set(err, "cannot make a directory in %s: %s",
                          where == NULL ? "/tmp" : where, strerror(saved));
    }
    return 0;
}

/* The N of --rank FILE=N for this file, -1 = none. */
static int32_t rank_given(const char *path, struct kernelonly_ranks ranks)
{
    size_t length = strlen(path);

    for (size_t i = 0; i < ranks.count; i++) {
        const char *item = ranks.items[i];

        if (strncmp(item, path, length) == 0 && item[length] == '=') {
            return (int32_t)strtol(item + length + 1, NULL, 10);
        }
    }
    return -1;
}

/* Given, in the content, or in the file's name. */
static int rank_find(struct kernelonly *all,
                     struct profile *profile,
                     struct kernelonly_ranks ranks,
                     struct ck_err *err)
{
    int32_t given = rank_given(profile->given, ranks);

    if (given >= 0) {
        profile->facts.rank = given;
    }
    if (profile->facts.rank < 0) {
        profile->facts.rank = profile_name_rank(profile->path);
    }
    if (profile->facts.size > 0 && profile->facts.rank >= profile->facts.size) {
        return ck_err_set(err,
                          "%s: rank %d of a job of %d ranks: choose one "
                          "with --rank %s=N",
                          profile->path, profile->facts.rank,
                          profile->facts.size, profile->path);
    }
    if (profile->facts.rank >= 0) {
        return 0;
    }
    if (all->count == 1) {
        profile->facts.rank = 0;
        profile->is_rank_assumed = true;
        return 0;
    }
    return ck_err_set(err,
                      "%s: neither its content nor its name shows which rank "
                      "it is of: add --rank %s=N",
                      profile->path, profile->path);
}

/* Two profiles of one rank, or of jobs of different sizes. */
static int pair_check(const struct profile *first,
                      const struct profile *second,
                      struct ck_err *err)
{
    if (first->facts.rank == second->facts.rank) {
        return ck_err_set(err,
                          "%s and %s are both of rank %d: leave one out, or "
                          "use --rank FILE=N for each",
                          first->path, second->path, first->facts.rank);
    }
    if (first->facts.size > 0 && second->facts.size > 0 &&
        first->facts.size != second->facts.size) {
        return ck_err_set(err,
                          "%s is of a job of %d ranks, %s of one of %d: "
                          "these are different jobs, merge them one by one",
                          first->path, first->facts.size, second->path,
                          second->facts.size);
    }
    return 0;
}

static int ranks_find(struct kernelonly *all,
                      struct kernelonly_ranks ranks,
                      struct ck_err *err)
{
    for (size_t i = 0; i < all->count; i++) {
        if (all->profiles[i].import == NULL) {
            continue;
        }
        if (rank_find(all, &all->profiles[i], ranks, err) != 0) {
            return -1;
        }
        for (size_t k = 0; k < i; k++) {
            if (all->profiles[k].import != NULL &&
                pair_check(&all->profiles[k], &all->profiles[i], err) != 0) {
                return -1;
            }
        }
    }
    return 0;
}

/* When recordings were made, as far as that is known. */
struct dates {
    bool is_known;      /* of all of them */
    bool has_runs;      /* there are runs of ck among them */
    int64_t runs_start; /* of the runs, ns since 1970 */
    int64_t runs_stop;
    bool is_apart; /* a profile shares no time with these */
    int64_t last_start;
    int64_t first_stop;
};

static void dates_add(struct dates *dates, int64_t start, int64_t stop)
{
    dates->last_start = start > dates->last_start ? start : dates->last_start;
    dates->first_stop = stop < dates->first_stop ? stop : dates->first_stop;
}

/* Look into the runs among the inputs. 0, or -1 with err. */
static int
runs_look(const struct kernelonly *all, struct dates *dates, struct ck_err *err)
{
    struct defs *defs = defs_create();
    struct align *align = align_create();
    struct rundir *store = rundir_create_all(all->stores, all->stores_count,
                                             defs, align_taker(align), err);
    struct report report = {0};
    int rc = store == NULL ? -1 : 0;

    if (store != NULL) {
        int64_t zero;

        defs_close(defs);
        comm_close(defs);
        align_close(align, defs);
        align_settle(align, NULL);
        zero = align_realtime(align);
        dates->has_runs = true;
        dates->is_known = dates->is_known && zero != 0;
        if (region_find(defs, align_axis(align), &report) == 0) {
            dates->runs_start = zero + report.whole.start;
            dates->runs_stop = zero + report.whole.end;
        }
    }
    rundir_destroy(store);
    align_destroy(align);
    defs_destroy(defs);
    return rc;
}

static void profiles_look(const struct kernelonly *all, struct dates *dates)
{
    for (size_t i = 0; i < all->count; i++) {
        const struct import_facts *facts = &all->profiles[i].facts;

        if (all->profiles[i].import != NULL) {
            dates->is_known = dates->is_known && facts->has_epoch;
            dates->is_apart = dates->is_apart ||
                              facts->epoch + facts->start > dates->runs_stop ||
                              facts->epoch + facts->stop < dates->runs_start;
            dates_add(dates, facts->epoch + facts->start,
                      facts->epoch + facts->stop);
        }
    }
}

/* Date of the zero of a profile's clock. */
static int64_t realtime_of(const struct kernelonly *all,
                           const struct import_facts *facts,
                           const struct dates *dates)
{
    if (all->has_dates || all->count == 1) {
        return facts->epoch;
    }
    return (dates->has_runs ? dates->runs_start : NO_DATE) - facts->start;
}

static int all_finish(struct kernelonly *all, struct ck_err *err)
{
    struct dates dates = {
        .is_known = true, .last_start = INT64_MIN, .first_stop = INT64_MAX};

    if (all->stores_count > 0 && runs_look(all, &dates, err) != 0) {
        return -1;
    }
    profiles_look(all, &dates);
    all->has_dates = dates.is_known &&
                     (dates.has_runs ? !dates.is_apart
                                     : dates.last_start < dates.first_stop);
    for (size_t i = 0; i < all->count; i++) {
        struct profile *profile = &all->profiles[i];
        int64_t realtime;

        if (profile->import == NULL) {
            continue;
        }
        all->is_partial =
            import_complaint(profile->import, 0, profile->complaint,
                             sizeof(profile->complaint)) ||
            all->is_partial;
        realtime = realtime_of(all, &profile->facts, &dates);
        if (import_finish(profile->import, &profile->facts,
                          all->count > 1 || profile->facts.has_epoch ? &realtime
                                                                     : NULL,
                          err) != 0) {
            return -1;
        }
        all->has_imports = true;
    }
    if (all->has_imports) {
        all->stores[all->stores_count++] = all->dir;
    }
    return 0;
}

static int inputs_read(struct kernelonly *all,
                       const char *const *paths,
                       struct ck_err *err)
{
    for (size_t i = 0; i < all->count; i++) {
        struct profile *profile = &all->profiles[i];

        profile->given = profile->path = profile->file = paths[i];
        if (piped_is(paths[i])) {
            all->kept[i] = piped_keep(paths[i], err);
            if (all->kept[i] == NULL) {
                return -1;
            }
            profile->path = piped_name(paths[i]);
            profile->file = piped_file(all->kept[i]);
        }
        profile->kind = profile_kind_of(profile->file, profile->path, err);
        if (profile->kind == PROFILE_UNKNOWN) {
            return -1;
        }
        if (profile->kind == PROFILE_SCALENE) {
            return ck_err_set(err,
                              "%s is a profile of scalene: pass it with "
                              "--scalene %s",
                              paths[i], paths[i]);
        }
        if (profile->kind == PROFILE_RUN || profile->kind == PROFILE_SEGMENT) {
            all->stores[all->stores_count++] = profile->file;
        }
    }
    return readers_run(all->profiles, all->count, all->dir, err);
}

struct kernelonly *kernelonly_create(const char *const *paths,
                                     size_t count,
                                     struct kernelonly_ranks ranks,
                                     struct ck_err *err)
{
    struct kernelonly *all = xcalloc(1, sizeof(*all));

    all->count = count;
    all->profiles = xcalloc(count + 1, sizeof(*all->profiles));
    all->stores = xcalloc(count + 1, sizeof(*all->stores));
    all->kept = xcalloc(count + 1, sizeof(struct piped *));
    if (dir_make(all, err) != 0 || inputs_read(all, paths, err) != 0 ||
        ranks_find(all, ranks, err) != 0 || all_finish(all, err) != 0) {
        kernelonly_destroy(all);
        return NULL;
    }
    return all;
}

const char *const *kernelonly_stores(const struct kernelonly *all,
                                     size_t *count)
{
    *count = all->stores_count;
    return all->stores;
}

const struct profile *kernelonly_profiles(const struct kernelonly *all,
                                          size_t *count)
{
    *count = all->count;
    return all->profiles;
}

bool kernelonly_has_dates(const struct kernelonly *all)
{
    return all->has_dates;
}

bool kernelonly_is_partial(const struct kernelonly *all)
{
    return all->is_partial;
}

void kernelonly_report(const struct kernelonly *all, struct report *report)
{
    report->inputs = xcalloc(all->count + 1, sizeof(*report->inputs));
    report->inputs_count = all->count;
    report->has_dates = all->has_dates;
    for (size_t i = 0; i < all->count; i++) {
        const struct profile *profile = &all->profiles[i];
        const struct import_facts *facts = &profile->facts;

        report->inputs[i] = (struct report_input){
            .path = profile->path,
            .kind = profile_name(profile->kind),
            .rank = profile->import != NULL ? facts->rank : -1,
            .is_rank_assumed = profile->is_rank_assumed,
            .complaint =
                profile->complaint[0] != '\0' ? profile->complaint : NULL,
            .wall = facts->stop - facts->start,
            .operations = facts->operations,
            .by_id = facts->by_id,
            .by_order = facts->by_order,
            .unused = facts->unused,
            .device_clock = facts->device_clock,
            .executed = facts->groups,
            .submits = facts->submits,
            .submit = facts->submit,
        };
    }
}

int kernelonly_check(const struct defs *defs, struct ck_err *err)
{
    for (size_t i = 0; i < defs->ranks_count; i++) {
        if (defs->ranks[i].is_claimed_twice) {
            return ck_err_set(err,
                              "rank %d is there twice: leave one of its "
                              "inputs out",
                              defs->ranks[i].number);
        }
    }
    return 0;
}
