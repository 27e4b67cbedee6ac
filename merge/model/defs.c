/* defs.c - who takes part in a run: agents, ranks, processes, threads, devices
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/model/defs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "schema/store/run.h"

#define NOTES_MAX 1024
/* Longest note that is added up with others. */
#define NOTE_MAX 512

struct defs *defs_create(void)
{
    struct defs *defs = xcalloc(1, sizeof(*defs));

    defs->texts = texts_create();
    return defs;
}

static void stacks_free(struct defs_agent *agent)
{
    uint32_t pages =
        (agent->stacks_last + DEFS_STACKS_PAGE - 1) / DEFS_STACKS_PAGE;

    for (uint32_t i = 0; i < pages; i++) {
        struct defs_stack *page = agent->stacks[i];

        for (uint32_t j = 0; page != NULL && j < DEFS_STACKS_PAGE; j++) {
            free(page[j].frames);
        }
        free(page);
    }
    free(agent->stacks);
}

struct defs_stack *defs_stack_enter(struct defs_agent *agent, uint32_t number)
{
    struct defs_stack **page;

    if (number == 0 || number > DEFS_STACKS_MAX) {
        return NULL;
    }
    if (agent->stacks == NULL) {
        agent->stacks = xcalloc(DEFS_STACKS_MAX / DEFS_STACKS_PAGE,
                                sizeof(struct defs_stack *));
    }
    page = &agent->stacks[(number - 1) / DEFS_STACKS_PAGE];
    if (*page == NULL) {
        *page = xcalloc(DEFS_STACKS_PAGE, sizeof(**page));
    }
    if (number > agent->stacks_last) {
        agent->stacks_last = number;
    }
    return &(*page)[(number - 1) % DEFS_STACKS_PAGE];
}

void defs_destroy(struct defs *defs)
{
    if (defs == NULL) {
        return;
    }
    for (size_t i = 0; i < defs->agents_count; i++) {
        free(defs->agents[i].counters);
        free(defs->agents[i].opens);
        free(defs->agents[i].aways);
        stacks_free(&defs->agents[i]);
        free(defs->agents[i].standings);
    }
    for (size_t i = 0; i < defs->processes_count; i++) {
        names_destroy(defs->processes[i].names);
        free(defs->processes[i].devices);
        free(defs->processes[i].queues);
        free(defs->processes[i].libc);
        free(defs->processes[i].comms);
        free(defs->processes[i].modules);
    }
    for (size_t i = 0; i < defs->physicals_count; i++) {
        free(defs->physicals[i].ranks);
    }
    free(defs->agents);
    free(defs->processes);
    free(defs->threads);
    free(defs->physicals);
    free(defs->subs);
    free(defs->ranks);
    free(defs->domains);
    free(defs->notes);
    free(defs->absents);
    free(defs->spools);
    texts_destroy(defs->texts);
    free(defs);
}

uint32_t defs_agent_find(struct defs *defs, const uint8_t id[16])
{
    struct defs_agent *agent;

    for (size_t i = defs->agents_count; i-- > 0;) {
        if (memcmp(defs->agents[i].id, id, 16) == 0) {
            return (uint32_t)i;
        }
    }
    array_grow(&defs->agents, &defs->agents_room, defs->agents_count,
               sizeof(*agent));
    agent = &defs->agents[defs->agents_count];
    memset(agent, 0, sizeof(*agent));
    memcpy(agent->id, id, 16);
    ck_run_agent_hex(id, agent->hex);
    agent->rank = DEFS_RANK_UNKNOWN;
    agent->identity = "";
    agent->host = "";
    agent->job = "";
    agent->command = "";
    agent->exit = "";
    return (uint32_t)defs->agents_count++;
}

uint32_t
defs_process_find(struct defs *defs, uint32_t agent, uint32_t incarnation)
{
    struct defs_process *process;

    for (size_t i = defs->processes_count; i-- > 0;) {
        process = &defs->processes[i];
        if (process->agent == agent && process->incarnation == incarnation) {
            return (uint32_t)i;
        }
    }
    array_grow(&defs->processes, &defs->processes_room, defs->processes_count,
               sizeof(*process));
    process = &defs->processes[defs->processes_count];
    memset(process, 0, sizeof(*process));
    process->agent = agent;
    process->incarnation = incarnation;
    process->rank = DEFS_RANK_UNKNOWN;
    process->command = "";
    stamps_init(&process->steps);
    stamps_init(&process->init);
    stamps_init(&process->finalize);
    stamps_init(&process->whole);
    process->names = names_create();
    return (uint32_t)defs->processes_count++;
}

