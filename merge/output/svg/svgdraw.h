/* svgdraw.h - shapes of an SVG picture, with texts that may hold any bytes
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Colours are classes of the picture's own style, for light and dark grounds:
 * groups of causes, steps of a scale, text. No script, no link, no font of its
 * own.
 */
#ifndef CK_MERGE_OUTPUT_SVG_SVGDRAW_H
#define CK_MERGE_OUTPUT_SVG_SVGDRAW_H

#include <stddef.h>
#include <stdio.h>

/* Classes of a scale from little to much: "h0" ... */
#define SVG_HEATS 7

struct svg {
    FILE *file;
    char *text;
    size_t length;
};

void svg_open(struct svg *svg, int width, int height, const char *title);
/* The picture's text, the caller's to free, its length in *length. */
char *svg_close(struct svg *svg, size_t *length);

/* A rectangle; `tip` is shown under the pointer, NULL = none. */
struct svg_box {
    double x, y, width, height;
    const char *class; /* static text */
    const char *tip;
};
void svg_rect(struct svg *svg, const struct svg_box *box);
/* `class`: "t" text, "q" quiet, "e" text that ends there, "b" bold,
 * "x" of what went wrong. */
void svg_text(
    struct svg *svg, double x, double y, const char *class, const char *text);
/* An arrow from one height to another one. */
void svg_arrow(struct svg *svg, double x, double from, double to);

/* The group of a class of lanes.h, as in the HTML page: "g-peer". */
const char *svg_group(unsigned class);
/* What the groups mean, in a line at that height. */
void svg_legend(struct svg *svg, double y);

#endif
