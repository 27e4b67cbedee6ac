/* writers.c - outputs that are written while the run is merged
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/writers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "launch/format.h"
#include "launch/log.h"
#include "merge/baseline.h"
#include "merge/htmlpage.h"
#include "merge/messages/waitkind.h"
#include "merge/model/defs.h"
#include "merge/model/memory.h"
#include "merge/output/stacks/firefox.h"
#include "merge/output/stacks/flamescope.h"
#include "merge/output/stacks/folded.h"
#include "merge/output/stacks/foldeddiff.h"
#include "merge/output/stacks/speedscope.h"
#include "merge/overwrite.h"
#include "merge/timeline/follower.h"

/* How the output of that format is asked for, NULL = not at all; *file as
 * ck_format_parse() gives it. */
static const char *
asked(const struct options *options, enum ck_format format, const char **file)
{
    const char *item = NULL, *behind;
    struct ck_err unused;

    *file = NULL;
    for (int i = 0; i < options->outputs.count; i++) {
        if (ck_format_parse(options->outputs.items[i], &behind, &unused) ==
            (int)format) {
            item = options->outputs.items[i];
            *file = behind;
        }
    }
    return item;
}

/* A default name in the run follows no link: the run may have come
 * from another user. */
static int own_check(const char *path, const char *format, struct ck_err *err)
{
    struct stat status;

    if (lstat(path, &status) != 0 || S_ISREG(status.st_mode)) {
        return 0;
    }
    return ck_err_set(err,
                      "%s is no plain file, and is not written to: remove it, "
                      "or give a name (--output %s=FILE)",
                      path, format);
}

/* The path of the output, "" = it is not asked for. 0, or -1 with err. */
static int path_find(const struct options *options,
                     enum ck_format format,
                     char path[PATH_MAX],
                     struct ck_err *err)
{
    const char *file;
    const char *item = asked(options, format, &file);
    int n;

    path[0] = '\0';
    if (item == NULL) {
        return 0;
    }
    n = file != NULL ? snprintf(path, PATH_MAX, "%s", file)
                     : snprintf(path, PATH_MAX, "%s%s%s", options->run,
                                options->is_kernel_only ? "." : "/",
                                ck_format_own(format));
    if (n >= PATH_MAX) {
        return ck_err_set(err, "%s: the path is too long", item);
    }
    return file == NULL ? own_check(path, item, err) : 0;
}

int writers_where(struct writers *writers, struct ck_err *err)
{
    const struct options *options = writers->options;
    const struct {
        enum ck_format format;
        char *path;
    } files[] = {
        {CK_FORMAT_CHROME, writers->chrome_path},
        {CK_FORMAT_SQLITE, writers->sqlite_path},
        {CK_FORMAT_PERFETTO, writers->perfetto_path},
        {CK_FORMAT_FOLDED, writers->folded_path},
        {CK_FORMAT_FOLDED_WAITS, writers->waits_path},
        {CK_FORMAT_FOLDED_MEMORY, writers->memory_path},
        {CK_FORMAT_FOLDED_DEVICE, writers->device_path},
        {CK_FORMAT_FOLDED_DIFF, writers->diff_path},
        {CK_FORMAT_SPEEDSCOPE, writers->speedscope_path},
        {CK_FORMAT_FLAMESCOPE, writers->flamescope_path},
        {CK_FORMAT_FIREFOX, writers->firefox_path},
    };
    const char *paths[sizeof(files) / sizeof(files[0])];

    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        if (path_find(options, files[i].format, files[i].path, err) != 0) {
            return -1;
        }
        paths[i] = files[i].path;
    }
    if (overwrite_check(options, paths, sizeof(paths) / sizeof(paths[0]),
                        err) != 0) {
        return -1;
    }
    if (writers->diff_path[0] != '\0' && options->baseline == NULL) {
        return ck_err_set(err, "folded-diff needs --baseline RUN, the run to "
                               "compare with");
    }
    return 0;
}

bool writers_has(int format)
{
    return format != CK_FORMAT_HTML && ck_format_own(format) != NULL;
}

