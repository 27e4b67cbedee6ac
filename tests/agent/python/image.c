/* image.c - memory that looks like an interpreter's, in this process
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/agent/python/image.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "agent/python/pythonlayout.h"

/* From 3.13 on: word of the table, and the offset in it. */
struct told {
    uint8_t word;
    uint16_t offset;
};

static const struct told told_13[] = {
    {5, 632},  {8, 24}, {9, 40},  {21, 8},   {22, 16},  {23, 72},  {25, 160},
    {29, 8},   {30, 0}, {31, 56}, {35, 112}, {37, 128}, {38, 136}, {39, 68},
    {43, 200}, {45, 8}, {65, 16}, {66, 32},  {68, 32},  {69, 16},  {70, 40},
};
static const struct told told_14[] = {
    {5, 632},  {8, 24}, {9, 40},  {24, 8},   {25, 16},  {26, 72},  {28, 160},
    {32, 8},   {33, 0}, {34, 56}, {40, 112}, {42, 128}, {43, 136}, {44, 68},
    {48, 200}, {51, 8}, {75, 16}, {76, 32},  {78, 32},  {79, 16},  {80, 40},
};

uint64_t image_at(const void *bytes)
{
    return (uint64_t)(uintptr_t)bytes;
}

void image_put(uint8_t *bytes, uint32_t offset, uint64_t word)
{
    memcpy(bytes + offset, &word, sizeof(word));
}

static void half_put(uint8_t *bytes, uint32_t offset, uint32_t half)
{
    memcpy(bytes + offset, &half, sizeof(half));
}

static void table_put(struct image *image, uint32_t version)
{
    const struct told *told = version == 0x30d ? told_13 : told_14;

    memcpy(image->runtime, "xdebugpy", 8);
    image_put(image->runtime, 8, (uint64_t)version << 16);
    for (size_t i = 0; i < sizeof(told_13) / sizeof(told_13[0]); i++) {
        image_put(image->runtime, told[i].word * 8u, told[i].offset);
    }
}

static void
text_put(const struct pythonprogram *program, uint8_t *object, const char *text)
{
    const struct pythonlayout *at = &program->layout;

    image_put(object, at->type, program->text);
    image_put(object, at->text_length, strlen(text));
    half_put(object, at->text_state, 1u << 2 | 1u << 5 | 1u << 6);
    memcpy(object + at->text_ascii, text, strlen(text));
}

/* An entry for instructions 0 and 1 of the first line, one for 2 and 3 of two
 * lines further. */
static void lines_put(struct image *image, const struct pythonprogram *program)
{
    static const uint8_t table[] = {0x80 | 10 << 3 | 1, 0, 0,
                                    0x80 | 12 << 3 | 1, 0, 0};
    const struct pythonlayout *at = &program->layout;

    image_put(image->lines, at->type, program->bytes);
    image_put(image->lines, at->bytes_length, sizeof(table));
    memcpy(image->lines + at->bytes_data, table, sizeof(table));
}

static void
frame_put(struct image *image, const struct pythonprogram *program, size_t i)
{
    const struct pythonlayout *at = &program->layout;
    uint8_t *frame = image->frames[i], *code = image->codes[i];
    char text[32];

    image_put(frame, at->code, image_at(code));
    image_put(frame, at->previous,
              i + 1 == IMAGE_FRAMES ? 0 : image_at(image->frames[i + 1]));
    image_put(frame, at->instruction, image_at(code) + at->instructions + 4);
    image_put(code, at->type, program->code);
    image_put(code, at->file, image_at(image->files[i]));
    image_put(code, at->function, image_at(image->functions[i]));
    image_put(code, at->lines, image_at(image->lines));
    half_put(code, at->first_line, (uint32_t)(10 * i + 10));
    (void)snprintf(text, sizeof(text), "file%zu.py", i);
    text_put(program, image->files[i], text);
    (void)snprintf(text, sizeof(text), "f%zu", i);
    text_put(program, image->functions[i], text);
}

static void threads_put(struct image *image,
                        const struct pythonprogram *program)
{
    const struct pythonlayout *at = &program->layout;
    uint8_t *first = image->threads[0], *second = image->threads[1];

    image_put(image->runtime, at->interpreters, image_at(image->interpreter));
    image_put(image->interpreter, at->threads, image_at(first));
    image_put(first, at->native_id, IMAGE_TID - 1);
    image_put(first, at->next_thread, image_at(second));
    image_put(second, at->native_id, IMAGE_TID);
    image_put(second, at->frames, image_at(image->frames[0]));
    if (at->current >= 0) {
        image_put(second, at->frames, image_at(image->cframe));
        image_put(image->cframe, (uint32_t)at->current,
                  image_at(image->frames[0]));
    }
}

int image_fill(struct image *image,
               uint32_t version,
               struct pythonprogram *program)
{
    memset(image, 0, sizeof(*image));
    *program = (struct pythonprogram){
        .runtime = image_at(image->runtime),
        .code = image_at(image->types[0]),
        .text = image_at(image->types[1]),
        .bytes = image_at(image->types[2]),
    };
    image->version = (uint64_t)version << 16;
    if (version >= 0x30d) {
        table_put(image, version);
    }
    if (pythonlayout_read(getpid(), program->runtime, image_at(&image->version),
                          &program->layout) != 0) {
        return -1;
    }
    lines_put(image, program);
    threads_put(image, program);
    for (size_t i = 0; i < IMAGE_FRAMES; i++) {
        frame_put(image, program, i);
    }
    return 0;
}
