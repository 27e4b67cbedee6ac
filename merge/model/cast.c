/* cast.c - who takes part in a run: agents, ranks, processes, threads, devices
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/model/cast.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "schema/store/run.h"

#define NOTES_MAX 1024
/* Longest note that is added up with others. */
#define NOTE_MAX 512

struct cast *cast_create(void)
{
    struct cast *cast = calloc(1, sizeof(*cast));

    if (cast == NULL) {
        return NULL;
    }
    cast->texts = texts_create();
    if (cast->texts == NULL) {
        free(cast);
        return NULL;
    }
    return cast;
}

void cast_destroy(struct cast *cast)
{
    if (cast == NULL) {
        return;
    }
    for (size_t i = 0; i < cast->agents_count; i++) {
        free(cast->agents[i].counters);
        free(cast->agents[i].opens);
        free(cast->agents[i].aways);
        for (size_t j = 0; j < cast->agents[i].stacks_count; j++) {
            free(cast->agents[i].stacks[j].frames);
        }
        free(cast->agents[i].stacks);
    }
    for (size_t i = 0; i < cast->processes_count; i++) {
        names_destroy(cast->processes[i].names);
        free(cast->processes[i].devices);
        free(cast->processes[i].queues);
        free(cast->processes[i].libc);
        free(cast->processes[i].comms);
        free(cast->processes[i].modules);
    }
    for (size_t i = 0; i < cast->physicals_count; i++) {
        free(cast->physicals[i].ranks);
    }
    free(cast->agents);
    free(cast->processes);
    free(cast->threads);
    free(cast->physicals);
    free(cast->subs);
    free(cast->ranks);
    free(cast->domains);
    free(cast->notes);
    free(cast->absents);
    free(cast->spools);
    texts_destroy(cast->texts);
    free(cast);
}

uint32_t cast_agent_find(struct cast *cast, const uint8_t id[16])
{
    struct cast_agent *agent;

    for (size_t i = cast->agents_count; i-- > 0;) {
        if (memcmp(cast->agents[i].id, id, 16) == 0) {
            return (uint32_t)i;
        }
    }
    if (array_grow(&cast->agents, &cast->agents_room, cast->agents_count,
                   sizeof(*agent)) != 0) {
        return CAST_NONE;
    }
    agent = &cast->agents[cast->agents_count];
    memset(agent, 0, sizeof(*agent));
    memcpy(agent->id, id, 16);
    ck_run_agent_hex(id, agent->hex);
    agent->rank = CAST_RANK_UNKNOWN;
    agent->identity = "";
    agent->host = "";
    agent->job = "";
    agent->command = "";
    agent->exit = "";
    return (uint32_t)cast->agents_count++;
}

uint32_t
cast_process_find(struct cast *cast, uint32_t agent, uint32_t incarnation)
{
    struct cast_process *process;

    for (size_t i = cast->processes_count; i-- > 0;) {
        process = &cast->processes[i];
        if (process->agent == agent && process->incarnation == incarnation) {
            return (uint32_t)i;
        }
    }
    if (array_grow(&cast->processes, &cast->processes_room,
                   cast->processes_count, sizeof(*process)) != 0) {
        return CAST_NONE;
    }
    process = &cast->processes[cast->processes_count];
    memset(process, 0, sizeof(*process));
    process->agent = agent;
    process->incarnation = incarnation;
    process->rank = CAST_RANK_UNKNOWN;
    process->command = "";
    stamps_init(&process->steps);
    stamps_init(&process->init);
    stamps_init(&process->finalize);
    stamps_init(&process->whole);
    process->names = names_create();
    if (process->names == NULL) {
        return CAST_NONE;
    }
    return (uint32_t)cast->processes_count++;
}

uint32_t cast_thread_find(struct cast *cast, uint32_t process, uint32_t tid)
{
    struct cast_thread *thread;

    for (size_t i = cast->threads_count; i-- > 0;) {
        if (cast->threads[i].process == process &&
            cast->threads[i].tid == tid) {
            return (uint32_t)i;
        }
    }
    if (array_grow(&cast->threads, &cast->threads_room, cast->threads_count,
                   sizeof(*thread)) != 0) {
        return CAST_NONE;
    }
    thread = &cast->threads[cast->threads_count];
    thread->process = process;
    thread->tid = tid;
    thread->name = NULL;
    return (uint32_t)cast->threads_count++;
}

struct place
cast_place(const struct cast *cast, uint32_t process, uint64_t address)
{
    return names_get_place(cast->processes[process].names, address);
}

