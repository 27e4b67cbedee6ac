/* slotstacks.c - the frames of stacks in a slot
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The records were checked when they were encoded, but from a copy; a stray
 * write may have hit them since. So each head is copied once, and nothing is
 * read beyond what that copy has been checked to be within.
 */
#include "agent/collector/slotstacks.h"

#include <string.h>

#include "agent/symbols/symbols.h"
#include "schema/event.h"

static void stack_note(struct symbols *symbols,
                       uint32_t incarnation,
                       const uint8_t *record,
                       unsigned units)
{
    struct ck_text head;
    uint64_t frame;

    memcpy(&head, record, sizeof(head));
    if (head.length > CK_TEXT_BYTES_MAX ||
        ck_text_units(head.length) != units) {
        return;
    }
    for (size_t i = 0; i < head.length / sizeof(frame); i++) {
        memcpy(&frame, record + sizeof(head) + i * sizeof(frame),
               sizeof(frame));
        if (frame < CK_SITE_TOLD) {
            symbols_frame(symbols, incarnation, frame);
        }
    }
}

void slotstacks_note(struct symbols *symbols,
                     uint32_t incarnation,
                     const uint8_t *records,
                     uint32_t units)
{
    struct ck_event event;

    for (uint32_t at = 0; at < units; at += event.units) {
        const uint8_t *record = records + (size_t)at * CK_UNIT_BYTES;

        memcpy(&event, record, sizeof(event));
        if (event.units == 0 || event.units > units - at) {
            return;
        }
        if (event.kind == CK_KIND_STACK) {
            stack_note(symbols, incarnation, record, event.units);
        }
    }
}