uint32_t defs_thread_find(struct defs *defs, uint32_t process, uint32_t tid)
{
    struct defs_thread *thread;

    for (size_t i = defs->threads_count; i-- > 0;) {
        if (defs->threads[i].process == process &&
            defs->threads[i].tid == tid) {
            return (uint32_t)i;
        }
    }
    array_grow(&defs->threads, &defs->threads_room, defs->threads_count,
               sizeof(*thread));
    thread = &defs->threads[defs->threads_count];
    thread->process = process;
    thread->tid = tid;
    thread->name = NULL;
    return (uint32_t)defs->threads_count++;
}

struct place
defs_place(const struct defs *defs, uint32_t process, uint64_t address)
{
    return names_get_place(defs->processes[process].names, address);
}

/* The file that an address is in; NULL = not known. */
static const struct defs_module *
module_of(const struct defs *defs, uint32_t process, uint64_t address)
{
    const struct defs_process *owner = &defs->processes[process];

    for (size_t i = owner->modules_count; i-- > 0;) {
        const struct defs_module *module = &owner->modules[i];

        if (module->start < address && address <= module->end) {
            return module;
        }
    }
    return NULL;
}

const char *
defs_file(const struct defs *defs, uint32_t process, uint64_t address)
{
    const struct defs_module *module = module_of(defs, process, address);

    return module == NULL ? NULL : module->path;
}

bool defs_is_own(const struct defs *defs, uint32_t process, uint64_t address)
{
    const struct defs_module *module = module_of(defs, process, address);

    return module != NULL && module->is_own;
}

bool defs_is_team(const struct defs *defs, uint32_t process, uint64_t address)
{
    const struct defs_module *module = module_of(defs, process, address);

    return module != NULL && module->is_team;
}

const struct defs_queue *
defs_queue(const struct defs *defs, uint32_t process, uint32_t id)
{
    const struct defs_process *owner = &defs->processes[process];

    for (size_t i = 0; i < owner->queues_count; i++) {
        if (owner->queues[i].id == id) {
            return &owner->queues[i];
        }
    }
    return NULL;
}

uint32_t defs_rank_search(const struct defs *defs, int32_t number)
{
    size_t low = 0;
    size_t high = defs->ranks_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (defs->ranks[middle].number < number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low < defs->ranks_count && defs->ranks[low].number == number) {
        return (uint32_t)low;
    }
    return DEFS_NONE;
}

/* Another agent is this rank as well: a run and a profile of one rank go
 * together, and the run identifies the rank. */
static void
rank_again(const struct defs *defs, struct defs_rank *rank, uint32_t agent)
{
    bool is_profile = defs->agents[agent].is_profile;

    if (rank->agent == agent) {
        return;
    }
    if (is_profile == defs->agents[rank->agent].is_profile || rank->has_both) {
        rank->is_claimed_twice = true;
        return;
    }
    rank->has_both = true;
    rank->agent = is_profile ? rank->agent : agent;
}

/* Insert keeping order. */
static void rank_add(struct defs *defs, int32_t number, uint32_t agent)
{
    size_t at = 0;

    while (at < defs->ranks_count && defs->ranks[at].number < number) {
        at++;
    }
    if (at < defs->ranks_count && defs->ranks[at].number == number) {
        rank_again(defs, &defs->ranks[at], agent);
        return;
    }
    array_grow(&defs->ranks, &defs->ranks_room, defs->ranks_count,
               sizeof(*defs->ranks));
    memmove(&defs->ranks[at + 1], &defs->ranks[at],
            (defs->ranks_count - at) * sizeof(*defs->ranks));
    defs->ranks[at].number = number;
    defs->ranks[at].agent = agent;
    defs->ranks[at].is_claimed_twice = false;
    defs->ranks[at].has_both = false;
    defs->ranks[at].is_wanted = true;
    defs->ranks_count++;
}

/* Whether some processes of an agent have ranks of their own (torchrun), and
 * whether one of them is the agent's. */
static void numbers_find(const struct defs *defs,
                         uint32_t agent,
                         bool *has_own,
                         bool *has_same)
{
    *has_own = *has_same = false;
    for (size_t i = 0; i < defs->processes_count; i++) {
        const struct defs_process *process = &defs->processes[i];

        if (process->agent == agent && process->has_identity) {
            *has_own = true;
            *has_same =
                *has_same || (process->rank == defs->agents[agent].rank &&
                              process->size == defs->agents[agent].size);
        }
    }
}

/* An agent of many ranks is no rank by itself, nor are those of its processes
 * that have none: the launcher of the ranks, and its helpers. */
static void agent_close(struct defs *defs, uint32_t agent)
{
    int32_t rank = defs->agents[agent].rank;
    bool has_own, has_same;

    numbers_find(defs, agent, &has_own, &has_same);
    for (size_t i = 0; i < defs->processes_count; i++) {
        struct defs_process *process = &defs->processes[i];

        if (process->agent == agent && !process->has_identity) {
            process->rank = has_own && !has_same ? DEFS_RANK_UNKNOWN : rank;
        }
    }
    if (!(has_own || rank < 0)) {
        rank_add(defs, rank, agent);
    }
}

