/* kernels.c - forward, backward and update, in C that OpenCL and CUDA take
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The implementation puts KERNEL, GLOBAL and ITEM in front of the text. One
 * work item makes one number, always summed in the same order: a run gives
 * the same bits every time.
 */
#include "tests/targets/train/device.h"
#include "tests/targets/train/shape.h"

#define TEXT(...) #__VA_ARGS__
#define TEXT_OF(...) TEXT(__VA_ARGS__)
#define ARGUMENTS                                                              \
    GLOBAL float *x, GLOBAL float *y, GLOBAL float *w, GLOBAL float *h,        \
        GLOBAL float *o, GLOBAL float *d, GLOBAL float *g, GLOBAL float *v,    \
        GLOBAL float *r, int n, float rate

const char *const kernel_source = "#define PIXELS " TEXT_OF(
    PIXELS) "\n"
            "#define HIDDEN " TEXT_OF(
                HIDDEN) "\n"
                        "#define CLASSES " TEXT_OF(
                            CLASSES) "\n"
                                     "#define W1(k, j) w[(k) * HIDDEN + (j)]\n"
                                     "#define B1(j) w[PIXELS * HIDDEN + (j)]\n"
                                     "#define AT2 (PIXELS * HIDDEN + HIDDEN)\n"
                                     "#define W2(j, c) w[AT2 + (j) * CLASSES + "
                                     "(c)]\n"
                                     "#define B2(c) w[AT2 + HIDDEN * CLASSES + "
                                     "(c)]\n"
                                     /* Activation of hidden unit j for image i.
                                      */
                                     "KERNEL void forward_hidden(" TEXT_OF(
                                         ARGUMENTS) ")\n"
                                                    "{\n"
                                                    "    int at = ITEM, i = at "
                                                    "/ HIDDEN, j = at % "
                                                    "HIDDEN;\n"
                                                    "    float sum;\n"
                                                    "    if (at >= n * HIDDEN) "
                                                    "return;\n"
                                                    "    sum = B1(j);\n"
                                                    "    for (int k = 0; k < "
                                                    "PIXELS; k++) sum += x[i * "
                                                    "PIXELS + k] * W1(k, j);\n"
                                                    "    h[at] = sum > 0.0f ? "
                                                    "sum : 0.0f;\n"
                                                    "}\n"
                                                    /* Softmax of image i, its
                                                       loss, and the error at
                                                       the output. */
                                                    "KERNEL void "
                                                    "forward_output(" TEXT_OF(
                                                        ARGUMENTS) ")\n"
                                                                   "{\n"
                                                                   "    int i "
                                                                   "= ITEM, "
                                                                   "best = 0, "
                                                                   "truth;\n"
                                                                   "    float "
                                                                   "z[CLASSES],"
                                                                   " top, sum "
                                                                   "= 0.0f;\n"
                                                                   "    if (i "
                                                                   ">= n) "
                                                                   "return;\n"
                                                                   "    truth "
                                                                   "= "
                                                                   "(int)y[i];"
                                                                   "\n"
                                                                   "    for "
                                                                   "(int c = "
                                                                   "0; c < "
                                                                   "CLASSES; "
                                                                   "c++) {\n"
                                                                   "        "
                                                                   "z[c] = "
                                                                   "B2(c);\n"
                                                                   "        "
                                                                   "for (int j "
                                                                   "= 0; j < "
                                                                   "HIDDEN; "
                                                                   "j++) z[c] "
                                                                   "+= h[i * "
                                                                   "HIDDEN + "
                                                                   "j] * W2(j, "
                                                                   "c);\n"
                                                                   "        if "
                                                                   "(z[c] > "
                                                                   "z[best]) "
                                                                   "best = c;\n"
                                                                   "    }\n"
                                                                   "    top = "
                                                                   "z[best];\n"
                                                                   "    for "
                                                                   "(int c = "
                                                                   "0; c < "
                                                                   "CLASSES; "
                                                                   "c++) { "
                                                                   "z[c] = "
                                                                   "exp(z[c] - "
                                                                   "top); sum "
                                                                   "+= z[c]; "
                                                                   "}\n"
                                                                   "    for "
                                                                   "(int c = "
                                                                   "0; c < "
                                                                   "CLASSES; "
                                                                   "c++)\n"
                                                                   "        "
                                                                   "o[i * "
                                                                   "CLASSES + "
                                                                   "c] = z[c] "
                                                                   "/ sum - (c "
                                                                   "== truth ? "
                                                                   "1.0f : "
                                                                   "0.0f);\n"
                                                                   "    r[2 * "
                                                                   "i] = "
                                                                   "-log(z["
                                                                   "truth] / "
                                                                   "sum + "
                                                                   "1e-20f);\n"
                                                                   "    r[2 * "
                                                                   "i + 1] = "
                                                                   "best == "
                                                                   "truth ? "
                                                                   "1.0f : "
                                                                   "0.0f;\n"
                                                                   "}\n"
                                                                   /* Gradient
                                                                      of W2 and
                                                                      b2, mean
                                                                      over the
                                                                      batch. */
                                                                   "KERNEL "
                                                                   "void "
                                                                   "gradient_"
                                                                   "output"
                                                                   "(" TEXT_OF(
                                                                       ARGUMENTS) ")\n"
                                                                                  "{\n"
                                                                                  "    int at = ITEM, j = at / CLASSES, c = at % CLASSES;\n"
                                                                                  "    float sum = 0.0f;\n"
                                                                                  "    if (at >= HIDDEN * CLASSES + CLASSES) return;\n"
                                                                                  "    for (int i = 0; i < n; i++)\n"
                                                                                  "        sum += (j < HIDDEN ? h[i * HIDDEN + j] : 1.0f) * o[i * CLASSES + c];\n"
                                                                                  "    g[AT2 + at] = sum / n;\n"
                                                                                  "}\n"
                                                                                  /* Error at hidden unit j for image i. */
                                                                                  "KERNEL void backward_hidden(" TEXT_OF(
                                                                                      ARGUMENTS) ")\n"
                                                                                                 "{\n"
                                                                                                 "    int at = ITEM, i = at / HIDDEN, j = at % HIDDEN;\n"
                                                                                                 "    float sum = 0.0f;\n"
                                                                                                 "    if (at >= n * HIDDEN) return;\n"
                                                                                                 "    for (int c = 0; c < CLASSES; c++) sum += o[i * CLASSES + c] * W2(j, c);\n"
                                                                                                 "    d[at] = h[at] > 0.0f ? sum : 0.0f;\n"
                                                                                                 "}\n"
                                                                                                 /* Gradient of W1 and b1, mean over the batch. */
                                                                                                 "KERNEL void gradient_hidden(" TEXT_OF(
                                                                                                     ARGUMENTS) ")\n"
                                                                                                                "{\n"
                                                                                                                "    int at = ITEM, k = at / HIDDEN, j = at % HIDDEN;\n"
                                                                                                                "    float sum = 0.0f;\n"
                                                                                                                "    if (at >= AT2) return;\n"
                                                                                                                "    for (int i = 0; i < n; i++)\n"
                                                                                                                "        sum += (k < PIXELS ? x[i * PIXELS + k] : 1.0f) * d[i * HIDDEN + j];\n"
                                                                                                                "    g[at] = sum / n;\n"
                                                                                                                "}\n"
                                                                                                                /* Gradient descent with momentum 0.9; rate has 1 / ranks in it. */
                                                                                                                "KERNEL void update(" TEXT_OF(
                                                                                                                    ARGUMENTS) ")\n"
                                                                                                                               "{\n"
                                                                                                                               "    int p = ITEM;\n"
                                                                                                                               "    if (p >= AT2 + HIDDEN * CLASSES + CLASSES) return;\n"
                                                                                                                               "    v[p] = 0.9f * v[p] - rate * g[p];\n"
                                                                                                                               "    w[p] += v[p];\n"
                                                                                                                               "}\n";

