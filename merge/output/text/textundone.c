/* textundone.c - device work that never ended, and what failed
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/text/page.h"

/* Rows of each before the rest is only counted. */
#define ROWS_SHOWN 5
/* Columns of a kernel's or a function's name. */
#define NAME 34
/* While the job runs, some work is always in flight: only work that has been
 * for this long is worth a line. */
#define LONG_IN_FLIGHT (30 * CK_TIME_S)

/* "kernel spin (a.c:12)", or what is known of it. */
static void put_work(const struct page *page,
                     const char *name,
                     const struct place *place,
                     const char *verb)
{
    page_cell(page, name == NULL ? "(no name)" : name, NAME);
    if (page_has_place(place)) {
        fprintf(page->file, " (%s", verb);
        page_place(page, place);
        fputc(')', page->file);
    }
}

/* "; waited for a user event (made at a.c:3) that was never set". */
static void put_awaited(const struct page *page,
                        const struct report_undone *undone)
{
    FILE *file = page->file;

    fputs(";\n   it waited for ", file);
    if (undone->awaited != NULL) {
        put_work(page, undone->awaited, &undone->awaited_place, "launched by ");
        fputs(", which had not ended either", file);
        return;
    }
    fputs("a user event", file);
    if (page_has_place(&undone->awaited_place)) {
        fputs(" (made by ", file);
        page_place(page, &undone->awaited_place);
        fputc(')', file);
    }
    fputs(" that was never set", file);
}

static void put_undone(const struct page *page,
                       const struct report_undone *undone)
{
    const struct report *report = page->report;
    FILE *file = page->file;
    uint64_t others = undone->count - 1;

    fprintf(file, " %s%s%s: ", page_red(page),
            report->is_running ? "had not ended" : "never ended",
            page_normal(page));
    put_work(page, undone->name, &undone->place, "launched by ");
    fprintf(file, " at %s",
            word_time(undone->since - report->whole.start).text);
    if (report->has_ranks) {
        fprintf(file, ", %s", page_who(page, undone->rank).text);
    }
    fputs(",\n   on ", file);
    (void)page_device(page, undone->device, undone->device_number, 50);
    if (others > 0) {
        fprintf(file, "; %s more command%s %s queued behind it",
                word_count(others).text, word_s(others),
                others == 1 ? "was" : "were");
    }
    if (undone->is_waiting) {
        put_awaited(page, undone);
    }
    fputs(".\n", file);
}

/* Is work that has not ended worth a line? */
static bool is_shown(const struct report *report,
                     const struct report_undone *undone)
{
    return !report->is_running ||
           report->whole.end - undone->since >= LONG_IN_FLIGHT;
}

void page_undone(const struct page *page)
{
    const struct report *report = page->report;
    size_t count = 0;

    for (size_t i = 0; i < report->undone_count; i++) {
        if (is_shown(report, &report->undone[i]) && count++ < ROWS_SHOWN) {
            put_undone(page, &report->undone[i]);
        }
    }
    if (count > ROWS_SHOWN) {
        fprintf(page->file, " and work in %zu more queues (report.json)\n",
                count - ROWS_SHOWN);
    }
}

/* For the answer: the share of time with work that never ended, which is
 * neither busy nor known to be idle. */
void page_undone_answer(const struct page *page)
{
    const struct report_device *all = &page->report->all;
    ck_time_t undone = all->causes[CAUSE_UNFINISHED];

    if (undone > 0) {
        fprintf(page->file,
                " For %s %% (%s) they had work that %s, and may have "
                "been busy with it.\n",
                word_percent(undone, all->wall).text, word_time(undone).text,
                page->report->is_running ? "had not ended yet" : "never ended");
    }
}

/* What OpenCL calls its errors; those that programs meet. */
static const struct {
    int32_t error;
    const char *name;
} errors[] = {
    {-1, "CL_DEVICE_NOT_FOUND"},
    {-3, "CL_COMPILER_NOT_AVAILABLE"},
    {-4, "CL_MEM_OBJECT_ALLOCATION_FAILURE"},
    {-5, "CL_OUT_OF_RESOURCES"},
    {-6, "CL_OUT_OF_HOST_MEMORY"},
    {-7, "CL_PROFILING_INFO_NOT_AVAILABLE"},
    {-8, "CL_MEM_COPY_OVERLAP"},
    {-11, "CL_BUILD_PROGRAM_FAILURE"},
    {-12, "CL_MAP_FAILURE"},
    {-13, "CL_MISALIGNED_SUB_BUFFER_OFFSET"},
    {-14, "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST"},
    {-15, "CL_COMPILE_PROGRAM_FAILURE"},
    {-17, "CL_LINK_PROGRAM_FAILURE"},
    {-30, "CL_INVALID_VALUE"},
    {-33, "CL_INVALID_DEVICE"},
    {-34, "CL_INVALID_CONTEXT"},
    {-36, "CL_INVALID_COMMAND_QUEUE"},
    {-38, "CL_INVALID_MEM_OBJECT"},
    {-42, "CL_INVALID_BINARY"},
    {-43, "CL_INVALID_BUILD_OPTIONS"},
    {-44, "CL_INVALID_PROGRAM"},
    {-45, "CL_INVALID_PROGRAM_EXECUTABLE"},
    {-46, "CL_INVALID_KERNEL_NAME"},
    {-48, "CL_INVALID_KERNEL"},
    {-52, "CL_INVALID_KERNEL_ARGS"},
    {-53, "CL_INVALID_WORK_DIMENSION"},
    {-54, "CL_INVALID_WORK_GROUP_SIZE"},
    {-55, "CL_INVALID_WORK_ITEM_SIZE"},
    {-56, "CL_INVALID_GLOBAL_OFFSET"},
    {-57, "CL_INVALID_EVENT_WAIT_LIST"},
    {-58, "CL_INVALID_EVENT"},
    {-59, "CL_INVALID_OPERATION"},
    {-61, "CL_INVALID_BUFFER_SIZE"},
    {-63, "CL_INVALID_GLOBAL_WORK_SIZE"},
};

static const char *error_name(int32_t error)
{
    for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
        if (errors[i].error == error) {
            return errors[i].name;
        }
    }
    return NULL;
}

/* A kernel's status and a refused call's answer have the same numbers, but
 * drivers end a kernel with -1 as well. */
static void put_error(const struct page *page,
                      const struct report_failure *failure)
{
    const char *name = error_name(failure->error);

    if (failure->error == 0) {
        return;
    }
    if (name == NULL || (!failure->is_call && failure->error == -1)) {
        fprintf(page->file, ", error %d", failure->error);
    } else {
        fprintf(page->file, ",\n   error %d (%s)", failure->error, name);
    }
}

void page_failures(const struct page *page)
{
    const struct report *report = page->report;
    FILE *file = page->file;

    for (size_t i = 0; i < report->failures_count && i < ROWS_SHOWN; i++) {
        const struct report_failure *failure = &report->failures[i];

        fprintf(file, " %sfailed%s: %s time%s ", page_red(page),
                page_normal(page), word_count(failure->count).text,
                word_s(failure->count));
        put_work(page, failure->name, &failure->place,
                 failure->is_call ? "" : "launched by ");
        put_error(page, failure);
        fputs(".\n", file);
    }
    if (report->failures_count > ROWS_SHOWN) {
        fprintf(file, " and %zu more kinds of failures (report.json)\n",
                report->failures_count - ROWS_SHOWN);
    }
}
