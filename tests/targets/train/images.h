/* images.h - the data loader: reads and decodes batches from idx .gz files
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_TESTS_TARGETS_TRAIN_IMAGES_H
#define CK_TESTS_TARGETS_TRAIN_IMAGES_H

struct images;

/* dir/<set>-images-idx3-ubyte.gz and labels; set = "train" or "t10k". NULL
 * with a message on stderr. */
struct images *images_create(const char *dir, const char *set);
void images_destroy(struct images *images);
int images_count(const struct images *images);

/* The next `count` images and labels of the file as floats (from its start
 * again after the last). 0, or -1 with a message on stderr. */
int images_next(struct images *images, int count, float *pixels, float *labels);
/* Read and decode `count` images and drop them. */
int images_skip(struct images *images, int count);

#endif
