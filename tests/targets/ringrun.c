/* ringrun.c - run a program under a ring and write its records as JSON lines
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     ringrun OUT [--tsc] [--all] [--slots N] [--slot-kib N] -- program
 * [args...]
 *
 * The smallest possible agent, for tests of one injected library: makes the
 * ring, sets CKAGENT_RING, drains until the program has ended, and exits as
 * the program did (128 + signal). Each record is one line of OUT with all
 * fields of its class by the names of kind.def, and with slot, incarnation
 * and tid of its slot. The last lines have what each slot lost ("slot") and
 * which calls were open ("open-at-end").
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/ring/ringfile.h"
#include "schema/event.h"
#include "schema/json.h"

#define DRAIN_PERIOD_US 1000
/* Free slots at the start; --slots N: all N. */
#define SLOTS_READY 4

/* The struct of each class, and every field's place in it. */
#define CK_CLASS(number, NAME, type, units, text)                              \
    typedef struct type class_##NAME;
#include "schema/kind.def"

struct field {
    enum ck_class cls;
    const char *name;
    size_t offset;
    size_t size;
};

static const struct field fields[] = {
#define CK_FIELD(CLASS, column, member, code)                                  \
    {CK_CLASS_##CLASS, #member, offsetof(class_##CLASS, member),               \
     sizeof(((class_##CLASS *)0)->member)},
#include "schema/kind.def"
};

static void
field_write(struct ck_json *json, const struct field *field, const void *record)
{
    const char *at = (const char *)record + field->offset;
    int32_t narrow;
    int64_t wide;

    if (field->size == sizeof(narrow)) {
        memcpy(&narrow, at, sizeof(narrow));
        ck_json_int(json, field->name, narrow);
    } else {
        memcpy(&wide, at, sizeof(wide));
        ck_json_int(json, field->name, wide);
    }
}

static void text_write(struct ck_json *json, const struct ck_text *text)
{
    char bytes[CK_TEXT_BYTES_MAX + 1];
    size_t length =
        text->length < sizeof(bytes) ? text->length : sizeof(bytes) - 1;

    memcpy(bytes, ck_text_bytes(text), length);
    bytes[length] = '\0';
    ck_json_string(json, "text", bytes);
}

/* Whose records are read from a slot; its THREAD records set it. */
static uint32_t reading[CK_RING_SLOTS_MAX];

/* Head of every line. */
static void slot_write(struct ck_json *json,
                       const char *kind,
                       const struct ck_ring_slot *slot,
                       uint32_t index)
{
    ck_json_object(json, NULL);
    ck_json_string(json, "kind", kind);
    ck_json_uint(json, "slot", index);
    ck_json_uint(json, "slot_tid", reading[index]);
    ck_json_uint(json, "incarnation", slot->incarnation);
}

static void line_end(struct ck_json *json, FILE *out)
{
    ck_json_end(json);
    (void)ck_json_finish(json);
    ck_json_destroy(json);
    (void)fputc('\n', out);
}

static void record_write(FILE *out,
                         const struct ck_ring_slot *slot,
                         uint32_t index,
                         const struct ck_event *event)
{
    enum ck_class cls = ck_kind_class(event->kind);
    struct ck_json *json = ck_json_create(out, false);

    if (event->kind == CK_KIND_THREAD) {
        reading[index] = (uint32_t)((const struct ck_text *)event)->object;
    } else if (reading[index] == 0) {
        reading[index] = atomic_load(&slot->tid);
    }
    slot_write(json, ck_kind_name(event->kind), slot, index);
    ck_json_uint(json, "flags", event->flags);
    ck_json_uint(json, "name", event->name);
    ck_json_int(json, "start", event->start);
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        if (fields[i].cls == cls) {
            field_write(json, &fields[i], event);
        }
    }
    if (cls == CK_CLASS_TEXT || cls == CK_CLASS_MODULE) {
        text_write(json, (const struct ck_text *)event);
    }
    line_end(json, out);
}

/* Returns -1 on a record that cannot be. */
static int slot_drain(FILE *out, struct ringfile *ring, uint32_t index)
{
    struct ck_ring_slot *slot = &ck_ring_heads(ring->header)[index];
    uint64_t mask = ring->header->slot_bytes / CK_UNIT_BYTES - 1;
    uint64_t tail = atomic_load(&slot->tail);
    const uint8_t *body = ringfile_body(ring, index);
    /* Held, so that no thread takes an ended slot meanwhile. */
    uint32_t state = CK_SLOT_ENDED;
    bool is_held =
        atomic_compare_exchange_strong(&slot->state, &state, CK_SLOT_CLAIMED);
    uint64_t head = atomic_load(&slot->head);

    while (tail != head) {
        const struct ck_event *event =
            (const void *)(body + (tail & mask) * CK_UNIT_BYTES);

        if (event->units == 0 || event->units > head - tail) {
            return -1;
        }
        record_write(out, slot, index, event);
        tail += event->units;
    }
    atomic_store(&slot->tail, tail);
    if (is_held) {
        atomic_store(&slot->state, CK_SLOT_FREE);
        atomic_fetch_add(&ring->header->offers, 1);
    }
    return 0;
}

static int ring_drain(FILE *out, struct ringfile *ring)
{
    struct ck_ring_slot *heads = ck_ring_heads(ring->header);

    for (uint32_t i = 0; i < ring->backed; i++) {
        uint32_t state = atomic_load(&heads[i].state);

        if ((state == CK_SLOT_LIVE || state == CK_SLOT_ENDED) &&
            slot_drain(out, ring, i) != 0) {
            return -1;
        }
    }
    (void)ringfile_back(ring, 4, 4);
    (void)ringfile_widen(ring, 4, 4);
    return 0;
}

/* What is left to write of each slot that was ever used. */
static void slots_end(FILE *out, struct ringfile *ring)
{
    struct ck_ring_slot *heads = ck_ring_heads(ring->header);
    struct ck_json *ring_line = ck_json_create(out, false);

    ck_json_object(ring_line, NULL);
    ck_json_string(ring_line, "kind", "ring");
    ck_json_uint(ring_line, "noslot", atomic_load(&ring->header->noslot));
    ck_json_uint(ring_line, "incarnation", 0);
    line_end(ring_line, out);
    for (uint32_t i = 0; i < ring->backed; i++) {
        struct ck_ring_slot *slot = &heads[i];
        uint32_t depth = atomic_load(&slot->depth);
        struct ck_json *json;

        if (atomic_load(&slot->head) == 0) {
            continue;
        }
        json = ck_json_create(out, false);
        slot_write(json, "slot", slot, i);
        ck_json_uint(json, "dropped", atomic_load(&slot->dropped));
        ck_json_uint(json, "reentered", atomic_load(&slot->reentered));
        ck_json_uint(json, "depth", depth);
        line_end(json, out);
        for (uint32_t d = 0; d < depth && d < CK_RING_OPEN_MAX; d++) {
            json = ck_json_create(out, false);
            slot_write(json, "open-at-end", slot, i);
            ck_json_uint(json, "name", slot->open[d].name);
            ck_json_uint(json, "call", atomic_load(&slot->open[d].call));
            ck_json_int(json, "start", slot->open[d].start);
            ck_json_uint(json, "site", slot->open[d].site);
            line_end(json, out);
        }
    }
}

static int watch(FILE *out, struct ringfile *ring, pid_t child)
{
    int status = 0;

    while (waitpid(child, &status, WNOHANG) == 0) {
        if (ring_drain(out, ring) != 0) {
            return 125;
        }
        (void)usleep(DRAIN_PERIOD_US);
    }
    if (ring_drain(out, ring) != 0) {
        return 125;
    }
    slots_end(out, ring);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Calls of libc that are longer are recorded; 0 = the default. */
static uint32_t threshold_ns;

static int run(const char *path,
               struct ringfile_wish *wish,
               uint32_t ready,
               char **command)
{
    struct ringfile ring;
    struct ck_err err;
    FILE *out = fopen(path, "w");
    pid_t child;
    int rc;

    if (out == NULL) {
        (void)fprintf(stderr, "ringrun: cannot write %s: %m\n", path);
        return 125;
    }
    if (getrandom(wish->agent, sizeof(wish->agent), 0) < 0 ||
        ringfile_create(&ring, wish, &err) != 0) {
        (void)fprintf(stderr, "ringrun: %s\n", err.text);
        return 125;
    }
    ring.header->posix_threshold_ns = threshold_ns;
    (void)ringfile_back(&ring, ready, ready);
    (void)ringfile_widen(&ring, ready, ready);
    child = fork();
    if (child == 0) {
        (void)setenv(CK_RING_ENV, ring.path, 1);
        (void)execvp(command[0], command);
        _exit(127);
    }
    rc = child < 0 ? 125 : watch(out, &ring, child);
    ringfile_unlink(&ring);
    ringfile_fini(&ring);
    return fclose(out) == 0 ? rc : 125;
}

int main(int argc, char **argv)
{
    struct ringfile_wish wish = {
        .clock = CK_CLOCK_RAW,
        .rank = ~0u,
        .plan = {.slots = 64,
                 .slot_bytes = CK_RING_SLOT_BYTES,
                 .outbox_bytes = 65536},
    };
    uint32_t ready = SLOTS_READY;
    int at = 2;

    for (; at < argc && strcmp(argv[at], "--") != 0; at++) {
        if (strcmp(argv[at], "--slots") == 0 && at + 1 < argc) {
            wish.plan.slots = (uint32_t)strtoul(argv[++at], NULL, 10);
            ready = wish.plan.slots;
        } else if (strcmp(argv[at], "--tsc") == 0) {
            wish.clock = CK_CLOCK_TSC;
        } else if (strcmp(argv[at], "--all") == 0) {
            threshold_ns = 1;
        } else if (strcmp(argv[at], "--slot-kib") == 0 && at + 1 < argc) {
            wish.plan.slot_bytes = strtoull(argv[++at], NULL, 10) << 10;
        } else {
            break;
        }
    }
    if (at + 1 >= argc || strcmp(argv[at], "--") != 0) {
        (void)fprintf(stderr,
                      "ringrun OUT [--tsc] [--slots N] [--slot-kib N] -- "
                      "program [args...]\n");
        return 125;
    }
    return run(argv[1], &wish, ready, argv + at + 1);
}
