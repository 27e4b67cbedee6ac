/* account.c - what a collector reports of its work: beat, end, notes, goodbye
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/collector/account.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "agent/perf/counters.h"
#include "agent/perf/sampler.h"
#include "agent/process/cpuload.h"
#include "agent/process/proctree.h"
#include "schema/store/run.h"

void account_beat(const struct account *account, char *text, size_t room)
{
    const struct outbox_head *head = account->framewriter->outbox.head;
    struct ck_lines lines = ck_lines_in(text, room);

    ck_lines_put_number(&lines, "events", (int64_t)head->records);
    ck_lines_put_number(&lines, "bytes", (int64_t)head->stored);
    ck_lines_put_number(&lines, "lost", (int64_t)drain_lost(account->drain));
    ck_lines_put_number(&lines, "cpu_ns", ck_time_of(CLOCK_PROCESS_CPUTIME_ID));
    ck_lines_put_number(&lines, "outbox",
                        (int64_t)outbox_used(&account->framewriter->outbox));
    ck_lines_put_number(&lines, "spool", (int64_t)spool_bytes(account->spool));
}

void account_identity(const struct account *account)
{
    struct ck_text head = {.e = {.kind = CK_KIND_IDENTITY}};
    char text[4096];
    struct ck_lines lines = ck_lines_in(text, sizeof(text));

    identity_lines(account->config->identity, account->config->target, NULL,
                   &lines);
    clockprobe_identity(account->clock, &lines);
    (void)selfstream_text(account->selfstream, head, text, lines.used);
}

void account_begin(const struct account *account)
{
    struct outbox *outbox = &account->framewriter->outbox;
    uint64_t at = 0;
    size_t bytes;
    const void *frame;

    outbox_keep_dir(outbox, account->config->dir);
    if (outbox->head->own_next != 0) {
        (void)spool_identity(account->spool, outbox->head->identity,
                             outbox->head->identity_bytes);
        selfstream_note(account->selfstream,
                        "the collector of rank %d was restarted",
                        account->config->identity->place.rank);
        (void)selfstream_flush(
            account->selfstream); /* it may die at once, too */
        return;
    }
    account_identity(account);
    (void)selfstream_flush(account->selfstream);
    frame = outbox_walk(outbox, &at, &bytes);
    if (frame != NULL) {
        outbox_keep_identity(outbox, frame, bytes);
        (void)spool_identity(account->spool, frame, bytes);
    }
    if (account->config->counters == NULL &&
        account->config->counters_why != NULL) {
        selfstream_note(account->selfstream, "%s",
                        account->config->counters_why);
    }
    if (account->config->sampler_why != NULL) {
        selfstream_note(account->selfstream, "no CPU samples: %s",
                        account->config->sampler_why);
    }
}

void account_alive(struct account *account, ck_time_t now)
{
    struct ck_counter away = {
        .e = {.kind = CK_KIND_AWAY,
              .units = sizeof(away) / CK_UNIT_BYTES,
              .flags = CK_FLAG_RAW,
              .start = account->alive},
        .enabled = now - account->alive,
    };

    if (account->targetstate->is_end_known ||
        account->targetstate->over_at != 0) {
        return;
    }
    if (account->alive != 0 && away.enabled >= ACCOUNT_AWAY_LEAST) {
        (void)selfstream_put(account->selfstream, &away.e);
        (void)selfstream_flush(
            account->selfstream); /* before it is forgotten */
    }
    account->alive = account->config->ring->header->alive = now;
}

static bool is_status_known(const struct account *account)
{
    return account->targetstate->is_end_known ||
           account->targetstate->is_status_known;
}

/* When the target ended: as the kernel has it, else as who saw it has it. */
static ck_time_t ended_at(const struct account *account)
{
    const struct targetstate *targetstate = account->targetstate;
    ck_time_t at =
        sampler_ended(account->config->sampler, (uint32_t)targetstate->target,
                      targetstate->alive_at);

    if (at != 0) {
        return at;
    }
    return targetstate->is_end_known ? targetstate->end.ended
                                     : targetstate->over_at;
}

