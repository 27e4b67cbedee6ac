/* nvtx_library.c - a library with an NVTX of its own in it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <nvtx3/nvToolsExt.h>

__attribute__((visibility("default"))) void nvtx_library_work(int ranges);

void nvtx_library_work(int ranges)
{
    for (int i = 0; i < ranges; i++) {
        (void)nvtxRangePushA("library");
        (void)nvtxRangePop();
    }
}
