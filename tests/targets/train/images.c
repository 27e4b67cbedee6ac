/* images.c - sequential reader of gzip-compressed idx files
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * idx: big-endian magic, count, [rows, columns], then a byte a pixel.
 */
#include "tests/targets/train/images.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <zlib.h>

#include "tests/targets/train/shape.h"

#define MAGIC_IMAGES 2051
#define MAGIC_LABELS 2049

struct images {
    gzFile pixels;
    gzFile labels;
    int count;
    int next; /* number of the image that is read next */
};

static int big_endian(gzFile file)
{
    uint8_t b[4];

    if (gzread(file, b, 4) != 4) {
        return -1;
    }
    return (int)((uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 |
                 (uint32_t)b[2] << 8 | b[3]);
}

static int headers_read(struct images *images)
{
    if (big_endian(images->pixels) != MAGIC_IMAGES) {
        return -1;
    }
    images->count = big_endian(images->pixels);
    if (images->count <= 0 ||
        big_endian(images->pixels) * big_endian(images->pixels) != PIXELS) {
        return -1;
    }
    if (big_endian(images->labels) != MAGIC_LABELS ||
        big_endian(images->labels) != images->count) {
        return -1;
    }
    images->next = 0;
    return 0;
}

struct images *images_create(const char *dir, const char *set)
{
    struct images *images = calloc(1, sizeof(*images));
    char path[2][512];

    if (images == NULL) {
        return NULL;
    }
    (void)snprintf(path[0], sizeof(path[0]), "%s/%s-images-idx3-ubyte.gz", dir,
                   set);
    (void)snprintf(path[1], sizeof(path[1]), "%s/%s-labels-idx1-ubyte.gz", dir,
                   set);
    images->pixels = gzopen(path[0], "rb");
    images->labels = gzopen(path[1], "rb");
    if (images->pixels == NULL || images->labels == NULL) {
        fprintf(stderr,
                "train: cannot open %s: install dataset-fashion-mnist or "
                "name the folder with --data\n",
                path[images->pixels != NULL]);
        goto error;
    }
    if (headers_read(images) != 0) {
        fprintf(stderr, "train: %s: not images of %d pixels\n", path[0],
                PIXELS);
        goto error;
    }
    return images;
error:
    images_destroy(images);
    return NULL;
}

void images_destroy(struct images *images)
{
    if (images == NULL) {
        return;
    }
    if (images->pixels != NULL) {
        (void)gzclose(images->pixels);
    }
    if (images->labels != NULL) {
        (void)gzclose(images->labels);
    }
    free(images);
}

int images_count(const struct images *images)
{
    return images->count;
}

static int
image_read(struct images *images, uint8_t bytes[PIXELS], uint8_t *label)
{
    if (images->next == images->count) {
        if (gzrewind(images->pixels) != 0 || gzrewind(images->labels) != 0 ||
            headers_read(images) != 0) {
            return -1;
        }
    }
    if (gzread(images->pixels, bytes, PIXELS) != PIXELS ||
        gzread(images->labels, label, 1) != 1) {
        return -1;
    }
    images->next++;
    return 0;
}

int images_next(struct images *images, int count, float *pixels, float *labels)
{
    uint8_t bytes[PIXELS];
    uint8_t label;

    for (int i = 0; i < count; i++) {
        if (image_read(images, bytes, &label) != 0) {
            fprintf(stderr, "train: image %d: the file is damaged\n",
                    images->next);
            return -1;
        }
        for (int k = 0; k < PIXELS; k++) {
            pixels[i * PIXELS + k] = (float)bytes[k] / 255.0f;
        }
        labels[i] = (float)label;
    }
    return 0;
}

int images_skip(struct images *images, int count)
{
    uint8_t bytes[PIXELS];
    uint8_t label;

    for (int i = 0; i < count; i++) {
        if (image_read(images, bytes, &label) != 0) {
            fprintf(stderr, "train: image %d: the file is damaged\n",
                    images->next);
            return -1;
        }
    }
    return 0;
}