void account_exit(const struct account *account)
{
    const struct frontpipe_end *end = &account->targetstate->end;
    bool is_known = is_status_known(account);
    const struct outbox_head *head = account->framewriter->outbox.head;
    struct drain_strain strain = drain_strain(account->drain);
    struct sampler_tally tally = sampler_tally(account->config->sampler);
    struct sampler_stacks stacks = sampler_stacks(account->config->sampler);
    const struct {
        const char *key;
        int64_t value;
    } rows[] = {
        {"status", end->status},
        {"status_known", is_known},
        {"ended", ended_at(account)},
        {"outlived_ns", targetstate_outlived(account->targetstate)},
        {"signal", account->targetstate->signal},
        {"asked", account->targetstate->asked},
        {"stops", account->targetstate->stops},
        {"stopped_ns", account->targetstate->stopped_ns},
        {"user_ns", end->user_ns},
        {"system_ns", end->system_ns},
        {"rss_kb", end->rss_kb},
        {"minor_faults", end->minor_faults},
        {"major_faults", end->major_faults},
        {"voluntary", end->voluntary},
        {"preempted", end->preempted},
        {"libraries", processes_libraries(account->processes)},
        {"images", account->processes->told},
        {"collectors", (int64_t)head->collectors},
        {"events", (int64_t)head->records},
        {"bytes", (int64_t)head->stored},
        {"spooled", (int64_t)head->spooled},
        {"units", (int64_t)ringfile_taken(account->config->ring)},
        {"lost", (int64_t)drain_lost(account->drain)},
        {"longest_turn_ns", strain.longest},
        {"fullest_units", (int64_t)strain.fullest},
        {"agent_cpu_ns", ck_time_of(CLOCK_PROCESS_CPUTIME_ID)},
        {"samples", (int64_t)tally.samples},
        {"samples_lost", (int64_t)tally.samples_lost},
        {"switches", (int64_t)tally.switches},
        {"switches_lost", (int64_t)tally.switches_lost},
        {"waits", (int64_t)tally.waits},
        {"wait_stacks", (int64_t)tally.wait_stacks},
        {"stacks", (int64_t)stacks.tally.stacks},
        {"stacks_whole", (int64_t)stacks.tally.whole},
        {"stacks_cut", (int64_t)stacks.tally.cut},
        {"stacks_unknown", (int64_t)stacks.tally.unknown},
        {"stacks_wrong", (int64_t)stacks.tally.wrong},
        {"stacks_deep", (int64_t)stacks.tally.deep},
        {"stacks_pointers", (int64_t)stacks.tally.pointers},
        {"stacks_uncopied", (int64_t)stacks.tally.uncopied},
        {"stacks_frames", (int64_t)stacks.tally.frames},
        {"stacks_deepest", (int64_t)stacks.tally.deepest},
        {"stacks_unread", (int64_t)stacks.tally.unread},
        {"stack_bytes", (int64_t)stacks.bytes},
    };
    struct ck_text exit_record = {
        .e = {.kind = CK_KIND_EXIT, .flags = is_known ? 0 : CK_FLAG_CUT},
        .object = (uint32_t)end->status,
    };
    char text[4096];
    struct ck_lines lines = ck_lines_in(text, sizeof(text));

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ck_lines_put_number(&lines, rows[i].key, rows[i].value);
    }
    cpuload_lines(counters_load(account->config->counters), &lines);
    clockprobe_exit(account->clock, &lines);
    (void)selfstream_text(account->selfstream, exit_record, text, lines.used);
}

/* Of a program that a signal ended, but for those that are sent to end one. */
static void death_note(const struct account *account, int rank)
{
    int status = account->targetstate->end.status;
    const char *why = sampler_deaths_why(account->config->sampler);
    int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;

    if (is_status_known(account) && signal != 0 && signal != SIGKILL &&
        signal != SIGTERM && signal != SIGINT && signal != SIGHUP &&
        why != NULL) {
        selfstream_note(account->selfstream,
                        "rank %d: where its threads were when signal %d ended "
                        "it is not known: %s",
                        rank, signal, why);
    }
}

