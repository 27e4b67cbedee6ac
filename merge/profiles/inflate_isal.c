/* inflate_isal.c - one step of a gzip decompressor, by ISA-L
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/profiles/inflate.h"

#include <stdlib.h>

#include <isa-l/igzip_lib.h>

#include "merge/model/memory.h"

struct inflater {
    struct inflate_state state;
};

struct inflater *inflater_create(void)
{
    struct inflater *inflater = xmalloc(sizeof(*inflater));

    inflater_reset(inflater);
    return inflater;
}

void inflater_destroy(struct inflater *inflater)
{
    free(inflater);
}

void inflater_reset(struct inflater *inflater)
{
    isal_inflate_init(&inflater->state);
    inflater->state.crc_flag = ISAL_GZIP;
}

int inflater_step(struct inflater *inflater, struct inflate_io *io)
{
    struct inflate_state *state = &inflater->state;
    int rc;

    state->next_in = (uint8_t *)(uintptr_t)io->in; /* read only */
    state->avail_in = (uint32_t)io->in_bytes;
    state->next_out = io->out;
    state->avail_out = (uint32_t)io->out_bytes;
    rc = isal_inflate(state);
    io->in = state->next_in;
    io->in_bytes = state->avail_in;
    io->out = state->next_out;
    io->out_bytes = state->avail_out;
    if (rc != ISAL_DECOMP_OK) {
        return -1;
    }
    return state->block_state == ISAL_BLOCK_FINISH;
}
