/* htmlpage.c - the HTML page of a merge, no larger than it may be
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * It is made with all that there is, and where that is too large with less of
 * what has most bytes, until it fits.
 */
#include "merge/htmlpage.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/beside.h"
#include "merge/output/flames/flameblock.h"
#include "merge/output/json/jsonreport.h"
#include "merge/output/lanes/laneblock.h"
#include "merge/output/lanes/rasterblock.h"
#include "merge/output/page/html.h"
#include "merge/output/page/htmlcut.h"
#include "merge/output/page/stepblock.h"

/* Blocks of data in a page, at most. */
#define BLOCKS 17
/* Close looks in a page, at most. */
#define CLOSEUPS ((size_t)16)
/* They take no more than that part of the bytes of the lanes. */
#define CLOSEUPS_SHARE 4
/* A page of more items has a coarse copy of them, which is drawn first; all of
 * them are read behind that. It is as exact as a timeline of that many pixels
 * shows, and none is wider (style.css). */
#define COARSE_FROM 131072
#define COARSE_LEVELS 1280
/* It is worth that where it has so many times fewer items. */
#define COARSE_TIMES 4
#define TRIES 16
/* Bytes of two items in base64, about. */
#define ITEM_BYTES 17
#define PATHS 8192
#define PATHS_LEAST 64
#define ITEMS_LEAST 4096
#define CELLS_LEAST ((size_t)65536)
#define ROWS_LEAST (HTML_CUT_ROWS / 100)

/* How much of each there is in a page. */
struct amount {
    size_t items;
    size_t closeups;
    size_t cells;
    size_t paths;
    size_t rows;
};

/* What a page is made of. */
struct parts {
    char *json;
    size_t json_length;
    char cut[HTML_CUT_TEXT];
    struct stepblock steps;
    struct laneblock lanes;
    struct laneblock fine;     /* all items where `lanes` is a coarse copy */
    struct laneblock closeups; /* of findings, where items are folded */
    struct rasterblock raster; /* of many ranks */
    struct flameblock flames;
};

size_t htmlpage_items(size_t bytes)
{
    size_t items = (bytes > 0 ? bytes : HTMLPAGE_BYTES) / ITEM_BYTES * 2;

    return items < ITEMS_LEAST ? ITEMS_LEAST : items;
}

/* The report as JSON, with so many rows of its long lists, none of its steps;
 * fewer where the text is longer than any page should have. NULL with errno. */
static char *
json_make(const struct report *report, size_t *rows, struct parts *parts)
{
    struct report part;
    char *json;

    for (;;) {
        html_cut(report, *rows, &part, parts->cut);
        part.table.items = NULL;
        json = output_json(&part, &parts->json_length);
        if (json == NULL || parts->json_length <= HTML_CUT_BYTES ||
            *rows <= ROWS_LEAST) {
            return json;
        }
        free(json);
        *rows /= 10;
    }
}

static void parts_fini(struct parts *parts)
{
    free(parts->json);
    stepblock_fini(&parts->steps);
    laneblock_fini(&parts->lanes);
    laneblock_fini(&parts->fine);
    laneblock_fini(&parts->closeups);
    rasterblock_fini(&parts->raster);
    flameblock_fini(&parts->flames);
}

/* A coarse copy, which is drawn first; nothing where it is hardly smaller. */
static int coarse_make(struct parts *parts, const struct htmlpage *page)
{
    const struct laneblock_wish wish = {
        .zero = page->report->whole.start,
        .level = region_length(lanes_part(page->lanes)) / COARSE_LEVELS,
        .has_waits = true,
    };

    if (laneblock_make(&parts->lanes, page->lanes, page->defs, &wish) != 0) {
        return -1;
    }
    if (parts->lanes.count > lanes_count(page->lanes) / COARSE_TIMES) {
        laneblock_fini(&parts->lanes);
    }
    return 0;
}

static int lanes_make(struct parts *parts, const struct htmlpage *page)
{
    struct laneblock_wish wish = {.zero = page->report->whole.start};
    struct laneblock *all;

    if (lanes_count(page->lanes) > COARSE_FROM &&
        coarse_make(parts, page) != 0) {
        return -1;
    }
    wish.has_waits = parts->lanes.index == NULL;
    all = wish.has_waits ? &parts->lanes : &parts->fine;
    return laneblock_make(all, page->lanes, page->defs, &wish);
}