/* Are samples asked for one by one? */
static bool has_moments(const struct writers *writers)
{
    return writers->flamescope_path[0] != '\0' ||
           writers->firefox_path[0] != '\0';
}

/* Are stacks asked for as a file, or put beside those of another run? */
static bool has_stacks(const struct writers *writers)
{
    return writers->folded_path[0] != '\0' || writers->before.text != NULL ||
           writers->speedscope_path[0] != '\0' || has_moments(writers);
}

/* Is there to be an HTML page? */
static bool has_page(const struct options *options)
{
    const char *file;

    return !options->is_verify &&
           (options->has_page || asked(options, CK_FORMAT_HTML, &file) != NULL);
}

/* The rank that a thread is of. */
static int32_t rank_of(const struct writers *writers, uint32_t thread)
{
    const struct defs *defs = writers->defs;

    return thread == DEFS_NONE
               ? DEFS_RANK_UNKNOWN
               : defs->processes[defs->threads[thread].process].rank;
}

/* Where a note is filled for f(writers, note) in its turn: with no thread for
 * it `own`, which the caller shows at once. */
static void *
note_begin(struct writers *writers, follower_note_f f, void *own, size_t bytes)
{
    return writers->follower == NULL
               ? own
               : follower_note(writers->follower, f, writers, bytes);
}

static void
note_end(struct writers *writers, follower_note_f f, const void *own)
{
    if (writers->follower == NULL) {
        f(writers, own);
    }
}

/* A wait, as it is shown. */
struct wait_note {
    struct shown_wait shown;
    uint32_t whom; /* thread; DEFS_NONE = the clocks cannot show it */
};

static void wait_draw(const struct writers *writers,
                      const struct wait_note *note)
{
    const struct chrome_wait wait = {
        .thread = note->shown.thread,
        .whom = note->whom,
        .part = note->shown.part,
        .kind = note->shown.kind,
        .error = note->shown.error,
    };

    chrome_wait(writers->chrome, &wait);
}

static void wait_show(void *state, const void *noted)
{
    const struct writers *writers = state;
    const struct wait_note *note = noted;

    if (writers->lanes != NULL) {
        lanes_wait(writers->lanes, &note->shown);
    }
    if (writers->sqlite != NULL) {
        sqlite_wait(writers->sqlite, &note->shown);
    }
    if (writers->perfetto != NULL) {
        perfetto_wait(writers->perfetto, &note->shown);
    }
    if (writers->chrome != NULL && !writers->is_held) {
        wait_draw(writers, note);
    }
}

static void wait_take(void *state, const struct waitstates_seen *seen)
{
    struct writers *writers = state;
    struct wait_note own;
    struct wait_note *note = note_begin(writers, wait_show, &own, sizeof(own));

    note->shown.thread = seen->thread;
    note->shown.rank = rank_of(writers, seen->thread);
    note->shown.part.start = seen->part.start;
    note->shown.part.end = seen->part.end;
    note->shown.kind = wait_kind_name(seen->wait->kind);
    note->shown.whom = seen->is_below ? DEFS_RANK_UNKNOWN
                                      : rank_of(writers, seen->wait->thread);
    note->shown.error = seen->wait->error;
    note->whom = seen->is_below ? DEFS_NONE : seen->wait->thread;
    note_end(writers, wait_show, &own);
}

/* What the report keeps such causes of idle time apart by: of a wait its call,
 * else the range. */
static uint64_t did_find(const struct writers *writers,
                         const struct ledger_row *row)
{
    const struct report_activity did =
        lookback_activity_report(writers->lookback, row->did);
    uint64_t call = (uintptr_t)did.call, file = (uintptr_t)did.place.file;

    return row->cause == CAUSE_MPI_WAIT ? call * 31 + file + did.place.line + 1
                                        : (uintptr_t)did.range + 1;
}

