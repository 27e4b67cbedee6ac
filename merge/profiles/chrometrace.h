/* chrometrace.h - a Chrome trace as PyTorch's profiler (Kineto) writes it
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * kernel, gpu_memcpy and gpu_memset become device work; cuda_runtime and
 * cuda_driver calls of the host; cpu_op, user_annotation and python_function
 * ranges; ProfilerStep#N steps. B and E events are put together by thread. A
 * profile without device work is read once more with the operators themselves
 * as the work of a device "CPU".
 */
#ifndef CK_MERGE_PROFILES_CHROMETRACE_H
#define CK_MERGE_PROFILES_CHROMETRACE_H

#include <stdbool.h>

#include "merge/json/jsonread.h"
#include "merge/profiles/chromeevent.h"
#include "merge/profiles/gzip.h"
#include "merge/profiles/import.h"

struct chrometrace_way {
    enum chrome_device device;
    struct gzip *gzip; /* that the reader reads, borrowed; NULL = another */
    unsigned threads;  /* that may read it, if it is long and plain */
};

/* Read it all. 0; or -1 with err: nothing of it can be used. What is wrong
 * with parts of it is among the import's complaints. */
int chrometrace_read(struct json *json,
                     const struct chrometrace_way *way,
                     struct import *import,
                     struct import_facts *facts,
                     struct ck_err *err);

#endif
