/* latelookup.c - places of call sites whose collector did not live to look them
 * up
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/input/latelookup.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch/child.h"
#include "launch/log.h"
#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"
#include "schema/clock/domain.h"
#include "schema/order.h"
#include "schema/store/run.h"
#include "schema/time.h"

#define LATELOOKUP_LIMIT (60 * CK_TIME_S)
/* A rank makes its calls at few sites. */
#define SEEN 4096

#define SITES                                                                  \
    ((uint32_t)1 << CK_CLASS_CALL | (uint32_t)1 << CK_CLASS_MESSAGE |          \
     (uint32_t)1 << CK_CLASS_COLLECTIVE | (uint32_t)1 << CK_CLASS_TEAM |       \
     (uint32_t)1 << CK_CLASS_STACKED)

struct site {
    uint32_t process;
    uint64_t address;
    const struct defs_module *module;
    bool is_call; /* not only a frame of a stack */
};

struct latelookup {
    struct defs *defs;        /* borrowed */
    struct ck_domain machine; /* this one */
    struct table *keys;       /* process, address */
    struct site *items;
    size_t count, room;
    bool *is_wanted;             /* by agent: its sites are asked for */
    struct table_key seen[SEEN]; /* calls taken, by address: others' go */
    size_t agents;
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

static bool agent_judge(const struct latelookup *lookup, uint32_t number)
{
    const struct defs_agent *agent = &lookup->defs->agents[number];

    return !agent->has_symbols && !agent->has_exit && !agent->is_profile &&
           is_here(agent, lookup->machine.boot_id);
}

static bool is_wanted(const struct latelookup *lookup, uint32_t number)
{
    return number < lookup->agents && lookup->is_wanted[number];
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

static void site_add(struct latelookup *lookup,
                     uint32_t process,
                     uint64_t address,
                     bool is_call)
{
    const struct defs_module *module =
        module_find(&lookup->defs->processes[process], address - 1);
    struct table_key key = {process, address, 0};
    int64_t number;

    if (address == 0 || module == NULL || module->build_id[0] == '\0' ||
        lookup->count == LATELOOKUP_SITES_MAX) {
        return;
    }
    number = table_number(lookup->keys, key);
    if ((size_t)number < lookup->count) {
        lookup->items[number].is_call |= is_call;
        return;
    }
    array_grow(&lookup->items, &lookup->room, lookup->count,
               sizeof(*lookup->items));
    lookup->items[lookup->count++] =
        (struct site){process, address, module, is_call};
}

/* A call was there. */
static void call_add(struct latelookup *lookup, uint32_t process, uint64_t site)
{
    struct table_key *seen =
        &lookup->seen[(site ^ site >> 12 ^ (uint64_t)process * 61) % SEEN];

    if (seen->a != process || seen->b != site) {
        *seen = (struct table_key){process, site, 0};
        site_add(lookup, process, site, true);
    }
}

void latelookup_take(struct latelookup *lookup,
                     uint32_t process,
                     const struct ck_event *record)
{
    /* The site is at the same place in all these classes. */
    if (((uint32_t)1 << ck_kind_class(record->kind) & SITES) != 0 &&
        is_wanted(lookup, lookup->defs->processes[process].agent)) {
        call_add(lookup, process, ((const struct ck_call *)record)->site);
    }
}

static void rows_take(struct latelookup *lookup,
                      uint32_t process,
                      const struct store_rows *rows)
{
    const uint8_t *at = rows->bytes;
    const uint8_t *end = at + rows->used;

    while (at < end) {
        const struct ck_event *event = (const struct ck_event *)at;

        latelookup_take(lookup, process, event);
        at += (size_t)event->units * CK_UNIT_BYTES;
    }
}

static int stream_take(struct latelookup *lookup,
                       struct rundir *store,
                       const struct rundir_stream *stream,
                       struct ck_err *err)
{
    struct store_rows rows = {0};
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < stream->frames_count; i++) {
        rc = rundir_read(store, &stream->frames[i], SITES, &rows, err);
        if (rc == 0) {
            rows_take(lookup, stream->process, &rows);
        }
    }
    free(rows.bytes);
    return rc;
}

/* Calls that were never left. */
static void opens_take(struct latelookup *lookup, uint32_t agent)
{
    const struct defs_agent *owner = &lookup->defs->agents[agent];

    for (size_t i = 0; i < owner->opens_count; i++) {
        const struct ck_open *open = &owner->opens[i].open;

        for (uint32_t p = 0; p < lookup->defs->processes_count; p++) {
            if (lookup->defs->processes[p].agent == agent &&
                lookup->defs->processes[p].incarnation == open->incarnation) {
                site_add(lookup, p, open->site, true);
            }
        }
    }
}

/* Stacks of threads that were looked at. Frames of ck are not shown, and
 * reading its debug information would take as long as all others. */
static void standings_take(struct latelookup *lookup, uint32_t agent)
{
    const struct defs_agent *owner = &lookup->defs->agents[agent];

    for (size_t i = 0; i < owner->standings_count; i++) {
        const struct defs_standing *standing = &owner->standings[i];
        const struct defs_stack *stack =
            defs_stack_find(owner, standing->stack);

        for (uint32_t p = 0; stack != NULL && p < lookup->defs->processes_count;
             p++) {
            const struct defs_process *process = &lookup->defs->processes[p];

            if (process->agent != agent ||
                process->incarnation != standing->incarnation) {
                continue;
            }
            for (uint32_t f = 0; f < stack->depth; f++) {
                if (!defs_is_own(lookup->defs, p, stack->frames[f])) {
                    site_add(lookup, p, stack->frames[f], false);
                }
            }
        }
    }
}

struct latelookup *latelookup_create(struct defs *defs)
{
    struct latelookup *lookup = xcalloc(1, sizeof(*lookup));
    struct ck_err err;