/* The same, remembered by activity: one is of waits or it is not. */
static uint64_t did_of(struct writers *writers, const struct ledger_row *row)
{
    uint64_t *did;

    if (row->did == DEFS_NONE) {
        return 0;
    }
    if (row->did >= writers->dids_count) {
        size_t count = 2 * ((size_t)row->did + 1);

        writers->dids = xrealloc(writers->dids, count * sizeof(*writers->dids));
        memset(writers->dids + writers->dids_count, 0,
               (count - writers->dids_count) * sizeof(*writers->dids));
        writers->dids_count = count;
    }
    did = &writers->dids[row->did];
    *did = *did != 0 ? *did : did_find(writers, row);
    return *did;
}

/* A piece of idle time with its row of the ledger, in few bytes: there are as
 * many as events. */
struct idle_note {
    struct region part;
    uint64_t is_example_of; /* did_of() */
    uint32_t device;
    int32_t rank;
    int32_t blamed;
    int32_t last;
    uint32_t did;
    uint32_t blamed_did;
    uint8_t cause;
    uint8_t wait;
    bool is_start;
};

static_assert(CAUSE_KINDS <= UINT8_MAX && WAIT_KINDS <= UINT8_MAX,
              "they have room");

/* What it is an example of. */
static struct lanes_gap gap_of(const struct idle_note *note)
{
    bool is_dep =
        note->cause == CAUSE_DEP_REMOTE || note->cause == CAUSE_DEP_EVENT;
    const struct closeup_of why = {
        .cause = note->cause,
        .wait = is_dep ? note->device : note->wait,
        .rank = note->cause == CAUSE_MPI_WAIT ? DEFS_RANK_UNKNOWN : note->rank,
        .blamed = note->blamed,
        .did = note->is_example_of,
        .is_start = note->is_start};

    return (struct lanes_gap){note->device, note->rank, note->part, why,
                              note->last};
}

static void idle_show(void *state, const void *noted)
{
    const struct writers *writers = state;
    const struct idle_note *note = noted;
    enum cause cause = (enum cause)note->cause;
    const struct lanes_gap gap = gap_of(note);
    const struct flames_gap flame = {cause,      (enum wait_kind)note->wait,
                                     note->rank, note->blamed,
                                     note->did,  note->blamed_did};
    const struct sqlite_idle idle = {note->device, note->part,
                                     cause,        note->rank,
                                     note->blamed, note->is_start};

    if (writers->lanes != NULL) {
        lanes_idle(writers->lanes, &gap);
    }
    if (writers->flames != NULL) {
        flames_idle(writers->flames, &flame, note->part);
    }
    if (writers->chrome != NULL && !writers->is_held) {
        chrome_idle(writers->chrome, note->device, note->part, cause);
    }
    if (writers->perfetto != NULL) {
        perfetto_idle(writers->perfetto, note->device, note->part, cause);
    }
    if (writers->sqlite != NULL) {
        sqlite_idle(writers->sqlite, &idle);
    }
}

static void
idle_take(void *state, const struct ledger_row *row, struct region part)
{
    struct writers *writers = state;
    uint64_t did = did_of(writers, row);
    struct idle_note own;
    struct idle_note *note = note_begin(writers, idle_show, &own, sizeof(own));

    note->part.start = part.start;
    note->part.end = part.end;
    note->is_example_of = did;
    note->device = row->device;
    note->rank = row->rank;
    note->blamed = row->blamed;
    note->last = row->last;
    note->did = row->did;
    note->blamed_did = row->blamed_did;
    note->cause = (uint8_t)row->cause;
    note->wait = (uint8_t)row->wait;
    note->is_start = row->is_start;
    note_end(writers, idle_show, &own);
}

static void site_show(void *state, const void *noted)
{
    const struct writers *writers = state;
    const uint64_t *site = noted;

    flames_site(writers->flames, *site);
}

/* Where a copy was launched, which only those know who are at its time. */
static int site_take(void *state, const struct timeline_event *event)
{
    struct writers *writers = state;
    uint64_t own;
    uint64_t *site = note_begin(writers, site_show, &own, sizeof(own));

    (void)event;
    *site = copyplaces_site(writers->copies);
    note_end(writers, site_show, &own);
    return 0;
}

/* What of the run they are about. */
static struct region part_of(const struct report *report)
{
    return report->region_kind == REPORT_REGION_GIVEN ||
                   report->region_kind == REPORT_REGION_RANGE
               ? report->region
               : report->whole;
}

