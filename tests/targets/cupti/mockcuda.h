/* mockcuda.h - a CUDA driver without a GPU: what it counted
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * libcuda.so.1 with the functions that ckcuda wraps: each checks that
 * its parameters came through (they are 1, 2, 3 ...; else it gives 1, an
 * invalid value), counts the call and gives 0. cuInit() loads
 * CUDA_INJECTION64_PATH, as the driver does.
 */
#ifndef CK_TESTS_TARGETS_CUPTI_MOCKCUDA_H
#define CK_TESTS_TARGETS_CUPTI_MOCKCUDA_H

#include <stdint.h>

#define MOCK_CUDA_EXPORT __attribute__((visibility("default")))

MOCK_CUDA_EXPORT int cuInit(unsigned flags);
MOCK_CUDA_EXPORT int cuGetProcAddress(const char *name,
                                      void **function,
                                      int version,
                                      uint64_t flags);
MOCK_CUDA_EXPORT int cuGetProcAddress_v2(const char *name,
                                         void **function,
                                         int version,
                                         uint64_t flags,
                                         void *status);
/* All calls of the functions in cuda.def that came to the driver. */
MOCK_CUDA_EXPORT unsigned mock_cuda_calls(void);

#endif
