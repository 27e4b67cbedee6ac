/* probeband.c - the band of a clock's probes
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/clocks/probeband.h"

#include <errno.h>
#include <stddef.h>

#include "merge/model/memory.h"

bool probeband_add(struct ck_clockband **band,
                   const struct ck_clock_probe *probe)
{
    if (*band == NULL) {
        *band = ck_clockband_create(NULL);
    }
    if (*band != NULL && ck_clockband_add(*band, probe) == 0) {
        return true;
    }
    if (errno != EINVAL) {
        memory_out(sizeof(*probe));
    }
    return false;
}

bool probeband_solve(struct ck_clockband *band)
{
    if (ck_clockband_solve(band) == 0) {
        return true;
    }
    if (errno != ENODATA) {
        memory_out(0);
    }
    return false;
}
