/* blame.c - all that asks why somebody stood still, in the right order
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/analysis/blame.h"

#include <stdlib.h>

#include "merge/analysis/causes.h"
#include "merge/analysis/ledger.h"
#include "merge/analysis/scene.h"

/* Messages up to that size are taken to be sent without a receive. */
#define EAGER_BYTES 4096

struct blame {
    const struct cast *cast; /* borrowed */
    struct scene *scene;
    struct ledger *ledger;
};

struct blame *blame_create(const struct cast *cast,
                           const struct align *align,
                           struct region region)
{
    struct blame *blame = calloc(1, sizeof(*blame));

    if (blame == NULL) {
        return NULL;
    }
    blame->cast = cast;
    blame->scene = scene_create(cast, align, EAGER_BYTES);
    if (blame->scene != NULL) {
        blame->ledger = ledger_create(cast, blame->scene, region);
    }
    if (blame->ledger == NULL) {
        blame_destroy(blame);
        return NULL;
    }
    return blame;
}

void blame_destroy(struct blame *blame)
{
    if (blame == NULL) {
        return;
    }
    ledger_destroy(blame->ledger);
    scene_destroy(blame->scene);
    free(blame);
}

int blame_take(void *state, const struct timeline_event *event)
{
    struct blame *blame = state;

    if (ledger_settle(blame->ledger, event->start) != 0 ||
        scene_take(blame->scene, event, 0) != 0) {
        return -1;
    }
    return ledger_take(blame->ledger, event);
}

int blame_report(struct blame *blame, struct report *report)
{
    return causes_report(blame->ledger, blame->scene, blame->cast, report);
}