    lookup->defs = defs;
    lookup->keys = table_create();
    if (ck_domain_read(&lookup->machine, &err) != 0) {
        return lookup; /* nothing is known to be of this machine */
    }
    lookup->agents = defs->agents_count;
    lookup->is_wanted = xcalloc(lookup->agents + 1, sizeof(*lookup->is_wanted));
    for (uint32_t a = 0; a < lookup->agents; a++) {
        lookup->is_wanted[a] = agent_judge(lookup, a);
        if (lookup->is_wanted[a]) {
            opens_take(lookup, a);
            standings_take(lookup, a);
        }
    }
    return lookup;
}

void latelookup_destroy(struct latelookup *lookup)
{
    if (lookup != NULL) {
        table_destroy(lookup->keys);
        free(lookup->items);
        free(lookup->is_wanted);
        free(lookup);
    }
}

/* ---- asking ------------------------------------------------------------- */

/* Where in its file. */
static uint64_t offset_of(const struct site *site)
{
    return site->address - site->module->bias;
}

CK_ORDER(by_place,
         struct site,
         strcmp(a->module->path, b->module->path)
             ?: strcmp(a->module->build_id, b->module->build_id)
             ?: CK_LESS(offset_of(a), offset_of(b)))
CK_ORDER(by_module, struct site, by_place(a, b) ?: CK_DOWN(is_call))

/* Is it the same place of the same file as the one before? Ranks of a job have
 * the same code at other addresses. */
static bool is_again(const struct latelookup *lookup, size_t i)
{
    return i > 0 && by_place(&lookup->items[i - 1], &lookup->items[i]) == 0;
}

static void questions_write(const struct latelookup *lookup, FILE *file)
{
    for (size_t i = 0; i < lookup->count; i++) {
        const struct site *site = &lookup->items[i];

        if (!is_again(lookup, i)) {
            fprintf(file, "%s%" PRIx64 " %" PRIx64 " %s %s\n",
                    site->is_call ? "" : "@", site->address, site->module->bias,
                    site->module->build_id, site->module->path);
        }
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

/* One answer a question, in their order. */
static void
answers_take(const struct latelookup *lookup, struct defs *defs, FILE *file)
{
    struct place place;
    bool is_answer = false;
    char *line = NULL;
    size_t room = 0;

    for (size_t i = 0; i < lookup->count; i++) {
        const struct site *site = &lookup->items[i];

        if (!is_again(lookup, i)) {
            if (getline(&line, &room, file) <= 0) {
                break;
            }
            is_answer = answer_read(defs->texts, line, &place);
        }
        if (is_answer) {
            names_set_place(defs->processes[site->process].names, site->address,
                            place);
        }
    }
    free(line);
}

/* A cklines that answers questions from a socket into a memory file. */
struct latelookup_helper {
    pid_t pid; /* 0 = it is over */
    int to;    /* a socket; -1 = no more questions */
    FILE *from;
};

struct latelookup_helper *latelookup_help(void)
{
    struct latelookup_helper *helper = xcalloc(1, sizeof(*helper));
    char program[PATH_MAX];
    char *argv[] = {program, NULL};
    int ends[2] = {-1, -1};
    int from = memfd_create("ck-answers", MFD_CLOEXEC);
    struct ck_child child = {.path = program, .argv = argv};
    struct ck_err err = {""};

    helper->to = -1;
    helper->from = from >= 0 ? fdopen(from, "r") : NULL;
    if (helper->from == NULL ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return helper;
    }
    child.fds[0] = ends[1];
    child.fds[1] = from;
    child.fds[2] = -2;
    if (ck_child_find("cklines", program, &err) != 0 ||
        ck_child_start(&child, &helper->pid, &err) != 0) {
        ck_warn("call sites of killed agents have no names: %s", err.text);
        helper->pid = 0;
    }
    helper->to = ends[0];
    (void)close(ends[1]);
    return helper;
}

/* Nothing more is asked. */
static void questions_end(struct latelookup_helper *helper)
{
    if (helper->to >= 0) {
        (void)close(helper->to);
        helper->to = -1;
    }
}

void latelookup_dismiss(struct latelookup_helper *helper)
{
    int status;

    if (helper == NULL) {
        return;
    }
    questions_end(helper);
    if (helper->pid > 0) {
        (void)kill(helper->pid, SIGKILL);
        (void)waitpid(helper->pid, &status, 0);
    }
    if (helper->from != NULL) {
        (void)fclose(helper->from);
    }
    free(helper);
}

/* All of it. False: the helper takes no more. */
static bool questions_send(const struct latelookup_helper *helper,
                           const char *text,
                           size_t length)
{
    while (length > 0) {
        ssize_t sent = send(helper->to, text, length, MSG_NOSIGNAL);

        if (sent < 0 && errno != EINTR) {
            return false;
        }
        if (sent > 0) {
            text += sent;
            length -= (size_t)sent;
        }
    }
    return true;
}

/* Wait for its answers. False, with a line on stderr: there are none. */
static bool answers_await(struct latelookup_helper *helper)
{
    int status = 0;

    if (ck_child_wait(helper->pid, LATELOOKUP_LIMIT, &status) != 1) {
        (void)kill(helper->pid, SIGKILL);
        (void)waitpid(helper->pid, &status, 0);
        ck_warn("call sites of killed agents have no names: looking them up "
                "took longer than %d s",
                (int)(LATELOOKUP_LIMIT / CK_TIME_S));
        status = -1;
    }
    helper->pid = 0;
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 &&
           fseek(helper->from, 0, SEEK_SET) == 0;
}

static void sites_ask(const struct latelookup *lookup,
                      struct latelookup_helper *helper)
{
    char *text = NULL;
    size_t length = 0;
    FILE *questions = xmemstream(&text, &length);
    bool is_sent;

    questions_write(lookup, questions);
    (void)fclose(questions);
    is_sent = helper->pid > 0 && questions_send(helper, text, length);
    questions_end(helper);
    if (is_sent && answers_await(helper)) {
        answers_take(lookup, lookup->defs, helper->from);
    }
    free(text);
}

void latelookup_ask(struct latelookup *lookup, struct latelookup_helper *helper)
{
    struct latelookup_helper *own = NULL;

    if (lookup->count > 0) {
        qsort(lookup->items, lookup->count, sizeof(*lookup->items), by_module);
        own = helper == NULL ? latelookup_help() : NULL;
        sites_ask(lookup, helper == NULL ? own : helper);
        latelookup_dismiss(own);
    }
}

int latelookup_sites(struct rundir *store,
                     struct defs *defs,
                     struct ck_err *err)
{
    struct latelookup *lookup = latelookup_create(defs);
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < rundir_streams(store); i++) {
        const struct rundir_stream *stream = rundir_stream(store, i);

        if (is_wanted(lookup, stream->agent) &&
            stream->slot != CK_SLOT_COLLECTOR) {
            rc = stream_take(lookup, store, stream, err);
        }
    }
    if (rc == 0) {
        latelookup_ask(lookup, NULL);
    }
    latelookup_destroy(lookup);
    return rc;
}
