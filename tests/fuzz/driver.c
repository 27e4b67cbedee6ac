/* driver.c - a fuzz target without libFuzzer: files, and copies of them with a
 * few bytes changed
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * driver FILE...; CK_SEED repeats the changes, CK_ROUNDS is how many.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/target.h"
#include "tests/schema/records.h"

#define FILE_BYTES_MAX ((size_t)1 << 20)

static void change(struct records_random *random, uint8_t *data, size_t *size)
{
    for (uint64_t n = 1 + records_below(random, 6); n > 0 && *size > 0; n--) {
        size_t at = records_below(random, *size);

        switch (records_below(random, 4)) {
        case 0:
            data[at] ^= (uint8_t)(1u << records_below(random, 8));
            break;
        case 1:
            data[at] = (uint8_t)records_next(random);
            break;
        case 2:
            data[at] = 0xff;
            break;
        default:
            *size = n == 1 ? at : *size;
        }
    }
}

static int
run_file(const char *path, struct records_random *random, unsigned rounds)
{
    static uint8_t data[FILE_BYTES_MAX], copy[FILE_BYTES_MAX];
    FILE *file = fopen(path, "rb");
    size_t size;

    if (file == NULL) {
        (void)fprintf(stderr, "driver: cannot open %s\n", path);
        return -1;
    }
    size = fread(data, 1, sizeof(data), file);
    (void)fclose(file);
    (void)LLVMFuzzerTestOneInput(data, size);
    for (unsigned i = 0; i < rounds; i++) {
        size_t length = size;

        memcpy(copy, data, size);
        change(random, copy, &length);
        (void)LLVMFuzzerTestOneInput(copy, length);
    }
    return 0;
}

int main(int argc, char **argv)
{
    const char *text = getenv("CK_ROUNDS");
    unsigned rounds = text == NULL ? 2000 : (unsigned)strtoul(text, NULL, 10);
    struct records_random random = records_random_init();
    int rc = argc < 2 ? 1 : 0;

    for (int i = 1; i < argc; i++) {
        rc |= run_file(argv[i], &random, rounds) != 0;
    }
    (void)printf("%d files, %u changed copies of each\n", argc - 1, rounds);
    return rc;
}