/* The close looks that show examples of the causes; how many are there then. */
static size_t closeups_of(const struct htmlpage *page,
                          const struct report_cause *causes,
                          size_t causes_count,
                          const struct closeup *closeups[CLOSEUPS],
                          size_t count)
{
    for (size_t i = 0; i < causes_count && count < CLOSEUPS; i++) {
        const struct closeup *one =
            closeups_find(lanes_closeups(page->lanes), causes[i].example.part,
                          causes[i].example.rank);
        size_t known = 0;

        while (known < count && closeups[known] != one) {
            known++;
        }
        if (one != NULL && known == count) {
            closeups[count++] = one;
        }
    }
    return count;
}

/* What the findings are about, item by item. */
static int
closeups_make(struct parts *parts, const struct htmlpage *page, size_t most)
{
    const struct report *report = page->report;
    const struct closeup *closeups[CLOSEUPS];
    size_t count;

    if (lanes_level(page->lanes) == 0) {
        return 0;
    }
    count =
        closeups_of(page, report->causes, report->causes_count, closeups, 0);
    count =
        closeups_of(page, report->waits, report->waits_count, closeups, count);
    count = count < most ? count : most;
    return count == 0
               ? 0
               : laneblock_closeups(&parts->closeups, page->lanes, page->defs,
                                    report->whole.start, closeups, count);
}

/* Of many ranks, what most of each cell was. */
static int
raster_make(struct parts *parts, const struct htmlpage *page, size_t cells)
{
    const struct raster *raster = lanes_raster(page->lanes);
    const struct rasterblock_wish wish = {page->report->whole.start, cells,
                                          lanes_class_name, LANES_CLASSES};

    return raster == NULL
               ? 0
               : rasterblock_make(&parts->raster, raster, page->defs, &wish);
}

/* What needs no lanes. 0, or -1 with errno. */
static int others_make(struct parts *parts,
                       const struct htmlpage *page,
                       struct amount *amount)
{
    parts->json = json_make(page->report, &amount->rows, parts);
    if (parts->json == NULL ||
        stepblock_make(&parts->steps, page->report) != 0) {
        return -1;
    }
    return page->flames == NULL
               ? 0
               : flameblock_make(&parts->flames, page->flames, amount->paths,
                                 page->report->whole.start);
}

/* The same in a thread. */
struct others {
    struct parts *parts;
    const struct htmlpage *page;
    struct amount *amount;
    int error; /* errno; 0 = it is made */
};

static void others_work(void *state)
{
    struct others *others = state;

    others->error =
        others_make(others->parts, others->page, others->amount) == 0 ? 0
                                                                      : errno;
}

/* 0, or -1 with errno. */
static int lanes_all(struct parts *parts,
                     const struct htmlpage *page,
                     const struct amount *amount)
{
    if (page->lanes == NULL) {
        return 0;
    }
    lanes_shrink(page->lanes, amount->items);
    return lanes_make(parts, page) != 0 ||
                   closeups_make(parts, page, amount->closeups) != 0 ||
                   raster_make(parts, page, amount->cells) != 0
               ? -1
               : 0;
}

/* 0; freed by parts_fini() in both cases. */
static int parts_make(struct parts *parts,
                      const struct htmlpage *page,
                      struct amount *amount)
{
    struct others others = {parts, page, amount, 0};
    struct beside beside;
    int rc;

    *parts = (struct parts){0};
    beside_begin(&beside, others_work, &others, !page->is_live);
    rc = lanes_all(parts, page, amount);
    beside_end(&beside);
    if (others.error != 0) {
        errno = others.error;
        rc = -1;
    }
    return rc;
}