/* Programs that were started without ck's library. */
static void left_out_note(const struct account *account, int rank)
{
    struct ck_ring_header *header = account->config->ring->header;
    uint64_t spared = atomic_load(&header->spared);
    uint64_t cramped = atomic_load(&header->cramped);

    if (spared != 0) {
        selfstream_note(
            account->selfstream,
            "rank %d: %llu short programs, started many times a second, can "
            "neither wait nor start others: only their CPU samples were "
            "recorded",
            rank, (unsigned long long)spared);
    }
    if (cramped != 0) {
        selfstream_note(account->selfstream,
                        "rank %d: %llu programs with less than 32 MB of "
                        "address space (ulimit -v) were not recorded, to leave "
                        "it to them",
                        rank, (unsigned long long)cramped);
    }
}

/* Stamps that the processor's counter led astray. */
static void strays_note(const struct account *account, int rank)
{
    struct ck_ring_header *header = account->config->ring->header;
    const struct ck_ring_slot *slots = ck_ring_heads(header);
    uint64_t strays = 0;
    ck_time_t most = 0;

    for (uint32_t i = 0; i < account->config->ring->plan.slots; i++) {
        if (atomic_load(&slots[i].state) == CK_SLOT_UNBACKED) {
            break;
        }
        strays += slots[i].line.strays;
        most = slots[i].line.stray_ns > most ? slots[i].line.stray_ns : most;
    }
    if (strays != 0) {
        selfstream_note(account->selfstream,
                        "rank %d: %llu times the processor's counter left RAW, "
                        "by %lld ns at most: stamps of the millisecond before "
                        "may be off by as much (--clock raw is without it)",
                        rank, (unsigned long long)strays, (long long)most);
    }
}

void account_notes(const struct account *account)
{
    struct ck_ring_header *header = account->config->ring->header;
    int rank = account->config->identity->place.rank;
    uint64_t noprocess = atomic_load(&header->noprocess);
    char clock[512];

    death_note(account, rank);
    if (ck_domain_skew() != NULL) {
        selfstream_note(
            account->selfstream,
            "rank %d: its clock is skewed for a test, CK_TEST_CLOCK=%s", rank,
            ck_domain_skew());
    }
    if (clockprobe_why(account->clock, clock, sizeof(clock))) {
        selfstream_note(account->selfstream, "rank %d: %s", rank, clock);
    }
    strays_note(account, rank);
    if (processes_libraries(account->processes) == 0) {
        if (account->config->obstacle != NULL) {
            selfstream_note(
                account->selfstream,
                "rank %d: nothing could be recorded in the program: %s", rank,
                account->config->obstacle);
        } else {
            selfstream_note(
                account->selfstream,
                "rank %d: the program made no call that is recorded", rank);
        }
    }
    if (noprocess != 0) {
        selfstream_note(
            account->selfstream,
            "rank %d: %llu processes more than the table of %d holds "
            "were not recorded",
            rank, (unsigned long long)noprocess, CK_RING_PROCESSES);
    }
    left_out_note(account, rank);
    if (account->config->counters != NULL &&
        counters_left_out(account->config->counters) != 0) {
        selfstream_note(
            account->selfstream,
            "rank %d: %llu threads beyond the table of %d were not "
            "counted by themselves",
            rank,
            (unsigned long long)counters_left_out(account->config->counters),
            PROCTREE_THREADS_MAX);
    }
    if (account->config->ring->is_full) {
        selfstream_note(
            account->selfstream,
            "rank %d: memory for recording ran out in %s (%u threads)", rank,
            account->config->ring->path, account->config->ring->backed);
    }
}

void account_goodbye(const struct account *account, char *text, size_t room)
{
    struct ck_lines lines = ck_lines_in(text, room);

    if (is_status_known(account)) {
        ck_lines_put_number(&lines, "status", account->targetstate->end.status);
    }
    ck_lines_put_number(&lines, "events",
                        (int64_t)account->framewriter->outbox.head->records);
    ck_lines_put_number(&lines, "lost", (int64_t)drain_lost(account->drain));
    ck_lines_put_number(&lines, "cpu_ns", ck_time_of(CLOCK_PROCESS_CPUTIME_ID));
}
