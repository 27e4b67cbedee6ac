/* device.h - the accelerator of train: buffers, kernels, one queue
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Two implementations of one interface: device_opencl.c and device_cuda.c.
 * Every kernel takes the same arguments, so a launch is a name and a size.
 * Functions return 0, or -1 after device_error() has the reason.
 */
#ifndef CK_TESTS_TARGETS_TRAIN_DEVICE_H
#define CK_TESTS_TARGETS_TRAIN_DEVICE_H

#include <stddef.h>

enum buffer {
    BUFFER_IMAGES,   /* batch x PIXELS */
    BUFFER_LABELS,   /* batch, as float */
    BUFFER_WEIGHTS,  /* PARAMETERS */
    BUFFER_HIDDEN,   /* batch x HIDDEN, activations */
    BUFFER_OUTPUT,   /* batch x CLASSES, probability - truth */
    BUFFER_ERROR,    /* batch x HIDDEN, back-propagated */
    BUFFER_GRADIENT, /* PARAMETERS */
    BUFFER_VELOCITY, /* PARAMETERS */
    BUFFER_RESULT,   /* batch x 2: loss, 1 when right */
    BUFFER_COUNT,
};

enum kernel {
    KERNEL_FORWARD_HIDDEN,
    KERNEL_FORWARD_OUTPUT,
    KERNEL_GRADIENT_OUTPUT,
    KERNEL_BACKWARD_HIDDEN,
    KERNEL_GRADIENT_HIDDEN,
    KERNEL_UPDATE,
    KERNEL_COUNT,
};

struct device;

/* The index-th device, for batches of up to `batch` images. NULL on failure. */
struct device *device_create(int index, int batch);
void device_destroy(struct device *device);
const char *device_name(const struct device *device);
const char *device_error(void);

/* Copy; is_blocking 0 leaves `host` in use until device_finish(). */
int device_write(struct device *device,
                 enum buffer buffer,
                 const void *host,
                 size_t bytes,
                 int is_blocking);
int device_read(struct device *device,
                enum buffer buffer,
                size_t offset,
                void *host,
                size_t bytes);
/* Run a kernel over `batch` images; rate is the step of KERNEL_UPDATE. */
int device_run(struct device *device,
               enum kernel kernel,
               int batch,
               float rate);
int device_finish(struct device *device);
/* What is launched from now on begins `ms` later; by then *held_us grows by
 * what it really took. */
int device_hold(struct device *device, double ms, double *held_us);

/* Common to both implementations (kernels.c): names, sizes, source text. */
const char *kernel_name(enum kernel kernel);
size_t kernel_items(enum kernel kernel, int batch);
size_t buffer_floats(enum buffer buffer, int batch);
extern const char *const kernel_source;

#endif
