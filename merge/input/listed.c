/* listed.c - what an index of frames has of the files of a run
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/input/listed.h"

#include <string.h>
#include <sys/stat.h>

/* A running collector keeps room on the disk in a spool without frames. */
static bool is_empty(const char *path)
{
    struct stat facts;

    return stat(path, &facts) == 0 && facts.st_size == 0;
}

/* Has the agent frames in a spool? What is in it may be in a segment, too.
 * Files are sorted by name: spools are behind all segments. */
static bool has_spool(const struct ck_run_files *files, const uint8_t agent[16])
{
    struct ck_run_name name;
    bool has = false;

    for (size_t i = files->count; i-- > 0 && !has;) {
        if (!ck_run_name(files->paths[i], &name) || name.kind != CK_RUN_SPOOL) {
            break;
        }
        has = memcmp(name.agent, agent, sizeof(name.agent)) == 0 &&
              !is_empty(files->paths[i]);
    }
    return has;
}

const struct ck_frameindex_file *
listed_find(const void *index, const struct ck_run_files *files, uint32_t file)
{
    struct ck_run_name name;

    if (index == NULL || !ck_run_name(files->paths[file], &name) ||
        name.kind != CK_RUN_SEGMENT || name.number != 0 ||
        has_spool(files, name.agent)) {
        return NULL;
    }
    return ck_frameindex_find(index, name.agent);
}

/* All frames where it was not are in the index. */
bool listed_is_joined(const struct ck_frameindex_file *listed,
                      uint32_t *at,
                      uint64_t offset)
{
    const struct ck_frameindex_row *rows;

    if (listed == NULL || offset >= listed->end) {
        return false;
    }
    rows = ck_frameindex_rows(listed);
    while (*at < listed->rows && rows[*at].offset < offset) {
        ++*at;
    }
    return *at == listed->rows || rows[*at].offset != offset ||
           rows[*at].is_joined != 0;
}
