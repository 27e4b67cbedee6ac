/* deflatefast_isal.c - raw deflate at the highest speed, by ISA-L
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>

#include <isa-l/igzip_lib.h>

#include "merge/model/memory.h"

#include "merge/output/page/deflate.h"

struct fast {
    struct isal_zstream stream;
    uint8_t level[ISAL_DEF_LVL1_DEFAULT];
};

int deflate_fast(const void *bytes,
                 size_t length,
                 const struct deflate_pieces *to)
{
    struct fast *fast = xmalloc(sizeof(*fast));
    struct isal_zstream *stream = &fast->stream;

    if (length > UINT32_MAX) {
        free(fast);
        errno = EFBIG;
        return -1;
    }
    isal_deflate_init(stream);
    stream->level = 1;
    stream->level_buf = fast->level;
    stream->level_buf_size = sizeof(fast->level);
    stream->next_in = (uint8_t *)(uintptr_t)bytes; /* it is only read */
    stream->avail_in = (uint32_t)length;
    stream->end_of_stream = 1;
    do {
        stream->next_out = to->room;
        stream->avail_out = (uint32_t)to->length;
        if (isal_deflate(stream) != COMP_OK) {
            free(fast);
            errno = EINVAL;
            return -1;
        }
        to->take(to->context, to->length - stream->avail_out);
    } while (stream->internal_state.state != ZSTATE_END);
    free(fast);
    return 0;
}