/* Is there to be a timeline, in an HTML page or as a picture? */
static bool has_lanes(const struct options *options)
{
    const char *file;

    return has_page(options) ||
           (!options->is_verify &&
            asked(options, CK_FORMAT_SVG_TIMELINE, &file) != NULL);
}

/* Flame graphs? */
static bool has_flames(const struct options *options)
{
    const char *file;

    return has_page(options) ||
           (!options->is_verify &&
            asked(options, CK_FORMAT_SVG_FLAME, &file) != NULL);
}

static int files_open(struct writers *writers, struct ck_err *err)
{
    struct region part = part_of(writers->report);

    if (writers->chrome_path[0] != '\0') {
        writers->chrome = chrome_create(writers->chrome_path, writers->defs,
                                        writers->align, part, err);
        if (writers->chrome == NULL) {
            return -1;
        }
    }
    if (writers->perfetto_path[0] != '\0') {
        const struct perfetto_of of = {writers->defs, writers->align, part,
                                       writers->report->whole.start};

        writers->perfetto = perfetto_create(writers->perfetto_path, &of, err);
        if (writers->perfetto == NULL) {
            return -1;
        }
    }
    if (writers->sqlite_path[0] != '\0') {
        writers->sqlite =
            sqlite_create(writers->sqlite_path, writers->defs, part,
                          writers->report->whole.start, err);
        if (writers->sqlite == NULL) {
            return -1;
        }
    }
    if (has_stacks(writers)) {
        writers->stacks = stacktable_create(writers->defs, part);
        if (has_moments(writers)) {
            stacktable_keep(writers->stacks);
        }
    }
    if (writers->waits_path[0] != '\0') {
        writers->waits = stacktable_create(writers->defs, part);
        stacktable_of_waits(writers->waits);
    }
    if (writers->memory_path[0] != '\0') {
        writers->memory = stacktable_create(writers->defs, part);
    }
    return 0;
}

/* What is drawn in the page. */
static void page_open(struct writers *writers, struct analysis *analysis)
{
    const struct options *options = writers->options;

    writers->lookback = analysis_scene(analysis);
    if (has_lanes(options)) {
        writers->lanes =
            lanes_create(writers->defs, part_of(writers->report),
                         htmlpage_items((size_t)options->page_bytes));
    }
    if (has_flames(options)) {
        const struct flames_of of = {.defs = writers->defs,
                                     .lookback = analysis_scene(analysis),
                                     .lines = writers->lines,
                                     .region = writers->report->region,
                                     .realtime =
                                         align_realtime(writers->align)};

        writers->flames = flames_create(&of);
    }
}

/* Without the stacks of the run to compare with there is no file of both; a
 * picture has other parts. 0, or -1 with err. */
static int diff_lack(const struct writers *writers, const struct ck_err *why)
{
    if (writers->diff_path[0] != '\0') {
        return -1;
    }
    ck_warn("the flame graph does not show what changed: %s", why->text);
    return 0;
}

/* The stacks of the run to compare with. 0, or -1 with err. */
static int before_open(struct writers *writers, struct ck_err *err)
{
    const struct options *options = writers->options;
    const char *file;
    bool is_drawn = options->baseline != NULL && !options->is_verify &&
                    asked(options, CK_FORMAT_SVG_FLAME, &file) != NULL;

    return (!is_drawn && writers->diff_path[0] == '\0') ||
                   baseline_stacks_read(&writers->before, options->baseline,
                                        err) == 0
               ? 0
               : diff_lack(writers, err);
}

int writers_open(struct writers *writers,
                 struct analysis *analysis,
                 struct ck_err *err)
{
    page_open(writers, analysis);
    if (before_open(writers, err) != 0 || files_open(writers, err) != 0) {
        return -1;
    }
    if (writers->lanes != NULL || writers->flames != NULL ||
        writers->sqlite != NULL || writers->perfetto != NULL ||
        writers->chrome != NULL) {
        analysis_see_idle(analysis, idle_take, writers);
        analysis_see(analysis, wait_take, writers);
    }
    return 0;
}

