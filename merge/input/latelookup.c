/* latelookup.c - places of call sites whose collector did not live to look them
 * up
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/input/latelookup.h"

#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/child.h"
#include "launch/log.h"
#include "merge/model/array.h"
#include "merge/model/table.h"
#include "schema/clock/domain.h"
#include "schema/order.h"
#include "schema/store/run.h"
#include "schema/time.h"

#define LATELOOKUP_LIMIT (60 * CK_TIME_S)

#define SITES                                                                  \
    ((uint32_t)1 << CK_CLASS_CALL | (uint32_t)1 << CK_CLASS_MESSAGE |          \
     (uint32_t)1 << CK_CLASS_COLLECTIVE | (uint32_t)1 << CK_CLASS_TEAM)

struct site {
    uint32_t process;
    uint64_t address;
    const struct defs_module *module;
};

struct sites {
    const struct defs *defs; /* borrowed */
    struct table *keys;      /* process, address */
    struct site *items;
    size_t count, room;
};

/* ---- which sites -------------------------------------------------------- */

/* Its files are at hand: it ran on this boot of this machine. */
static bool is_here(const struct defs_agent *agent, const char *boot_id)
{
    char theirs[64] = "";

    (void)ck_lines_get(agent->identity, strlen(agent->identity), "boot_id",
                       theirs, sizeof(theirs));
    return theirs[0] != '\0' && strcmp(theirs, boot_id) == 0;
}

static bool is_wanted(const struct defs_agent *agent, const char *boot_id)
{
    return !agent->has_symbols && !agent->has_exit && !agent->is_profile &&
           is_here(agent, boot_id);
}

/* The newest module of the image that the call is in. */
static const struct defs_module *module_find(const struct defs_process *process,
                                             uint64_t address)
{
    for (size_t i = process->modules_count; i-- > 0;) {
        const struct defs_module *module = &process->modules[i];

        if (module->start <= address && address < module->end) {
            return module;
        }
    }
    return NULL;
}

static void site_add(struct sites *sites, uint32_t process, uint64_t address)
{
    const struct defs_module *module =
        module_find(&sites->defs->processes[process], address - 1);
    struct table_key key = {process, address, 0};
    int64_t number;

    if (address == 0 || module == NULL || module->build_id[0] == '\0' ||
        sites->count == LATELOOKUP_SITES_MAX) {
        return;
    }
    number = table_number(sites->keys, key);
    if ((size_t)number < sites->count) {
        return;
    }
    array_grow(&sites->items, &sites->room, sites->count,
               sizeof(*sites->items));
    sites->items[sites->count++] = (struct site){process, address, module};
}

static void rows_take(struct sites *sites,
                      const struct rundir_stream *stream,
                      const struct store_rows *rows)
{
    const uint8_t *at = rows->bytes;
    const uint8_t *end = at + rows->used;

    while (at < end) {
        const struct ck_event *event = (const struct ck_event *)at;

        /* The site is at the same place in all these classes. */
        if (((uint32_t)1 << ck_kind_class(event->kind) & SITES) != 0) {
            site_add(sites, stream->process,
                     ((const struct ck_call *)event)->site);
        }
        at += (size_t)event->units * CK_UNIT_BYTES;
    }
}

static int stream_take(struct sites *sites,
                       struct rundir *store,
                       const struct rundir_stream *stream,
                       struct ck_err *err)
{
    struct store_rows rows = {0};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < stream->frames_count; i++) {
        rc = rundir_read(store, &stream->frames[i], SITES, &rows, err);
        if (rc == 0) {
            rows_take(sites, stream, &rows);
        }
    }
    free(rows.bytes);
    return rc;
}

/* Calls that were never left. */
static void opens_take(struct sites *sites, uint32_t agent)
{
    const struct defs_agent *owner = &sites->defs->agents[agent];

    for (size_t i = 0; i < owner->opens_count; i++) {
        const struct ck_open *open = &owner->opens[i].open;

        for (uint32_t p = 0; p < sites->defs->processes_count; p++) {
            if (sites->defs->processes[p].agent == agent &&
                sites->defs->processes[p].incarnation == open->incarnation) {
                site_add(sites, p, open->site);
            }
        }
    }
}

/* Stacks of threads that were looked at. */
static void standings_take(struct sites *sites, uint32_t agent)
{
    const struct defs_agent *owner = &sites->defs->agents[agent];

    for (size_t i = 0; i < owner->standings_count; i++) {
        const struct defs_standing *standing = &owner->standings[i];
        const struct defs_stack *stack =
            standing->stack > 0 && standing->stack <= owner->stacks_count
                ? &owner->stacks[standing->stack - 1]
                : NULL;

        for (uint32_t p = 0; stack != NULL && p < sites->defs->processes_count;
             p++) {
            const struct defs_process *process = &sites->defs->processes[p];

            if (process->agent != agent ||
                process->incarnation != standing->incarnation) {
                continue;
            }
            for (uint32_t f = 0; f < stack->depth; f++) {
                site_add(sites, p, stack->frames[f]);
            }
        }
    }
}