/* The page; the parts are freed on the way. NULL with errno. */
static char *
parts_join(struct parts *parts, const struct htmlpage *page, size_t *length)
{
    const struct baselinepage *base = &page->baseline->page;
    const struct html_block all[BLOCKS] = {
        {"report", parts->json, parts->json_length, false, NULL},
        {"cut", parts->cut, strlen(parts->cut), false, NULL},
        {"steps", parts->steps.index, parts->steps.index_length, false, NULL},
        {"step-numbers", parts->steps.numbers.at, parts->steps.numbers.used,
         false, NULL},
        {"baseline", page->baseline->text, page->baseline->length, false, NULL},
        {"baseline-flames", base->flames.at, base->flames.length, true, NULL},
        {"baseline-stacks", base->stacks.at, base->stacks.length, true, NULL},
        {"lanes", parts->lanes.index, parts->lanes.index_length, false, NULL},
        {"items", parts->lanes.items, parts->lanes.items_length, false, NULL},
        {"fine", parts->fine.index, parts->fine.index_length, false, NULL},
        {"fine-items", parts->fine.items, parts->fine.items_length, false,
         NULL},
        {"closeups", parts->closeups.index, parts->closeups.index_length, false,
         NULL},
        {"closeup-items", parts->closeups.items, parts->closeups.items_length,
         false, NULL},
        {"raster", parts->raster.index, parts->raster.index_length, false,
         NULL},
        {"raster-cells", parts->raster.bytes.at, parts->raster.bytes.used,
         false, NULL},
        {"flames", parts->flames.index, parts->flames.index_length, false,
         NULL},
        {"stacks", parts->flames.numbers.at, parts->flames.numbers.used, false,
         NULL},
    };
    struct html_block blocks[BLOCKS];
    struct html_page html = {.report = page->report,
                             .text = page->text,
                             .text_length = page->text_length,
                             .blocks = blocks,
                             .is_live = page->is_live};
    char *text;
    int rc;

    for (size_t i = 0; i < BLOCKS; i++) {
        if (all[i].bytes != NULL) {
            blocks[html.blocks_count++] = all[i];
        }
    }
    rc = htmlblocks_make(blocks, html.blocks_count, !page->is_live);
    parts_fini(parts);
    text = rc == 0 ? output_html(&html, length) : NULL;
    htmlblocks_fini(blocks, html.blocks_count);
    return text;
}

/* Less of what has most bytes; false = there is nothing left to leave out. */
static bool amount_cut(struct amount *amount, const struct parts *parts)
{
    size_t lanes = parts->lanes.items_length + parts->fine.items_length;
    size_t flames = parts->flames.numbers.used + parts->flames.index_length;
    /* A text of JSON deflates to a tenth, and so do cells at worst to a fifth.
     */
    size_t json = parts->json_length / 8;
    size_t cells = parts->raster.bytes.used / 4;

    if (amount->cells > CELLS_LEAST && cells > lanes && cells > flames &&
        cells > json) {
        amount->cells /= 2;
    } else if (amount->closeups > 0 &&
               parts->closeups.items_length > lanes / CLOSEUPS_SHARE) {
        amount->closeups /= 2;
    } else if (lanes > 0 && amount->items > ITEMS_LEAST && lanes >= flames &&
               lanes >= json) {
        amount->items = amount->items / 4 * 3;
    } else if (amount->paths > PATHS_LEAST && flames >= json) {
        amount->paths /= 4;
    } else if (amount->rows > ROWS_LEAST) {
        amount->rows /= 10;
    } else if (amount->items > ITEMS_LEAST) {
        amount->items /= 2;
    } else if (amount->paths > PATHS_LEAST) {
        amount->paths /= 4;
    } else {
        return false;
    }
    return true;
}

char *htmlpage_make(const struct htmlpage *page, size_t *length)
{
    size_t most = page->bytes > 0 ? page->bytes : HTMLPAGE_BYTES;
    struct amount amount = {htmlpage_items(most), CLOSEUPS, RASTER_CELLS, PATHS,
                            HTML_CUT_ROWS};
    char *html = NULL;

    for (int i = 0; i < TRIES; i++) {
        struct parts parts, sizes;

        free(html);
        html = NULL;
        if (parts_make(&parts, page, &amount) != 0) {
            parts_fini(&parts);
            break;
        }
        sizes = parts;
        html = parts_join(&parts, page, length);
        if (html == NULL || *length <= most || !amount_cut(&amount, &sizes)) {
            break;
        }
    }
    if (html == NULL) {
        errno = ENOMEM;
    }
    return html;
}
