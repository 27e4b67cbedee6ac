/* scalene.c - any bytes as a profile of scalene: JSON, HTML or gzip
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "merge/profiles/scaleneprofile.h"
#include "tests/fuzz/target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct scaleneprofile profile = {.files = NULL};
    struct ck_err err = {""};
    char path[64];
    int fd = memfd_create("profile", MFD_CLOEXEC);

    if (fd < 0 || write(fd, data, size) != (ssize_t)size) {
        abort();
    }
    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (scaleneprofile_read(&profile, path, path, &err) == 0) {
        size_t lines = 0, samples = 0;

        scaleneprofile_count(&profile);
        for (size_t i = 0; i < profile.files_count; i++) {
            lines += profile.files[i].count;
        }
        for (size_t i = 0; i < profile.lines_count; i++) {
            samples += profile.lines[i].samples;
        }
        if (lines != profile.lines_count || samples != profile.samples_count) {
            abort();
        }
        scaleneprofile_fini(&profile);
    } else if (err.text[0] == '\0') {
        abort();
    }
    (void)close(fd);
    return 0;
}