static int
sites_take(struct sites *sites, struct rundir *store, struct ck_err *err)
{
    struct ck_domain domain;

    if (ck_domain_read(&domain, err) != 0) {
        return 0; /* nothing is known to be of this machine */
    }
    for (uint32_t a = 0; a < sites->defs->agents_count; a++) {
        if (is_wanted(&sites->defs->agents[a], domain.boot_id)) {
            opens_take(sites, a);
            standings_take(sites, a);
        }
    }
    for (size_t i = 0; i < rundir_streams(store); i++) {
        const struct rundir_stream *stream = rundir_stream(store, i);

        if (is_wanted(&sites->defs->agents[stream->agent], domain.boot_id) &&
            stream->slot != CK_SLOT_COLLECTOR &&
            stream_take(sites, store, stream, err) != 0) {
            return -1;
        }
    }
    return 0;
}

/* ---- asking ------------------------------------------------------------- */

CK_ORDER(by_module,
         struct site,
         strcmp(a->module->path, b->module->path) ?: CK_UP(address))

static void questions_write(const struct sites *sites, FILE *file)
{
    for (size_t i = 0; i < sites->count; i++) {
        const struct site *site = &sites->items[i];

        fprintf(file, "%" PRIx64 " %" PRIx64 " %s %s\n", site->address,
                site->module->bias, site->module->build_id, site->module->path);
    }
}

/* "LINE<tab>FUNCTION<tab>FILE" as a place. False: it is no answer. */
static bool answer_read(struct texts *texts, char *line, struct place *place)
{
    char *function = strchr(line, '\t');
    char *file = function == NULL ? NULL : strchr(function + 1, '\t');

    line[strcspn(line, "\n")] = '\0';
    *place = (struct place){NULL, NULL, 0};
    if (file == NULL) {
        return false;
    }
    *function++ = '\0';
    *file++ = '\0';
    place->line = (uint32_t)strtoul(line, NULL, 10);
    place->function = *function != '\0'
                          ? texts_keep(texts, function, strlen(function))
                          : NULL;
    place->file = *file != '\0' ? texts_keep(texts, file, strlen(file)) : NULL;
    return place->function != NULL;
}

/* One answer a site, in their order. 0. */
static void
answers_take(const struct sites *sites, struct defs *defs, FILE *file)
{
    char *line = NULL;
    size_t room = 0;

    for (size_t i = 0; i < sites->count && getline(&line, &room, file) > 0;
         i++) {
        const struct site *site = &sites->items[i];
        struct place place;

        if (answer_read(defs->texts, line, &place)) {
            names_set_place(defs->processes[site->process].names, site->address,
                            place);
        }
    }
    free(line);
}

/* Let ckagent answer the questions of one memory file into another. False, with
 * a line on stderr: it did not. */
static bool ask(int questions, int answers)
{
    char program[PATH_MAX];
    char *argv[] = {program, "--lines", NULL};
    struct ck_child child = {
        .path = program, .argv = argv, .fds = {questions, answers, -2}};
    struct ck_err err = {""};
    pid_t pid;
    int status = 0;

    if (ck_child_find("ckagent", program, &err) != 0 ||
        ck_child_start(&child, &pid, &err) != 0) {
        ck_warn("call sites of killed agents have no names: %s", err.text);
        return false;
    }
    if (ck_child_wait(pid, LATELOOKUP_LIMIT, &status) != 1) {
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, &status, 0);
        ck_warn("call sites of killed agents have no names: looking them up "
                "took longer than %d s",
                (int)(LATELOOKUP_LIMIT / CK_TIME_S));
        return false;
    }
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void sites_ask(const struct sites *sites, struct defs *defs)
{
    int to = memfd_create("ck-questions", MFD_CLOEXEC);
    int from = memfd_create("ck-answers", MFD_CLOEXEC);
    FILE *questions = to >= 0 ? fdopen(to, "w") : NULL;
    FILE *answers = from >= 0 ? fdopen(from, "r") : NULL;

    if (questions != NULL && answers != NULL) {
        questions_write(sites, questions);
        if (fflush(questions) == 0 && lseek(to, 0, SEEK_SET) == 0 &&
            ask(to, from) && lseek(from, 0, SEEK_SET) == 0) {
            answers_take(sites, defs, answers);
        }
    }
    if (questions != NULL) {
        (void)fclose(questions);
    } else if (to >= 0) {
        (void)close(to);
    }
    if (answers != NULL) {
        (void)fclose(answers);
    } else if (from >= 0) {
        (void)close(from);
    }
}

int latelookup_sites(struct rundir *store,
                     struct defs *defs,
                     struct ck_err *err)
{
    struct sites sites = {.defs = defs, .keys = table_create()};
    int rc = sites_take(&sites, store, err);

    if (rc == 0 && sites.count > 0) {
        qsort(sites.items, sites.count, sizeof(*sites.items), by_module);
        sites_ask(&sites, defs);
    }
    table_destroy(sites.keys);
    free(sites.items);
    return rc;
}
