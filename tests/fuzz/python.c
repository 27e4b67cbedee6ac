/* python.c - frames, texts and line tables of an interpreter with wrong memory
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The input is a version, then pairs of a place in the memory of an artificial
 * interpreter and a word to put there.
 */
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "agent/python/pythonlayout.h"
#include "agent/python/pythonplace.h"
#include "agent/python/pythonwalk.h"
#include "tests/agent/python/image.h"
#include "tests/fuzz/target.h"

struct change {
    uint16_t at;
    uint16_t kind; /* odd: the word is an offset within the image */
    uint32_t low;
};

static struct image image;

static void change_make(const struct change *change)
{
    uint64_t word = change->low;
    size_t at = change->at % (sizeof(image) - sizeof(word));

    if ((change->kind & 1) != 0) {
        word = image_at(&image) + change->low % sizeof(image);
    } else if ((change->kind & 2) != 0) {
        word = ~word;
    }
    memcpy((uint8_t *)&image + at, &word, sizeof(word));
}

static void image_read(const struct pythonprogram *program)
{
    struct pythonframe frames[PYTHONWALK_FRAMES_MAX];
    struct pythonplace place;
    uint64_t state = pythonwalk_thread(getpid(), program, IMAGE_TID, 0);
    size_t count = 0;

    (void)pythonwalk_frames(getpid(), program, state, frames, &count);
    for (size_t i = 0; i < IMAGE_FRAMES; i++) {
        (void)pythonplace_read(getpid(), program, image.codes[i], i, &place);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pythonprogram program;
    struct change change;

    if (size == 0 || image_fill(&image, 0x30b + data[0] % 4, &program) != 0) {
        return 0;
    }
    for (size_t at = 1; at + sizeof(change) <= size && at < 64 * sizeof(change);
         at += sizeof(change)) {
        memcpy(&change, data + at, sizeof(change));
        change_make(&change);
    }
    if (pythonlayout_read(getpid(), program.runtime, image_at(&image.version),
                          &program.layout) == 0) {
        image_read(&program);
    }
    (void)pythonplace_line(data, size, size, data[0]);
    return 0;
}