static void ranks_close(struct defs *defs)
{
    for (size_t i = 0; i < defs->processes_count; i++) {
        const struct defs_process *process = &defs->processes[i];

        if (process->has_identity && process->rank >= 0) {
            rank_add(defs, process->rank, process->agent);
        }
    }
    for (uint32_t i = 0; i < defs->agents_count; i++) {
        agent_close(defs, i);
    }
}

static void physical_rank(struct defs_physical *physical, int32_t rank)
{
    size_t at = 0;

    if (rank == DEFS_RANK_UNKNOWN && physical->ranks_count > 0) {
        return;
    }
    if (physical->ranks_count == 1 && physical->ranks[0] == DEFS_RANK_UNKNOWN) {
        physical->ranks[0] = rank;
        return;
    }
    while (at < physical->ranks_count && physical->ranks[at] < rank) {
        at++;
    }
    if (at < physical->ranks_count && physical->ranks[at] == rank) {
        return;
    }
    array_grow(&physical->ranks, &physical->ranks_room, physical->ranks_count,
               sizeof(*physical->ranks));
    memmove(&physical->ranks[at + 1], &physical->ranks[at],
            (physical->ranks_count - at) * sizeof(*physical->ranks));
    physical->ranks[at] = rank;
    physical->ranks_count++;
}

/* Its number in definitions->subs, made for it. */
static void
sub_close(struct defs *defs, uint32_t process, struct defs_device *device)
{
    array_grow(&defs->subs, &defs->subs_room, defs->subs_count,
               sizeof(*defs->subs));
    device->sub = (uint32_t)defs->subs_count;
    defs->subs[defs->subs_count++] = (struct defs_sub){
        device->name, device->physical, process, device->number};
}

/* The whole device that it is a part of, itself if it is none. */
static struct defs_device *device_whole(struct defs_process *process,
                                        struct defs_device *device)
{
    for (size_t i = 0; i < process->devices_count && device->parent != 0; i++) {
        const struct defs_device *part = device;

        for (size_t k = 0; k < process->devices_count && device == part; k++) {
            if (process->devices[k].number == part->parent) {
                device = &process->devices[k];
            }
        }
    }
    return device;
}

/* The device of the machine, made at first sight. */
static struct defs_physical *physical_find(struct defs *defs,
                                           uint32_t process,
                                           const struct defs_device *device)
{
    struct defs_physical *physical;

    for (size_t i = 0; i < defs->physicals_count; i++) {
        physical = &defs->physicals[i];
        if (device->uuid[0] != '\0' ? strcmp(physical->uuid, device->uuid) == 0
                                    : physical->process == process &&
                                          physical->number == device->number) {
            return physical;
        }
    }
    array_grow(&defs->physicals, &defs->physicals_room, defs->physicals_count,
               sizeof(*physical));
    physical = &defs->physicals[defs->physicals_count++];
    memset(physical, 0, sizeof(*physical));
    physical->name = device->name;
    physical->uuid = device->uuid;
    physical->process = process;
    physical->number = device->number;
    return physical;
}

static void
device_close(struct defs *defs, uint32_t process, struct defs_device *device)
{
    struct defs_device *whole = device_whole(&defs->processes[process], device);
    struct defs_physical *physical = physical_find(defs, process, whole);

    device->physical = (uint32_t)(physical - defs->physicals);
    device->sub = DEFS_NONE;
    if (whole != device) {
        sub_close(defs, process, device);
    }
    physical_rank(physical, defs->processes[process].rank);
}

static void domain_close(struct defs *defs, struct defs_agent *agent)
{
    char boot[64] = "";
    char timens[64] = "";
    size_t length = strlen(agent->identity);
    struct defs_domain *domain;
    bool is_unread;

    if (agent->domain != DEFS_NONE) {
        return;
    }
    is_unread =
        ck_lines_get(agent->identity, length, "boot_id", boot, sizeof(boot)) &&
        boot[0] == '\0';
    (void)ck_lines_get(agent->identity, length, "timens", timens,
                       sizeof(timens));
    /* A boot id that could not be read is equal to none. */
    for (size_t i = 0; !is_unread && i < defs->domains_count; i++) {
        domain = &defs->domains[i];
        if (strcmp(domain->boot_id, boot) == 0 &&
            strcmp(domain->timens, timens) == 0) {
            agent->domain = (uint32_t)i;
            return;
        }
    }
    array_grow(&defs->domains, &defs->domains_room, defs->domains_count,
               sizeof(*domain));
    domain = &defs->domains[defs->domains_count];
    domain->boot_id = texts_keep(defs->texts, boot, sizeof(boot));
    domain->timens = texts_keep(defs->texts, timens, sizeof(timens));
    domain->host = agent->host;
    domain->machines = domain->believed = 1;
    domain->checked = 0;
    domain->is_clone = false;
    agent->domain = (uint32_t)defs->domains_count++;
}

