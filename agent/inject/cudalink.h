/* cudalink.h - what ckcuda and ckcupti report to each other in one process
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * ckcuda is preloaded and wraps CUDA's driver and CUPTI; the driver
 * loads ckcupti, which asks for CUDA_LINK by dlsym(). Without the other each
 * works alone.
 */
#ifndef CK_AGENT_INJECT_CUDALINK_H
#define CK_AGENT_INJECT_CUDALINK_H

#include <stdint.h>

#define CUDA_LINK "ck_cuda_link"

/* Who records the calls of this process. */
enum cuda_recorder {
    CUDA_UNDECIDED = 0, /* ckcupti was not loaded (yet) */
    CUDA_BY_CUPTI = 1,
    CUDA_BY_DRIVER = 2, /* ckcuda: CUPTI is not to be had */
    CUDA_BY_NOBODY = 3, /* as the user wishes */
};

/* What another client of CUPTI did. */
enum cuda_rival {
    CUDA_RIVAL_COMES = 0, /* it is about to register its buffers */
    CUDA_RIVAL_CAME = 1,  /* it has them */
    CUDA_RIVAL_ENDS = 2,  /* it has no kernels recorded any more */
    CUDA_RIVAL_LEFT = 3,  /* and has got what there was */
};
typedef void cuda_rival_f(enum cuda_rival what);

struct cuda_link {
    /* As dlsym() without ckcuda. */
    void *(*symbol)(void *library, const char *name);
    void (*decide)(enum cuda_recorder recorder);
    /* Called on the other client's thread. */
    void (*watch)(cuda_rival_f *told);
    /* Kernel launches that were seen while CUDA_BY_DRIVER. */
    uint64_t (*launches)(void);
};
typedef const struct cuda_link *cuda_link_f(void);

#endif