bool cast_is_own(const struct cast *cast, uint32_t process, uint64_t address)
{
    const struct cast_process *owner = &cast->processes[process];

    for (size_t i = owner->modules_count; i-- > 0;) {
        const struct cast_module *module = &owner->modules[i];

        if (module->is_own && module->start < address &&
            address <= module->end) {
            return true;
        }
    }
    return false;
}

const struct cast_queue *
cast_queue(const struct cast *cast, uint32_t process, uint32_t id)
{
    const struct cast_process *owner = &cast->processes[process];

    for (size_t i = 0; i < owner->queues_count; i++) {
        if (owner->queues[i].id == id) {
            return &owner->queues[i];
        }
    }
    return NULL;
}

uint32_t cast_rank_search(const struct cast *cast, int32_t number)
{
    size_t low = 0;
    size_t high = cast->ranks_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (cast->ranks[middle].number < number) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low < cast->ranks_count && cast->ranks[low].number == number) {
        return (uint32_t)low;
    }
    return CAST_NONE;
}

/* Another agent is this rank as well: a run and a profile of one rank go
 * together, and the run says who the rank is. */
static void
rank_again(const struct cast *cast, struct cast_rank *rank, uint32_t agent)
{
    bool is_profile = cast->agents[agent].is_profile;

    if (rank->agent == agent) {
        return;
    }
    if (is_profile == cast->agents[rank->agent].is_profile || rank->has_both) {
        rank->is_claimed_twice = true;
        return;
    }
    rank->has_both = true;
    rank->agent = is_profile ? rank->agent : agent;
}

/* Insert keeping order. */
static int rank_add(struct cast *cast, int32_t number, uint32_t agent)
{
    size_t at = 0;

    while (at < cast->ranks_count && cast->ranks[at].number < number) {
        at++;
    }
    if (at < cast->ranks_count && cast->ranks[at].number == number) {
        rank_again(cast, &cast->ranks[at], agent);
        return 0;
    }
    if (array_grow(&cast->ranks, &cast->ranks_room, cast->ranks_count,
                   sizeof(*cast->ranks)) != 0) {
        return -1;
    }
    memmove(&cast->ranks[at + 1], &cast->ranks[at],
            (cast->ranks_count - at) * sizeof(*cast->ranks));
    cast->ranks[at].number = number;
    cast->ranks[at].agent = agent;
    cast->ranks[at].is_claimed_twice = false;
    cast->ranks[at].has_both = false;
    cast->ranks[at].is_wanted = true;
    cast->ranks_count++;
    return 0;
}

/* Whether some processes of an agent have ranks of their own (torchrun), and
 * whether one of them is the agent's. */
static void numbers_find(const struct cast *cast,
                         uint32_t agent,
                         bool *has_own,
                         bool *has_same)
{
    *has_own = *has_same = false;
    for (size_t i = 0; i < cast->processes_count; i++) {
        const struct cast_process *process = &cast->processes[i];

        if (process->agent == agent && process->has_identity) {
            *has_own = true;
            *has_same =
                *has_same || (process->rank == cast->agents[agent].rank &&
                              process->size == cast->agents[agent].size);
        }
    }
}

/* An agent of many ranks is no rank by itself, nor are those of its processes
 * that have none: the launcher of the ranks, and its helpers. */
static int agent_close(struct cast *cast, uint32_t agent)
{
    int32_t rank = cast->agents[agent].rank;
    bool has_own, has_same;

    numbers_find(cast, agent, &has_own, &has_same);
    for (size_t i = 0; i < cast->processes_count; i++) {
        struct cast_process *process = &cast->processes[i];

        if (process->agent == agent && !process->has_identity) {
            process->rank = has_own && !has_same ? CAST_RANK_UNKNOWN : rank;
        }
    }
    return has_own || rank < 0 ? 0 : rank_add(cast, rank, agent);
}

static int ranks_close(struct cast *cast)
{
    for (size_t i = 0; i < cast->processes_count; i++) {
        const struct cast_process *process = &cast->processes[i];

        if (process->has_identity && process->rank >= 0 &&
            rank_add(cast, process->rank, process->agent) != 0) {
            return -1;
        }
    }
    for (uint32_t i = 0; i < cast->agents_count; i++) {
        if (agent_close(cast, i) != 0) {
            return -1;
        }
    }
    return 0;
}

