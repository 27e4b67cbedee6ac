/* page.h - what the parts of the text report share
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_OUTPUT_TEXT_PAGE_H
#define CK_MERGE_OUTPUT_TEXT_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "merge/output/text/textstyle.h"
#include "merge/output/words.h"
#include "merge/report/report.h"

#define PAGE_COLUMNS 100
/* More rows than that and only the extremes are shown. */
#define PAGE_ROWS 16

/* Advice that the report has given: static texts. */
#define PAGE_ADVICE_MAX 32
struct page_given {
    const char *texts[PAGE_ADVICE_MAX];
    size_t count;
};

struct page {
    const struct report *report;
    const struct text_style *style;
    FILE *file;
    struct page_given *given; /* borrowed; NULL = nothing is remembered */
};

/* Columns that a line may have. */
int page_columns(const struct page *page);
/* Static texts: a separator, and colours ("" where there are none). */
const char *page_dot(const struct page *page);
const char *page_bold(const struct page *page);
const char *page_red(const struct page *page);
const char *page_normal(const struct page *page);

/* "rank 3", "no rank"; "the program" where there are no ranks. */
struct word page_who(const struct page *page, int32_t rank);
/* The name of a device, with its number where others have the same; at most so
 * many columns, 0 = all. Returns the columns written. */
int page_device(const struct page *page,
                const char *name,
                int32_t number,
                size_t columns);
/* A text of the program in so many columns (0 = all), escaped. */
void page_cell(const struct page *page, const char *text, size_t columns);
/* The same, filled up with blanks. */
void page_column(const struct page *page, const char *text, size_t columns);
/* The name of a command's program, in at most so many columns. */
void page_program(const struct page *page, const char *command, size_t columns);
/* A text of the program in lines of at most page_columns(), broken at blanks;
 * the first one goes on at `column`, the others begin with `indent` blanks. */
void page_wrap(const struct page *page,
               const char *text,
               int column,
               int indent);
/* What `put` writes, in lines of at most page_columns(). */
void page_folded(const struct page *page, void (*put)(const struct page *page));
/* "train.c:212", or the function where no file is known, or "-"; in at most so
 * many columns. */
void page_place_in(const struct page *page,
                   const struct place *place,
                   size_t columns);
void page_place(const struct page *page, const struct place *place);
bool page_has_place(const struct place *place);
/* ", below step" where a caller is known, else nothing. */
void page_below(const struct page *page,
                const struct place *caller,
                size_t columns);
/* The end of a row by places: its line, or "-", and who called. */
void page_line_end(const struct page *page,
                   const struct place *place,
                   const struct place *caller,
                   size_t columns);

/* "3 of 4 ranks", of a job of one "1 rank"; or with --ranks "1 of 2 selected
 * ranks", "2 selected ranks". */
void page_count(const struct page *page, uint32_t ranks);
/* "3", or "3 (not among --ranks)". */
void page_rank(const struct page *page, int32_t rank);
/* "MPI_Recv (ring.c:40)" */
void page_call_of(const struct page *page,
                  const char *name,
                  const struct place *place);
/* "rank 2", "ranks 1, 4 and 7", "ranks 0-5, 7, 9, 11, 13, 15, 17, 19 and 20
 * more" */
void page_ranks(FILE *file, const int32_t *ranks, size_t count);
/* Are two places one, as they are named (textdelays.c)? */
bool page_is_same_place(const struct place *a, const struct place *b);
/* A sentence in lines, behind so many blanks, as what is wrong (stuck.c). */
void page_alarm(const struct page *page, const char *text, int indent);
/* In which calls ranks were that never left them (stuck.c). */
void page_stuck(const struct page *page);
/* Is the job still running, without a sign that it hangs? */
bool page_is_going_on(const struct page *page);
/* Who keeps them waiting, stopped threads and locks, as sentences; and the
 * stacks of all threads that collectors looked at (textstanding.c). */