const char *kernel_name(enum kernel kernel)
{
    static const char *const names[KERNEL_COUNT] = {
        [KERNEL_FORWARD_HIDDEN] = "forward_hidden",
        [KERNEL_FORWARD_OUTPUT] = "forward_output",
        [KERNEL_GRADIENT_OUTPUT] = "gradient_output",
        [KERNEL_BACKWARD_HIDDEN] = "backward_hidden",
        [KERNEL_GRADIENT_HIDDEN] = "gradient_hidden",
        [KERNEL_UPDATE] = "update",
    };

    return names[kernel];
}

size_t kernel_items(enum kernel kernel, int batch)
{
    switch (kernel) {
    case KERNEL_FORWARD_OUTPUT:
        return (size_t)batch;
    case KERNEL_GRADIENT_OUTPUT:
        return LAYER2;
    case KERNEL_GRADIENT_HIDDEN:
        return LAYER1;
    case KERNEL_UPDATE:
        return PARAMETERS;
    default:
        return (size_t)batch * HIDDEN;
    }
}

size_t buffer_floats(enum buffer buffer, int batch)
{
    switch (buffer) {
    case BUFFER_IMAGES:
        return (size_t)batch * PIXELS;
    case BUFFER_LABELS:
        return (size_t)batch;
    case BUFFER_HIDDEN:
    case BUFFER_ERROR:
        return (size_t)batch * HIDDEN;
    case BUFFER_OUTPUT:
        return (size_t)batch * CLASSES;
    case BUFFER_RESULT:
        return (size_t)batch * 2;
    default:
        return PARAMETERS;
    }
}