size_t writers_consumers(struct writers *writers,
                         struct timeline_consumer *consumers,
                         size_t count)
{
    const uint32_t samples = (uint32_t)1 << CK_CLASS_SAMPLE;
    const struct timeline_consumer all[] = {
        {lanes_take, writers->lanes, 0, true},
        {flames_take, writers->flames, FLAMES_CLASSES, true},
        {sqlite_take, writers->sqlite, 0, true},
        {perfetto_take, writers->perfetto, 0, true},
        {stacktable_take, writers->stacks, samples, true},
        {stacktable_take, writers->waits, samples, true},
    };

    if (writers->flames != NULL) {
        consumers[count++] = (struct timeline_consumer){
            site_take, writers, (uint32_t)1 << CK_CLASS_COPY, false};
    }
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (all[i].consumer != NULL) {
            consumers[count++] = all[i];
        }
    }
    if (writers->memory != NULL) {
        consumers[count++] =
            (struct timeline_consumer){stacktable_take_memory, writers->memory,
                                       (uint32_t)1 << CK_CLASS_STACKED, false};
    }
    return writers->is_held ? count : writers_across(writers, consumers, count);
}

size_t writers_across(const struct writers *writers,
                      struct timeline_consumer *consumers,
                      size_t count)
{
    if (writers->chrome != NULL) {
        consumers[count++] =
            (struct timeline_consumer){chrome_take, writers->chrome, 0, true};
    }
    return count;
}

void writers_failed(const struct writers *writers, struct ck_err *err)
{
    if (writers->chrome != NULL) {
        chrome_failed(writers->chrome, err);
    }
    if (writers->sqlite != NULL) {
        sqlite_failed(writers->sqlite, err);
    }
    if (writers->perfetto != NULL) {
        perfetto_failed(writers->perfetto, err);
    }
}

/* Samples one by one. */
static int moments_finish(const struct writers *writers, struct ck_err *err)
{
    int64_t realtime = align_realtime(writers->align);
    const struct firefox about = {writers->report->name,
                                  writers->report->version, realtime};

    if (writers->flamescope_path[0] != '\0' &&
        flamescope_write(writers->stacks, realtime, writers->flamescope_path,
                         err) != 0) {
        return -1;
    }
    return writers->firefox_path[0] == '\0'
               ? 0
               : firefox_write(writers->stacks, &about, writers->firefox_path,
                               err);
}

/* Stacks of waits. */
static int waits_finish(const struct writers *writers, struct ck_err *err)
{
    if (writers->waits == NULL) {
        return 0;
    }
    stacktable_resolve(writers->waits);
    return folded_write(writers->waits, FOLDED_MICROSECONDS,
                        writers->waits_path, err);
}

/* Stacks of launches and of allocations. */
static int asked_finish(const struct writers *writers, struct ck_err *err)
{
    if (writers->device_path[0] != '\0' &&
        folded_launches(&writers->report->launch_stacks, writers->device_path,
                        err) != 0) {
        return -1;
    }
    if (writers->memory == NULL) {
        return 0;
    }
    stacktable_resolve(writers->memory);
    return folded_write(writers->memory, FOLDED_WEIGHTS, writers->memory_path,
                        err);
}

/* Beside those of another run. */
static int diff_finish(struct writers *writers, struct ck_err *err)
{
    const struct foldeddiff_before before = {.path = writers->before.file,
                                             .text = writers->before.text,
                                             .length = writers->before.length};

    if (before.text == NULL) {
        return 0;
    }
    if (foldeddiff_make(&writers->diff, writers->stacks, &before, err) != 0) {
        return diff_lack(writers, err);
    }
    return writers->diff_path[0] == '\0'
               ? 0
               : foldeddiff_write(&writers->diff, writers->diff_path, err);
}

