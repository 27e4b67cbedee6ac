/* jit.c - files of a process that name its code as they like
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The first byte is the kind of the file, the second where it is cut.
 */
#include <stdlib.h>

#include "agent/unwind/jitmap.h"
#include "tests/fuzz/target.h"

static void must(bool is_true)
{
    if (!is_true) {
        abort();
    }
}

/* How many bytes were taken, -1: it is no dump. */
static ssize_t
take(struct jitmap *map, bool is_dump, const uint8_t *bytes, size_t size)
{
    return is_dump ? jitmap_dump(map, bytes, size)
                   : (ssize_t)jitmap_text(map, (const char *)bytes, size);
}

static void places_find(struct jitmap *map)
{
    for (uint64_t address = 0; address < 1 << 20; address += 251) {
        struct jitplace place;

        if (jitmap_find(map, address, &place)) {
            must(place.function != NULL &&
                 (place.file == NULL) == (place.line == 0));
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct jitmap *map = jitmap_create();
    bool is_dump = size > 0 && data[0] % 2 != 0;
    size_t cut;
    ssize_t taken;

    must(map != NULL);
    if (size > 2) {
        cut = data[1] * (size - 2) / 255;
        taken = take(map, is_dump, data + 2, cut);
        must(taken <= (ssize_t)cut);
        places_find(map);
        if (taken >= 0) {
            cut = size - 2 - (size_t)taken;
            must(take(map, is_dump, data + 2 + taken, cut) <= (ssize_t)cut);
            places_find(map);
        }
    }
    jitmap_destroy(map);
    return 0;
}