static int physical_rank(struct cast_physical *physical, int32_t rank)
{
    size_t at = 0;

    if (rank == CAST_RANK_UNKNOWN && physical->ranks_count > 0) {
        return 0;
    }
    if (physical->ranks_count == 1 && physical->ranks[0] == CAST_RANK_UNKNOWN) {
        physical->ranks[0] = rank;
        return 0;
    }
    while (at < physical->ranks_count && physical->ranks[at] < rank) {
        at++;
    }
    if (at < physical->ranks_count && physical->ranks[at] == rank) {
        return 0;
    }
    if (array_grow(&physical->ranks, &physical->ranks_room,
                   physical->ranks_count, sizeof(*physical->ranks)) != 0) {
        return -1;
    }
    memmove(&physical->ranks[at + 1], &physical->ranks[at],
            (physical->ranks_count - at) * sizeof(*physical->ranks));
    physical->ranks[at] = rank;
    physical->ranks_count++;
    return 0;
}

/* Its number in cast->subs, made for it. 0 or -1. */
static int
sub_close(struct cast *cast, uint32_t process, struct cast_device *device)
{
    if (array_grow(&cast->subs, &cast->subs_room, cast->subs_count,
                   sizeof(*cast->subs)) != 0) {
        return -1;
    }
    device->sub = (uint32_t)cast->subs_count;
    cast->subs[cast->subs_count++] = (struct cast_sub){
        device->name, device->physical, process, device->number};
    return 0;
}

/* The whole device that it is a part of, itself if it is none. */
static struct cast_device *device_whole(struct cast_process *process,
                                        struct cast_device *device)
{
    for (size_t i = 0; i < process->devices_count && device->parent != 0; i++) {
        const struct cast_device *part = device;

        for (size_t k = 0; k < process->devices_count && device == part; k++) {
            if (process->devices[k].number == part->parent) {
                device = &process->devices[k];
            }
        }
    }
    return device;
}

/* The device of the machine, made at first sight. NULL with ENOMEM. */
static struct cast_physical *physical_find(struct cast *cast,
                                           uint32_t process,
                                           const struct cast_device *device)
{
    struct cast_physical *physical;

    for (size_t i = 0; i < cast->physicals_count; i++) {
        physical = &cast->physicals[i];
        if (device->uuid[0] != '\0' ? strcmp(physical->uuid, device->uuid) == 0
                                    : physical->process == process &&
                                          physical->number == device->number) {
            return physical;
        }
    }
    if (array_grow(&cast->physicals, &cast->physicals_room,
                   cast->physicals_count, sizeof(*physical)) != 0) {
        return NULL;
    }
    physical = &cast->physicals[cast->physicals_count++];
    memset(physical, 0, sizeof(*physical));
    physical->name = device->name;
    physical->uuid = device->uuid;
    physical->process = process;
    physical->number = device->number;
    return physical;
}

static int
device_close(struct cast *cast, uint32_t process, struct cast_device *device)
{
    struct cast_device *whole = device_whole(&cast->processes[process], device);
    struct cast_physical *physical = physical_find(cast, process, whole);

    if (physical == NULL) {
        return -1;
    }
    device->physical = (uint32_t)(physical - cast->physicals);
    device->sub = CAST_NONE;
    if (whole != device && sub_close(cast, process, device) != 0) {
        return -1;
    }
    return physical_rank(physical, cast->processes[process].rank);
}

static int domain_close(struct cast *cast, struct cast_agent *agent)
{
    char boot[64] = "";
    char timens[64] = "";
    size_t length = strlen(agent->identity);
    struct cast_domain *domain;
    bool is_unread;

    if (agent->domain != CAST_NONE) {
        return 0;
    }
    is_unread =
        ck_lines_get(agent->identity, length, "boot_id", boot, sizeof(boot)) &&
        boot[0] == '\0';
    (void)ck_lines_get(agent->identity, length, "timens", timens,
                       sizeof(timens));
    /* A boot id that could not be read is equal to none. */
    for (size_t i = 0; !is_unread && i < cast->domains_count; i++) {
        domain = &cast->domains[i];
        if (strcmp(domain->boot_id, boot) == 0 &&
            strcmp(domain->timens, timens) == 0) {
            agent->domain = (uint32_t)i;
            return 0;
        }
    }
    if (array_grow(&cast->domains, &cast->domains_room, cast->domains_count,
                   sizeof(*domain)) != 0) {
        return -1;
    }
    domain = &cast->domains[cast->domains_count];
    domain->boot_id = texts_keep(cast->texts, boot, sizeof(boot));
    domain->timens = texts_keep(cast->texts, timens, sizeof(timens));
    domain->host = agent->host;
    domain->machines = domain->believed = 1;
    domain->checked = 0;
    domain->is_clone = false;
    if (domain->boot_id == NULL || domain->timens == NULL) {
        return -1;
    }
    agent->domain = (uint32_t)cast->domains_count++;
    return 0;
}