static int stacks_finish(struct writers *writers, struct ck_err *err)
{
    const struct speedscope about = {writers->report->name,
                                     writers->report->version};

    if (writers->stacks == NULL) {
        return 0;
    }
    stacktable_resolve(writers->stacks);
    if (writers->folded_path[0] != '\0' &&
        folded_write(writers->stacks, FOLDED_SAMPLES, writers->folded_path,
                     err) != 0) {
        return -1;
    }
    if (writers->speedscope_path[0] != '\0' &&
        speedscope_write(writers->stacks, &about, writers->speedscope_path,
                         err) != 0) {
        return -1;
    }
    if (diff_finish(writers, err) != 0) {
        return -1;
    }
    return moments_finish(writers, err);
}

int writers_finish(struct writers *writers, struct ck_err *err)
{
    if (stacks_finish(writers, err) != 0 || waits_finish(writers, err) != 0 ||
        asked_finish(writers, err) != 0) {
        return -1;
    }
    if (writers->lanes != NULL) {
        lanes_finish(writers->lanes);
    }
    if (writers->flames != NULL) {
        flames_finish(writers->flames);
    }
    if (writers->chrome != NULL &&
        chrome_finish(writers->chrome, writers->report, err) != 0) {
        return -1;
    }
    if (writers->perfetto != NULL &&
        perfetto_finish(writers->perfetto, writers->report, err) != 0) {
        return -1;
    }
    return writers->sqlite == NULL
               ? 0
               : sqlite_finish(writers->sqlite, writers->report, err);
}

void writers_say(const struct writers *writers)
{
    if (writers->options->is_quiet) {
        return;
    }
    if (writers->chrome != NULL) {
        ck_info("the trace is in %s: open it at https://ui.perfetto.dev",
                writers->chrome_path);
    }
    if (writers->perfetto != NULL) {
        ck_info("the trace is in %s: open it at https://ui.perfetto.dev",
                writers->perfetto_path);
    }
    if (writers->sqlite != NULL) {
        ck_info("the database is in %s: sqlite3 %s 'SELECT * FROM v_why'",
                writers->sqlite_path, writers->sqlite_path);
    }
    if (writers->folded_path[0] != '\0') {
        ck_info("the stacks are in %s, a line each, for flamegraph.pl",
                writers->folded_path);
    }
    if (writers->diff_path[0] != '\0') {
        ck_info("the stacks of both runs are in %s, a line each with two "
                "counts, for flamegraph.pl",
                writers->diff_path);
    }
    if (writers->waits_path[0] != '\0') {
        ck_info("the stacks of waits are in %s, a line each with microseconds, "
                "for flamegraph.pl",
                writers->waits_path);
    }
    if (writers->device_path[0] != '\0') {
        ck_info("device work by the stack that launched it is in %s, a line "
                "each with microseconds, for flamegraph.pl",
                writers->device_path);
    }
    if (writers->memory_path[0] != '\0') {
        ck_info("the stacks that asked for memory are in %s, a line each with "
                "bytes, for flamegraph.pl",
                writers->memory_path);
    }
    if (writers->speedscope_path[0] != '\0') {
        ck_info("the stacks are in %s: open it at https://www.speedscope.app",
                writers->speedscope_path);
    }
    if (writers->flamescope_path[0] != '\0') {
        ck_info("the samples are in %s, as perf script prints them, for "
                "FlameScope",
                writers->flamescope_path);
    }
    if (writers->firefox_path[0] != '\0') {
        ck_info("the samples are in %s: open it at "
                "https://profiler.firefox.com",
                writers->firefox_path);
    }
    if (writers->stacks != NULL &&
        stacktable_moments_left(writers->stacks) > 0) {
        ck_warn("%" PRIu64 " later samples are left out: more than %zu (--from "
                "and --to select a part)",
                stacktable_moments_left(writers->stacks), STACKTABLE_MOMENTS);
    }
}

void writers_fini(struct writers *writers)
{
    chrome_destroy(writers->chrome);
    perfetto_destroy(writers->perfetto);
    sqlite_destroy(writers->sqlite);
    lanes_destroy(writers->lanes);
    free(writers->dids);
    flames_destroy(writers->flames);
    stacktable_destroy(writers->stacks);
    stacktable_destroy(writers->waits);
    stacktable_destroy(writers->memory);
    baseline_stacks_fini(&writers->before);
    foldeddiff_fini(&writers->diff);
}