void page_standings(const struct page *page, int indent);
void page_standing_stacks(const struct page *page);
/* Where the threads of a rank were when a signal ended it (textdeath.c). */
void page_death(const struct page *page, const struct report_rank *rank);
/* "spin (hang.c:40)"; without the version of a symbol (textstanding.c). */
void page_frame(const struct page *page, const struct place *place);
/* The innermost function of the user's; NULL = none is known. */
const struct place *page_users_place(const struct report_standing *row);
/* How ranks ended that did not end well, and who waited for them (textends.c).
 */
void page_ends(const struct page *page);
/* The ranks of a running job that have not ended, and what they were in
 * (textends.c). */
void page_running(const struct page *page);
/* " +- 1.20 us" behind a time that compares clocks; nothing where it is 0. */
void page_error(const struct page *page, ck_time_t error);
/* How the clocks were aligned (textclocks.c). */
void page_clocks(const struct page *page);
/* All clocks can be compared. */
bool page_is_calibrated(const struct report *report);
/* Devices whose clock is contradicted by 1 % of the region, in a sentence
 * (textastray.c). */
void page_clocks_answer(const struct page *page);
/* "in load, between clFinish (a.c:1) and MPI_Allreduce (b.c:2)"; further lines
 * begin with four blanks (textwhy.c). */
void page_activity(const struct page *page, const struct report_activity *did);
/* A rank that others waited for. */
struct page_late {
    int32_t rank;
    ck_time_t ns;     /* that they waited */
    ck_time_t ended;  /* of that, behind its end */
    uint64_t waiting; /* how many they are; 0 = several */
    const struct report_delays *delays;
    const char *advice;                 /* on why it came late; NULL */
    const struct report_activity *seen; /* what it did meanwhile; NULL */
    ck_time_t seen_ns;
};
/* Why it came late; whole lines that begin with four blanks (textdelays.c). */
void page_delays(const struct page *page, const struct page_late *late);
/* The same as a part of a sentence: ", 87.8 % of it because it spent longer
 * computing in work (a.c:9)"; nothing where that explains little of it. */
void page_because(const struct page *page, const struct page_late *late);
/* What a rank did, and that it may have waited there where that is not known;
 * the end of a line, or more lines (textdelays.c). */
void page_did(const struct page *page, const struct report_activity *did);
/* How often the analysis of that reached a bound, as a line of TRUST; nothing
 * where it did not (textdelays.c). */
void page_delay_limits(const struct page *page);
/* "    93 % of it in steps 100 to 149 (of 1,000), from 12.3 s to 18.0 s of the
 * run.", a line; nothing where no window is known (when.c). */
void page_windows(const struct page *page,
                  const struct report_windows *windows);
/* Late ranks, waits in MPI, steps and efficiencies (textmpi.c). */
void page_mpi(const struct page *page);
/* What devices waited for the last rank in collective kernels, as sentences of
 * the answer (textmpi.c). */
void page_meetings_answer(const struct page *page);
/* Where there is no device: the first sentences, a row for each rank
 * (texthosts.c).
 */
void page_host_answer(const struct page *page);
void page_hosts(const struct page *page);
/* Sentences on processes without ranks that waited for each other; which of
 * them the row of rank 0 shows (peers.c). */
void page_peers_answer(const struct page *page);
void page_peers_row(const struct page *page);
/* A share of samples, with as many digits as their number and what was lost of
 * them support; the lost share in percent, "" where next to nothing was lost
 * (texthot.c). */
struct word
page_sampled(const struct page *page, ck_time_t part, ck_time_t whole);
struct word page_samples_lost(const struct page *page);
/* How many samples so much time of samples is, by those of the whole run; 0 =
 * there were none (texthot.c). */
double page_samples_in(const struct page *page, ck_time_t time);
/* What the time outside MPI was, from `column` on: as a line of all ranks, and,
 * where more than computing is worth it, a row a rank (outside.c). */
void page_outside(const struct page *page, int column, int indent);
void page_outside_ranks(const struct page *page);
/* Why threads that were ready had no CPU, if that is worth a sentence (load.c).
 */