uint32_t cast_domain_clone(struct cast *cast, uint32_t domain, uint32_t number)
{
    char timens[96];
    struct cast_domain *clone;

    if (array_grow(&cast->domains, &cast->domains_room, cast->domains_count,
                   sizeof(*clone)) != 0) {
        return CAST_NONE;
    }
    (void)snprintf(timens, sizeof(timens), "%.64s/clone-%" PRIu32,
                   cast->domains[domain].timens, number);
    clone = &cast->domains[cast->domains_count];
    *clone = cast->domains[domain];
    clone->timens = texts_keep(cast->texts, timens, strlen(timens) + 1);
    return clone->timens == NULL ? CAST_NONE : (uint32_t)cast->domains_count++;
}

bool cast_is_device_wanted(const struct cast *cast, uint32_t physical)
{
    const struct cast_physical *device = &cast->physicals[physical];

    for (size_t i = 0; i < device->ranks_count; i++) {
        if (cast_is_wanted(cast, device->ranks[i])) {
            return true;
        }
    }
    return false;
}

int cast_close(struct cast *cast)
{
    if (ranks_close(cast) != 0) {
        return -1;
    }
    for (size_t i = 0; i < cast->agents_count; i++) {
        cast->agents[i].domain = CAST_NONE;
    }
    /* The lowest rank's domain is number 0: all others are placed by it. */
    for (size_t i = 0; i < cast->ranks_count; i++) {
        if (domain_close(cast, &cast->agents[cast->ranks[i].agent]) != 0) {
            return -1;
        }
    }
    for (size_t i = 0; i < cast->agents_count; i++) {
        if (domain_close(cast, &cast->agents[i]) != 0) {
            return -1;
        }
    }
    for (size_t i = 0; i < cast->processes_count; i++) {
        struct cast_process *process = &cast->processes[i];

        for (size_t d = 0; d < process->devices_count; d++) {
            if (device_close(cast, (uint32_t)i, &process->devices[d]) != 0) {
                return -1;
            }
        }
    }
    return 0;
}

int32_t cast_size(const struct cast *cast)
{
    int32_t size = (int32_t)cast->ranks_count;

    for (size_t i = 0; i < cast->agents_count; i++) {
        if (cast->agents[i].size > size) {
            size = cast->agents[i].size;
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

/* A note that counts something and one that says the same: their sum, or NULL
 * when that cannot be. 0, or -1 with ENOMEM. */
static int note_sum(struct cast *cast,
                    const char *left,
                    const char *right,
                    const char **sum)
{
    uint64_t a, b;
    const char *rest = note_rest(left, &a);
    const char *other = note_rest(right, &b);
    char text[NOTE_MAX];
    int length;

    *sum = NULL;
    if (rest == NULL || other == NULL || strcmp(rest, other) != 0) {
        return 0;
    }
    length = snprintf(text, sizeof(text), "%" PRIu64 "%s", a + b, rest);
    if (a + b < a || (size_t)length >= sizeof(text)) {
        return 0;
    }
    *sum = texts_keep(cast->texts, text, (size_t)length);
    return *sum == NULL ? -1 : 0;
}

int cast_note(struct cast *cast, const char *text, size_t length)
{
    const char *kept = texts_keep(cast->texts, text, length);

    if (kept == NULL) {
        return -1;
    }
    for (size_t i = 0; i < cast->notes_count; i++) {
        struct cast_note *note = &cast->notes[i];
        const char *sum;

        if (note_sum(cast, note->text, kept, &sum) != 0) {
            return -1;
        }
        if (sum != NULL || note->text == kept) {
            note->text = sum != NULL ? sum : kept;
            note->count++;
            return 0;
        }
    }
    if (cast->notes_count == NOTES_MAX) {
        return 0;
    }
    if (array_grow(&cast->notes, &cast->notes_room, cast->notes_count,
                   sizeof(*cast->notes)) != 0) {
        return -1;
    }
    cast->notes[cast->notes_count].text = kept;
    cast->notes[cast->notes_count].count = 1;
    cast->notes_count++;
    return 0;
}

uint64_t cast_lost(const struct cast_agent *agent)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < CAST_REASONS; i++) {
        sum = cast_sum(sum, agent->lost[i]);
    }
    return sum;
}

int64_t
cast_exit_number(const struct cast_agent *agent, const char *key, int64_t none)
{
    char value[32] = "";

    if (agent->exit != NULL) {
        (void)ck_lines_get(agent->exit, strlen(agent->exit), key, value,
                           sizeof(value));
    }
    return value[0] == '\0' ? none : strtoll(value, NULL, 10);
}
