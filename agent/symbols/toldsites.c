/* toldsites.c - numbers for places that no file of code has
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Both tables are open ones by a 64-bit hash, twice as large as what they may
 * hold.
 */
#include "agent/symbols/toldsites.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "agent/symbols/pages.h"
#include "schema/event.h"
#include "schema/fnv.h"

#define SLOTS (2 * (size_t)TOLDSITES_MAX)
#define NAMED_SLOTS (2 * (size_t)TOLDSITES_NAMED_MAX)

struct site {
    char *text;
    uint32_t length;
    uint32_t line;
};

struct toldsites {
    uint64_t base;     /* of the numbers */
    uint64_t *hashes;  /* by slot, 0 = unused */
    uint32_t *numbers; /* by slot */
    struct site *sites;
    uint32_t count;
    uint64_t *named; /* incarnation and number + 1, 0 = unused */
    uint32_t named_count;
    uint64_t left_out;
};

struct toldsites *toldsites_create(uint64_t base)
{
    struct toldsites *sites = calloc(1, sizeof(*sites));

    if (sites == NULL) {
        return NULL;
    }
    sites->base = base;
    sites->hashes = ck_pages_create(SLOTS, sizeof(*sites->hashes));
    sites->numbers = ck_pages_create(SLOTS, sizeof(*sites->numbers));
    sites->sites = ck_pages_create(TOLDSITES_MAX, sizeof(*sites->sites));
    sites->named = ck_pages_create(NAMED_SLOTS, sizeof(*sites->named));
    if (sites->hashes == NULL || sites->numbers == NULL ||
        sites->sites == NULL || sites->named == NULL) {
        toldsites_destroy(sites);
        return NULL;
    }
    return sites;
}

void toldsites_destroy(struct toldsites *sites)
{
    int saved = errno;

    if (sites == NULL) {
        return;
    }
    for (uint32_t i = 0; i < sites->count; i++) {
        free(sites->sites[i].text);
    }
    ck_pages_destroy(sites->hashes, SLOTS, sizeof(*sites->hashes));
    ck_pages_destroy(sites->numbers, SLOTS, sizeof(*sites->numbers));
    ck_pages_destroy(sites->sites, TOLDSITES_MAX, sizeof(*sites->sites));
    ck_pages_destroy(sites->named, NAMED_SLOTS, sizeof(*sites->named));
    free(sites);
    errno = saved;
}

static bool site_add(struct toldsites *sites, const struct toldplace *place)
{
    struct site site = {.length = (uint32_t)place->length, .line = place->line};

    if (sites->count == TOLDSITES_MAX) {
        return false;
    }
    site.text = malloc(place->length + 1);
    if (site.text == NULL) {
        return false;
    }
    memcpy(site.text, place->text, place->length);
    sites->sites[sites->count++] = site;
    return true;
}

uint64_t toldsites_number(struct toldsites *sites,
                          const struct toldplace *place)
{
    uint64_t hash = ck_fnv(ck_fnv(CK_FNV_START, place->text, place->length),
                           &place->line, sizeof(place->line));
    size_t at;

    hash = hash == 0 ? 1 : hash;
    at = hash % SLOTS;
    while (sites->hashes[at] != 0 && sites->hashes[at] != hash) {
        at = (at + 1) % SLOTS;
    }
    if (sites->hashes[at] == 0) {
        if (!site_add(sites, place)) {
            sites->left_out++;
            return 0;
        }
        sites->hashes[at] = hash;
        sites->numbers[at] = sites->count; /* number + 1 */
    }
    return sites->base + sites->numbers[at];
}

/* Reserve a record. False: there is one, or no room for more. */
static bool record_add(struct toldsites *sites, uint64_t key)
{
    size_t at = key * 0x9e3779b97f4a7c15u % NAMED_SLOTS;

    while (sites->named[at] != 0 && sites->named[at] != key) {
        at = (at + 1) % NAMED_SLOTS;
    }
    if (sites->named[at] == key || sites->named_count == TOLDSITES_NAMED_MAX) {
        return false;
    }
    sites->named[at] = key;
    sites->named_count++;
    return true;
}

void toldsites_name(struct toldsites *sites,
                    struct selfstream *selfstream,
                    uint32_t incarnation,
                    uint64_t site)
{
    const struct site *place;

    if (site <= sites->base || site > sites->base + sites->count ||
        !record_add(sites,
                    (uint64_t)incarnation << 32 | (site - sites->base))) {
        return;
    }
    place = &sites->sites[site - sites->base - 1];
    (void)selfstream_text(
        selfstream,
        (struct ck_text){.e = {.kind = CK_KIND_SYMBOL, .name = incarnation},
                         .object = site,
                         .extra = place->line},
        place->text, place->length);
}

uint64_t toldsites_left_out(const struct toldsites *sites)
{
    return sites->left_out;
}
