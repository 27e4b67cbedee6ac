/* deflatefast_none.c - raw deflate at the highest speed of zlib
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/page/deflate.h"

int deflate_fast(const void *bytes,
                 size_t length,
                 const struct deflate_pieces *to)
{
    return deflate_bytes(bytes, length, DEFLATE_FASTEST, to);
}
