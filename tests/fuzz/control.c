/* control.c - any bytes as a control message
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/fuzz/target.h"

#include <stdlib.h>
#include <string.h>

#include "schema/batch/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ck_control control;
    uint8_t *copy = malloc(size + 1);
    uint64_t sum = 0;

    memcpy(copy, data, size);
    if (ck_control_decode(copy, size, &control, NULL) == 0) {
        sum += strlen(control.text);
        for (size_t i = 0; i < control.acks_count; i++) {
            sum += control.acks[i].next;
        }
        if (!ck_control_is(copy, size) ||
            (sum != 0 && control.text[control.text_length] != '\0')) {
            abort();
        }
    }
    free(copy);
    return 0;
}
