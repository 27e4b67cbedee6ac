/* kernelgroup.c - which ranks meet in a collective kernel
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/model/kernelgroup.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "schema/store/run.h"

#define VALUE_MAX 256

const char *kernelgroup_of(const struct defs *defs,
                           uint32_t process,
                           const struct ck_kernel *kernel)
{
    return (kernel->e.flags & CK_FLAG_GROUP) != 0
               ? defs_name(defs, process, kernel->registers)
               : NULL;
}

/* In a list of numbers; *is_cut: some of them are left out ("..."). */
static bool list_has(const char *list, int32_t rank, bool *is_cut)
{
    bool is_there = false;

    *is_cut = *list == '\0';
    while (*list != '\0') {
        if (isdigit((unsigned char)*list)) {
            char *end;

            is_there = strtol(list, &end, 10) == rank || is_there;
            list = end;
        } else {
            *is_cut = *is_cut || *list == '.';
            list++;
        }
    }
    return is_there;
}

/* How many ranks there are, as each knows; 0 = none does. */
static int32_t world_of(const struct defs *defs)
{
    int32_t world = 0;

    for (size_t i = 0; i < defs->agents_count; i++) {
        world = defs->agents[i].size > world ? defs->agents[i].size : world;
    }
    return world;
}

/* As large as the world. */
static bool is_world(const struct defs *defs, const char *group)
{
    char value[VALUE_MAX];
    int32_t world = world_of(defs);

    return world > 0 &&
           ck_lines_get(group, strlen(group), "size", value, sizeof(value)) &&
           strtol(value, NULL, 10) == world;
}

bool kernelgroup_is_communicator(const char *group)
{
    return group != NULL && strncmp(group, "communicator=", 13) == 0;
}

/* A process of the rank has the name. */
static bool has_name(const struct defs *defs, const char *group, int32_t rank)
{
    for (size_t i = 0; i < defs->processes_count; i++) {
        const struct names *names = defs->processes[i].names;

        for (size_t id = 0;
             defs->processes[i].rank == rank && id < names_count(names); id++) {
            if (names_get(names, (uint32_t)id) == group) {
                return true;
            }
        }
    }
    return false;
}

/* All ranks of a communicator are here: as many as its size, or all that there
 * are. */
static bool is_complete(const struct defs *defs, const char *group)
{
    char value[VALUE_MAX] = "";
    int32_t size = 0;

    if (!ck_lines_get(group, strlen(group), "size", value, sizeof(value))) {
        return world_of(defs) == (int32_t)defs->ranks_count;
    }
    for (size_t i = 0; i < defs->ranks_count; i++) {
        size += has_name(defs, group, defs->ranks[i].number);
    }
    return strtol(value, NULL, 10) == size;
}

bool kernelgroup_has(const struct defs *defs, const char *group, int32_t rank)
{
    char list[VALUE_MAX] = "";
    bool is_cut, is_there;

    if (group == NULL) {
        return true;
    }
    if (kernelgroup_is_communicator(group)) {
        return has_name(defs, group, rank);
    }
    (void)ck_lines_get(group, strlen(group), "ranks", list, sizeof(list));
    is_there = list_has(list, rank, &is_cut);
    return is_cut ? is_world(defs, group) : is_there;
}

bool kernelgroup_is_known(const struct defs *defs, const char *group)
{
    if (group == NULL) {
        return defs->ranks_count == 2 && world_of(defs) == 2;
    }
    return !kernelgroup_is_communicator(group) || is_complete(defs, group);
}