uint32_t defs_domain_clone(struct defs *defs, uint32_t domain, uint32_t number)
{
    char timens[96];
    struct defs_domain *clone;

    array_grow(&defs->domains, &defs->domains_room, defs->domains_count,
               sizeof(*clone));
    (void)snprintf(timens, sizeof(timens), "%.64s/clone-%" PRIu32,
                   defs->domains[domain].timens, number);
    clone = &defs->domains[defs->domains_count];
    *clone = defs->domains[domain];
    clone->timens = texts_keep(defs->texts, timens, strlen(timens) + 1);
    return (uint32_t)defs->domains_count++;
}

bool defs_is_device_wanted(const struct defs *defs, uint32_t physical)
{
    const struct defs_physical *device = &defs->physicals[physical];

    for (size_t i = 0; i < device->ranks_count; i++) {
        if (defs_is_wanted(defs, device->ranks[i])) {
            return true;
        }
    }
    return false;
}

void defs_close(struct defs *defs)
{
    ranks_close(defs);
    for (size_t i = 0; i < defs->agents_count; i++) {
        defs->agents[i].domain = DEFS_NONE;
    }
    /* The lowest rank's domain is number 0: all others are placed by it. */
    for (size_t i = 0; i < defs->ranks_count; i++) {
        domain_close(defs, &defs->agents[defs->ranks[i].agent]);
    }
    for (size_t i = 0; i < defs->agents_count; i++) {
        domain_close(defs, &defs->agents[i]);
    }
    for (size_t i = 0; i < defs->processes_count; i++) {
        struct defs_process *process = &defs->processes[i];

        for (size_t d = 0; d < process->devices_count; d++) {
            device_close(defs, (uint32_t)i, &process->devices[d]);
        }
    }
}

int32_t defs_size(const struct defs *defs)
{
    int32_t size = (int32_t)defs->ranks_count;

    for (size_t i = 0; i < defs->agents_count; i++) {
        if (defs->agents[i].size > size) {
            size = defs->agents[i].size;
        }
    }
    return size;
}

/* The text behind a number at its start, which is written to *number; NULL when
 * there is none. */
static const char *note_rest(const char *text, uint64_t *number)
{
    char *end;

    if (text[0] < '0' || text[0] > '9') {
        return NULL;
    }
    errno = 0;
    *number = strtoull(text, &end, 10);
    return errno == 0 && *end == ' ' ? end : NULL;
}

/* A note that counts something and one with the same text: their sum, or NULL
 * when that cannot be. */
static const char *
note_sum(const struct defs *defs, const char *left, const char *right)
{
    uint64_t a, b;
    const char *rest = note_rest(left, &a);
    const char *other = note_rest(right, &b);
    char text[NOTE_MAX];
    int length;

    if (rest == NULL || other == NULL || strcmp(rest, other) != 0) {
        return NULL;
    }
    length = snprintf(text, sizeof(text), "%" PRIu64 "%s", a + b, rest);
    if (a + b < a || (size_t)length >= sizeof(text)) {
        return NULL;
    }
    return texts_keep(defs->texts, text, (size_t)length);
}

void defs_note(struct defs *defs, const char *text, size_t length)
{
    const char *kept = texts_keep(defs->texts, text, length);

    for (size_t i = 0; i < defs->notes_count; i++) {
        struct defs_note *note = &defs->notes[i];
        const char *sum = note_sum(defs, note->text, kept);

        if (sum != NULL || note->text == kept) {
            note->text = sum != NULL ? sum : kept;
            note->count++;
            return;
        }
    }
    if (defs->notes_count == NOTES_MAX) {
        return;
    }
    array_grow(&defs->notes, &defs->notes_room, defs->notes_count,
               sizeof(*defs->notes));
    defs->notes[defs->notes_count].text = kept;
    defs->notes[defs->notes_count].count = 1;
    defs->notes_count++;
}

uint64_t defs_lost(const struct defs_agent *agent)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < DEFS_REASONS; i++) {
        sum = defs_sum(sum, agent->lost[i]);
    }
    return sum;
}

int64_t
defs_exit_number(const struct defs_agent *agent, const char *key, int64_t none)
{
    char value[32] = "";

    if (agent->exit != NULL) {
        (void)ck_lines_get(agent->exit, strlen(agent->exit), key, value,
                           sizeof(value));
    }
    return value[0] == '\0' ? none : strtoll(value, NULL, 10);
}
