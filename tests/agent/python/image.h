/* image.h - memory that looks like an interpreter's, in this process
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_TESTS_AGENT_PYTHON_IMAGE_H
#define CK_TESTS_AGENT_PYTHON_IMAGE_H

#include <stdint.h>

#include "agent/python/pythonfind.h"

#define IMAGE_TID 4711
#define IMAGE_FRAMES 3
#define IMAGE_OBJECT 256 /* bytes of each structure */

/* The innermost frame is frames[0]; each runs a code object of its own. */
struct image {
    _Alignas(16) uint8_t runtime[1024];
    uint8_t interpreter[IMAGE_OBJECT];
    uint8_t threads[2][IMAGE_OBJECT]; /* the second one is IMAGE_TID's */
    uint8_t cframe[IMAGE_OBJECT];
    uint8_t frames[IMAGE_FRAMES][IMAGE_OBJECT];
    uint8_t codes[IMAGE_FRAMES][2 * IMAGE_OBJECT];
    uint8_t files[IMAGE_FRAMES][IMAGE_OBJECT];
    uint8_t functions[IMAGE_FRAMES][IMAGE_OBJECT];
    uint8_t lines[IMAGE_OBJECT];
    uint64_t version;
    uint8_t types[3][16];
};

uint64_t image_at(const void *bytes);
void image_put(uint8_t *bytes, uint32_t offset, uint64_t word);

/* Fill it as an interpreter of that version (major << 8 | minor): functions
 * f0, f1, f2 of file0.py, file1.py, file2.py, at lines 12, 22, 32. 0, or -1:
 * its layout is not known. */
int image_fill(struct image *image,
               uint32_t version,
               struct pythonprogram *program);

#endif
