/* manifest.c - any bytes as the manifest of a run
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Read by ckmerge, and by who asks whose run it is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "merge/input/manifest.h"
#include "schema/store/owner.h"
#include "schema/store/run.h"
#include "tests/fuzz/target.h"

static char dir[] = "/tmp/ck-fuzz.XXXXXX";
static char path[sizeof(dir) + sizeof(CK_RUN_MANIFEST) + 1];

static void dir_remove(void)
{
    (void)unlink(path);
    (void)rmdir(dir);
}

static void file_write(const uint8_t *data, size_t size)
{
    FILE *file;

    if (path[0] == '\0') {
        if (mkdtemp(dir) == NULL) {
            abort();
        }
        (void)snprintf(path, sizeof(path), "%s/%s", dir, CK_RUN_MANIFEST);
        (void)atexit(dir_remove);
    }
    file = fopen(path, "wb");
    if (file == NULL || fwrite(data, 1, size, file) != size ||
        fclose(file) != 0) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct manifest manifest = {.is_there = false};
    struct ck_owner owner;

    file_write(data, size);
    manifest_read(&manifest, dir);
    if (!manifest.is_there || manifest.is_read != (manifest.why[0] == '\0') ||
        memchr(manifest.why, '\0', sizeof(manifest.why)) == NULL) {
        abort();
    }
    for (size_t i = 0; i < manifest.agents_count; i++) {
        if (manifest.agents[i].rank < -1) {
            abort();
        }
    }
    manifest_fini(&manifest);
    if (ck_owner_read(dir, &owner) &&
        memchr(owner.job_key, '\0', sizeof(owner.job_key)) == NULL) {
        abort();
    }
    return 0;
}