void page_load(const struct page *page);
/* Where the ranks computed: the hottest function in a sentence, then a table
 * where no device worked (texthot.c). */
void page_hot_answer(const struct page *page);
void page_hot(const struct page *page);
/* Device work by launching stack (textlaunches.c). */
void page_launch_stacks(const struct page *page);
/* Where threads waited without a CPU, and how much of that has a stack
 * (textblocked.c). */
void page_blocked(const struct page *page);
void page_blocked_trust(const struct page *page);
/* Where memory came from, and how well that is known (textallocations.c). */
void page_allocations(const struct page *page);
void page_allocations_trust(const struct page *page);
/* Memory of the ranks and page faults (textmemory.c). */
void page_memory(const struct page *page);
/* What MPI_Comm_spawn started (textprocesses.c). */
void page_spawned(const struct page *page);
/* Did several processes use MPI as the same rank? */
bool page_has_shared(const struct report *report);
/* Collectives of NCCL that ranks called differently (textdisagree.c). */
void page_disagree(const struct page *page);
/* Device work that never ended, and what failed (undone.c). */
void page_undone(const struct page *page);
void page_undone_answer(const struct page *page);
/* Launches without a record of the work: their share of all, from 1 %
 * on, and how many (launches.c). */
void page_launches_answer(const struct page *page);
/* Profiles without device work: that of some ranks; true and in a sentence, if
 * it is all (textinputs.c). */
void page_inputs_answer(const struct page *page);
/* The rank that a signal stopped for longest, if it did. */
void page_stopped_answer(const struct page *page);
/* Of a kernel-only merge: the kernel that took a rank longer than others. */
void page_uneven_answer(const struct page *page);
bool page_inputs_blind(const struct page *page);
void page_launches(const struct page *page);
void page_failures(const struct page *page);
/* What was copied, in a sentence and from which lines (textcopies.c). */
void page_copies_answer(const struct page *page);
void page_copies(const struct page *page);
/* Of profiles of nkipy: submission against device time, and idle time by
 * nkipy's classes (textsubmits.c). */
void page_submits(const struct page *page);
/* Why the devices were idle (textwhy.c). */
void page_why(const struct page *page);
/* Most findings that it has. */
#define PAGE_FINDINGS 8
/* Which of the report's causes it shows, in its order; their number. */
size_t page_findings(const struct report *report, size_t *causes);
/* In place of findings where page_findings() has none: kinds of idle time that
 * are many small causes, as on very many ranks. */
void page_no_finding(const struct page *page);
/* One finding, as the text report has it. */
void page_finding(const struct page *page,
                  size_t number,
                  const struct report_cause *cause);
/* May ranks have waited for much longer than is known, and for others
 * (texthosts.c)? */
bool page_hides_waits(const struct report *report);
/* Time of the ranks that called MPI, or of all where none did; steps of the
 * table, or with those that it has no room for (textlate.c). */
ck_time_t page_ranks_time(const struct report *report);
uint64_t page_steps_all(const struct report *report);
/* The rank that was waited for most, and why, in a sentence of the answer,
 * where that is worth one (textlate.c). */
void page_late_answer(const struct page *page);
/* How many of the report's late ranks it shows, and one of them, as it is shown
 * (textlate.c). */
size_t page_late_ranks(const struct report *report);
void page_late_rank(const struct page *page, size_t index);
/* The program's ranges (ranges.c). */
/* Teams of threads and locks: the first sentences about them, their
 * tables, and how far to trust these (textthreads.c). */
void page_threads_answer(const struct page *page);
void page_threads(const struct page *page);
void page_threads_trust(const struct page *page);
void page_ranges(const struct page *page);
/* Files, sockets, locks and sleeps (libc.c). */
void page_libc(const struct page *page);
/* Calls by function and place (calls.c). */
void page_calls(const struct page *page);
/* What ranks sent each other (traffic.c). */
void page_traffic(const struct page *page);
/* The tables (tables.c). */
void page_devices(const struct page *page);
void page_kernels(const struct page *page);
void page_counters(const struct page *page);

#endif
