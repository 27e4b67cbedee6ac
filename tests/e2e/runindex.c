/* runindex.c - write the index of frames that ckagg would make of a run
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     runindex RUN FILE [BYTES]
 *
 * BYTES: what a question may read of each agent's end. Of a copy of a run that
 * is not written to.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/aggregator/runindex.h"

int main(int argc, char **argv)
{
    uint64_t most = argc > 3 ? strtoull(argv[3], NULL, 10) : UINT64_MAX;
    size_t bytes = 0;
    void *index = argc < 3 ? NULL : runindex_make(argv[1], most, &bytes);
    FILE *file = index == NULL ? NULL : fopen(argv[2], "we");
    int is_good = file != NULL && fwrite(index, 1, bytes, file) == bytes;

    is_good = file != NULL && fclose(file) == 0 && is_good;
    free(index);
    return is_good ? 0 : 1;
}
