/* placednames.c - names of calls, one for each place that they were called from
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/lanes/placednames.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"

/* In a key of a place: it has a function in place of a file. */
#define OF_FUNCTION ((uint64_t)1 << 32)

struct copy {
    char *name;
    struct place place;
};

struct placednames {
    const struct defs *defs; /* borrowed */
    struct table *sites;     /* process, name, address */
    const char **names;      /* of each of them; borrowed */
    size_t names_room;
    struct table *places; /* name, file or function, line */
    struct copy *copies;  /* of each of them */
    size_t copies_room;
    struct table *addresses; /* of each copy */
};

static uint64_t address_of(const void *at)
{
    return (uint64_t)(uintptr_t)at;
}

struct placednames *placednames_create(const struct defs *defs)
{
    struct placednames *names = xcalloc(1, sizeof(*names));

    names->defs = defs;
    names->sites = table_create();
    names->places = table_create();
    names->addresses = table_create();
    return names;
}

void placednames_destroy(struct placednames *names)
{
    if (names == NULL) {
        return;
    }
    for (size_t i = 0; i < table_count(names->places); i++) {
        free(names->copies[i].name);
    }
    free(names->copies);
    free(names->names);
    table_destroy(names->addresses);
    table_destroy(names->places);
    table_destroy(names->sites);
    free(names);
}

/* The copy for a place, made at first sight. */
static const char *
copy_of(struct placednames *names, const char *name, struct place place)
{
    const char *where = place.file != NULL ? place.file : place.function;
    size_t count = table_count(names->places);
    size_t number = (size_t)table_number_of(
        names->places, address_of(name), address_of(where),
        place.file != NULL ? place.line : OF_FUNCTION);

    if (number == count) {
        array_grow(&names->copies, &names->copies_room, count,
                   sizeof(*names->copies));
        names->copies[number] = (struct copy){xstrdup(name), place};
        (void)table_number_of(names->addresses,
                              address_of(names->copies[number].name), 0, 0);
    }
    return names->copies[number].name;
}

const char *placednames_of(struct placednames *names,
                           uint32_t process,
                           const char *name,
                           uint64_t site)
{
    size_t count = table_count(names->sites);
    size_t number;

    if (name == NULL || site == 0) {
        return name;
    }
    number =
        (size_t)table_number_of(names->sites, process, address_of(name), site);
    if (number == count) {
        struct place place = defs_place(names->defs, process, site);

        array_grow(&names->names, &names->names_room, count,
                   sizeof(*names->names));
        names->names[number] = place.file == NULL && place.function == NULL
                                   ? name
                                   : copy_of(names, name, place);
    }
    return names->names[number];
}

const struct place *placednames_place(const struct placednames *names,
                                      const char *name)
{
    const struct table_key key = {address_of(name), 0, 0};
    int64_t number = table_find(names->addresses, key);

    return number < 0 ? NULL : &names->copies[number].place;
}
