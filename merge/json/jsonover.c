/* jsonover.c - over a container of JSON that is not asked for, by its marks
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/json/jsonover.h"

#include <string.h>

#include "merge/json/jsonscan.h"

#define DEPTH_MAX 64

struct walk {
    const struct json_marks *marks; /* borrowed */
    const uint16_t *next;
    uint64_t objects; /* a bit for each open container: is it an object? */
    unsigned depth;
};

static inline uint8_t byte_at(const struct walk *walk, unsigned ahead)
{
    return walk->marks->text[walk->next[ahead]];
}

static inline bool string_over(struct walk *walk)
{
    bool is_plain = json_marks_plain(walk->marks, walk->next[0], walk->next[1]);

    walk->next += 2;
    return is_plain;
}

/* "name": */
static inline bool name_over(struct walk *walk)
{
    if (byte_at(walk, 0) != '"' || !string_over(walk) ||
        byte_at(walk, 0) != ':') {
        return false;
    }
    walk->next++;
    return true;
}

static uint8_t *word_end(uint8_t *at)
{
    if (memcmp(at, "true", 4) == 0 || memcmp(at, "null", 4) == 0) {
        return at + 4;
    }
    if (memcmp(at, "false", 5) == 0) {
        return at + 5;
    }
    return NULL;
}

/* A number or a word. */
static inline bool scalar_over(struct walk *walk)
{
    uint8_t *at = walk->marks->text + walk->next[0];
    uint8_t *end = *at < 'a' ? json_scan_digits(at) : word_end(at);

    walk->next++;
    return end != NULL && (end == walk->marks->text + walk->next[0] ||
                           json_scan_space(end) != end);
}

/* Into a container, to its first value; an empty one is a value. */
static inline bool container_over(struct walk *walk, bool *is_empty)
{
    bool is_object = byte_at(walk, 0) == '{';

    *is_empty = byte_at(walk, 1) == (is_object ? '}' : ']');
    if (*is_empty) {
        walk->next += 2;
        return true;
    }
    if (walk->depth == DEPTH_MAX) {
        return false;
    }
    walk->depth++;
    walk->objects = walk->objects << 1 | is_object;
    walk->next++;
    return !is_object || name_over(walk);
}

/* Behind a value: out of what ends here, to the next one. */
static inline bool more_over(struct walk *walk)
{
    bool is_object = (walk->objects & 1) != 0;

    while (byte_at(walk, 0) == (is_object ? '}' : ']')) {
        walk->next++;
        walk->objects >>= 1;
        is_object = (walk->objects & 1) != 0;
        if (--walk->depth == 0) {
            return true;
        }
        if (walk->marks->end - walk->next < JSON_OVER_LEAST) {
            return false;
        }
    }
    if (byte_at(walk, 0) != ',') {
        return false;
    }
    walk->next++;
    return !is_object || name_over(walk);
}

/* From a value to the end of the outermost container. */
static inline bool values_over(struct walk *walk)
{
    while (walk->depth > 0) {
        uint8_t first = byte_at(walk, 0);
        bool is_empty = true;
        bool is_good;

        if (walk->marks->end - walk->next < JSON_OVER_LEAST) {
            return false;
        }
        if (first == '"') {
            is_good = string_over(walk);
        } else if (first == '{' || first == '[') {
            is_good = container_over(walk, &is_empty);
        } else {
            is_good = scalar_over(walk);
        }
        if (!is_good || (is_empty && !more_over(walk))) {
            return false;
        }
    }
    return true;
}

struct json_over json_over(const struct json_marks *marks, bool is_object)
{
    struct walk walk = {.marks = marks, .next = marks->next};
    bool is_over = false;

    if (marks->end - marks->next >= JSON_OVER_LEAST) {
        walk.depth = 1;
        walk.objects = is_object;
        if (byte_at(&walk, 0) == (is_object ? '}' : ']')) {
            walk.next++;
            is_over = true;
        } else {
            is_over = (!is_object || name_over(&walk)) && values_over(&walk);
        }
    }
    return (struct json_over){walk.next, is_over};
}
