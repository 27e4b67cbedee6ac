/* runindex.c - the index of frames that ckagg would make of a stored run
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/aggregator/runindex.h"

#include <stdio.h>
#include <stdlib.h>

#include "aggregator/store/store.h"
#include "schema/store/frameindex.h"
#include "schema/store/run.h"

/* How many parts were written: 1 or 0. */
static uint32_t
part_write(const char *dir, const char *path, uint64_t most, FILE *file)
{
    struct store *store = NULL;
    struct ck_run_name name;
    uint32_t count = 0;

    if (ck_run_name(path, &name) && name.kind == CK_RUN_SEGMENT &&
        name.number == 0 && (store = store_create(dir, name.agent, NULL))) {
        count = store_index(store, most, file);
    }
    store_destroy(store);
    return count;
}

void *runindex_make(const char *dir, uint64_t most, size_t *bytes)
{
    const struct ck_frameindex_head room = {0};
    struct ck_run_files files;
    uint32_t count = 0;
    char *index = NULL;
    FILE *file;

    if (ck_run_files(dir, &files, NULL) != 0 ||
        !(file = open_memstream(&index, bytes))) {
        return NULL;
    }
    (void)fwrite(&room, sizeof(room), 1, file);
    for (size_t i = 0; i < files.count; i++) {
        count += part_write(dir, files.paths[i], most, file);
    }
    ck_run_files_free(&files);
    if (fclose(file) != 0) {
        free(index);
        return NULL;
    }
    ck_frameindex_seal(index, *bytes, count);
    return index;
}
