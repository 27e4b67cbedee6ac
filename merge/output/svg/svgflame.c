/* svgflame.c - flame graphs of a run: CPU, off the CPU, devices, idle by cause
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * One panel for each kind of time that the run has: a frame is drawn on the one
 * that called it, as wide as the time below it. The paths of a kind are put
 * into a tree; equal frames around equal frames are one. The script zooms (a
 * click), searches and turns the graph over; without it the picture is the
 * same.
 */
#include "merge/output/svg/svg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/array.h"
#include "merge/model/memory.h"
#include "merge/model/table.h"
#include "merge/output/page/htmltext.h"
#include "merge/output/svg/svgdraw.h"
#include "merge/output/words.h"
#include "schema/fnv.h"
#include "schema/order.h"

#define WIDTH 1200
#define EDGE 10
#define ROW 16
#define HEAD 26
#define TOP 44
/* Narrower frames are left out, and those further out. */
#define LEAST 0.1
#define DEEPEST 128
/* Bytes of a name. */
#define NAME 400
/* Of a letter. */
#define LETTER 6.6

struct node {
    char *name;
    uint32_t above; /* whose child it is; the root's own is 0 */
    uint32_t depth;
    ck_time_t ns; /* with what is in it */
    double from;  /* of the panel's width, 0..1 */
    ck_time_t used;
};

struct tree {
    struct node *nodes; /* a child behind the one it is in */
    size_t count, room;
    struct table *children; /* node, hash of a name: its number less 1 */
    uint32_t at;
    ck_time_t ns; /* of the path that is put in */
    uint32_t deepest;
    size_t left_out;
};

static const char *const titles[FLAME_KINDS] = {
    [FLAME_CPU] = "CPU time (samples)",
    [FLAME_OFFCPU] = "Time off the CPU",
    [FLAME_DEVICE] = "Device time by launching line",
    [FLAME_IDLE] = "Idle device time by cause",
};

/* Classes of the frames' colours. */
static const char *const classes[FLAME_KINDS] = {"cpu", "off", "dev", "idle"};

static const char style[] =
    ".f rect{stroke:#fff;stroke-width:.5}.f text{font:11px monospace;fill:#000;"
    "pointer-events:none}.f{cursor:pointer}.m rect{fill:#e040fb!important}"
    ".o{opacity:.55}.k{cursor:pointer;fill:#0b57d0}";

static const char script[] =
    "var S=document.documentElement,F=[].slice.call(document."
    "querySelectorAll('.f')),W=1180,X=10,up=true;\n"
    "function n(g,k){return +g.getAttribute(k)}\n"
    "function fit(t,s,w){var c=Math.floor((w-4)/6.6);t.textContent=c<3?'':"
    "s.length<=c?s:s.slice(0,c-2)+'..'}\n"
    "function draw(k,a,b,d){F.forEach(function(g){if(g.getAttribute('data-k')"
    "!==k)return;var f=n(g,'data-a'),e=n(g,'data-b'),i=n(g,'data-d'),"
    "c=i<d&&f<=a&&e>=b,s=i>=d&&f>=a-1e-9&&e<=b+1e-9,h=n(g,'data-h'),"
    "y0=n(g,'data-y'),r=g.querySelector('rect'),t=g.querySelector('text'),"
    "x=c?X:X+W*(f-a)/(b-a),w=c?W:W*(e-f)/(b-a),"
    "y=up?y0+(h-1-i)*16:y0+i*16;g.style.display=c||s?'':'none';"
    "g.setAttribute('class',g.getAttribute('class').replace(/ o\\b/,'')+"
    "(c?' o':''));r.setAttribute('x',x);r.setAttribute('width',Math.max(w,0));"
    "r.setAttribute('y',y);t.setAttribute('x',x+3);t.setAttribute('y',y+11);"
    "fit(t,g.getAttribute('data-n'),w)})}\n"
    "function all(){['cpu','off','dev','idle'].forEach(function(k){draw(k,0,1,"
    "0)})}\n"
    "function find(p){var s={},x;try{x=new RegExp(p,'i')}catch(e){return}"
    "F.forEach(function(g){var m=p!==''&&x.test(g.getAttribute('data-n')),"
    "k=g.getAttribute('data-k');g.setAttribute('class',g.getAttribute('class')."
    "replace(/ m\\b/,'')+(m?' m':''));if(m){(s[k]=s[k]||[]).push([n(g,'data-a')"
    ",n(g,'data-b')])}});['cpu','off','dev','idle'].forEach(function(k){"
    "var o=document.getElementById('found-'+k),v=(s[k]||[]).sort(function(a,b){"
    "return a[0]-b[0]||b[1]-a[1]}),u=0,e=0;v.forEach(function(r){"
    "if(r[1]>e){u+=r[1]-Math.max(r[0],e);e=r[1]}});"
    "if(o)o.textContent=p===''?'':'found in '+(100*u).toFixed(1)+' %'})}\n"
    "S.addEventListener('click',function(v){var g=v.target.closest('.f'),"
    "i=v.target.id;if(g)draw(g.getAttribute('data-k'),n(g,'data-a'),"
    "n(g,'data-b'),n(g,'data-d'));else if(i==='unzoom')all();"
    "else if(i==='search'){var p=prompt('Regular expression','');"
    "if(p!==null)find(p)}else if(i==='turn'){up=!up;all()}});\n";

/* ---- the tree ----------------------------------------------------------- */

static void tree_fini(struct tree *tree)
{
    for (size_t i = 0; i < tree->count; i++) {
        free(tree->nodes[i].name);
    }
    free(tree->nodes);
    table_destroy(tree->children);
}

static void node_add(struct tree *tree, const char *name)
{
    uint32_t depth = tree->count == 0 ? 0 : tree->nodes[tree->at].depth + 1;
    struct node node = {.above = tree->at, .depth = depth};

    array_grow(&tree->nodes, &tree->room, tree->count, sizeof(node));
    node.name = xstrndup(name, NAME);
    tree->nodes[tree->count++] = node;
    tree->deepest = depth > tree->deepest ? depth : tree->deepest;
}

/* The next frame of the path: a child of where it is. A flames_frame_f. */
static void frame_take(void *state, const char *frame)
{
    struct tree *tree = state;
    int64_t number;

    if (tree->nodes[tree->at].depth + 1 >= DEEPEST) {
        return;
    }
    number = table_number_of(tree->children, tree->at,
                             ck_fnv(CK_FNV_START, frame, strlen(frame)),
                             strlen(frame));
    if ((size_t)number + 1 == tree->count) {
        node_add(tree, frame);
    }
    tree->at = (uint32_t)number + 1;
    tree->nodes[tree->at].ns += tree->ns;
}

static void path_take(struct tree *tree,
                      const struct flames *flames,
                      enum flame_kind kind,
                      size_t path,
                      ck_time_t ns)
{
    struct table_key key;

    if (ns <= 0) {
        return;
    }
    tree->at = 0;
    tree->ns = ns;
    tree->nodes[0].ns += ns;
    if (flamecells_path(flames_cells(flames), kind, path, &key)) {
        flames_frames(flames, kind, path, frame_take, tree);
    } else {
        frame_take(tree, "other stacks");
    }
}

/* All paths of a kind. */
static void
tree_fill(struct tree *tree, const struct flames *flames, enum flame_kind kind)
{
    const struct flamecells *cells = flames_cells(flames);
    size_t paths = flamecells_paths(cells, kind) + 1, count;
    struct flame_sum *sums = flamecells_sums(cells, kind, &count);
    ck_time_t *times = xcalloc(paths + 1, sizeof(*times));

    tree->children = table_create();
    node_add(tree, "all");
    for (size_t i = 0; i < count; i++) {
        if (sums[i].path < paths) {
            times[sums[i].path] += sums[i].ns;
        }
    }
    for (size_t i = 0; i < paths; i++) {
        path_take(tree, flames, kind, i, times[i]);
    }
    free(sums);
    free(times);
}

/* Where each begins: in the order of their names, siblings side by side. */
static int by_name(const void *a, const void *b, void *nodes)
{
    const struct node *left = (struct node *)nodes + *(const uint32_t *)a;
    const struct node *right = (struct node *)nodes + *(const uint32_t *)b;

    if (left->depth != right->depth) {
        return left->depth < right->depth ? -1 : 1;
    }
    return strcmp(left->name, right->name);
}

/* As they are drawn: equal runs make equal pictures. */
CK_ORDER(by_place, struct node, CK_UP(depth) ?: CK_UP(from))

/* Afterwards nodes are no more where others look for them. */
static void tree_place(struct tree *tree)
{
    uint32_t *order = xcalloc(tree->count, sizeof(*order));
    ck_time_t whole = tree->nodes[0].ns;

    for (size_t i = 0; i < tree->count; i++) {
        order[i] = (uint32_t)i;
    }
    qsort_r(order, tree->count, sizeof(*order), by_name, tree->nodes);
    for (size_t i = 1; i < tree->count; i++) {
        struct node *node = &tree->nodes[order[i]];
        struct node *above = &tree->nodes[node->above];

        node->from = above->from + (double)above->used / (double)whole;
        above->used += node->ns;
    }
    free(order);
    qsort(tree->nodes, tree->count, sizeof(*tree->nodes), by_place);
}

/* ---- the picture -------------------------------------------------------- */

/* By the name, so that a function looks the same in each picture. */
static void put_colour(FILE *file, enum flame_kind kind, const char *name)
{
    uint64_t hash = ck_fnv(CK_FNV_START, name, strlen(name));
    int a = (int)(hash >> 8 & 63), b = (int)(hash >> 24 & 31);

    switch (kind) {
    case FLAME_CPU:
        fprintf(file, "rgb(%d,%d,%d)", 215 + b, 110 + a, 50 + b);
        break;
    case FLAME_OFFCPU:
        fprintf(file, "rgb(%d,%d,%d)", 90 + a, 150 + b, 215 + b);
        break;
    case FLAME_DEVICE:
        fprintf(file, "rgb(%d,%d,%d)", 70 + a, 190 + b, 130 + b);
        break;
    default:
        fprintf(file, "rgb(%d,%d,%d)", 175 + b, 140 + a, 200 + b);
        break;
    }
}

static void put_label(FILE *file, const char *name, double width)
{
    size_t room = width < 4 ? 0 : (size_t)((width - 4) / LETTER);
    size_t length = strlen(name);

    if (room >= 3 && length <= room) {
        html_text(file, name, length);
    } else if (room >= 3) {
        html_text(file, name, room - 2);
        fputs("..", file);
    }
}

struct panel {
    enum flame_kind kind;
    double y; /* of its highest row */
    int rows;
};

static void put_node(FILE *file,
                     const struct panel *panel,
                     const struct node *node,
                     ck_time_t whole)
{
    double share = (double)node->ns / (double)whole;
    double x = EDGE + node->from * (WIDTH - 2 * EDGE);
    double width = share * (WIDTH - 2 * EDGE);
    double y = panel->y + (panel->rows - 1 - (int)node->depth) * ROW;

    fprintf(file,
            "<g class=\"f\" data-k=\"%s\" data-a=\"%.9f\" data-b=\"%.9f\" "
            "data-d=\"%u\" data-h=\"%d\" data-y=\"%.0f\" data-n=\"",
            classes[panel->kind], node->from, node->from + share, node->depth,
            panel->rows, panel->y);
    html_text(file, node->name, strlen(node->name));
    fputs("\"><title>", file);
    html_text(file, node->name, strlen(node->name));
    fprintf(file,
            " (%s us, %.2f%%)</title><rect x=\"%.1f\" y=\"%.0f\" "
            "width=\"%.1f\" height=\"15\" rx=\"2\" ry=\"2\" fill=\"",
            word_count((uint64_t)(node->ns / CK_TIME_US)).text, 100 * share, x,
            y, width);
    put_colour(file, panel->kind, node->name);
    fprintf(file, "\"/><text x=\"%.1f\" y=\"%.0f\">", x + 3, y + 11);
    put_label(file, node->name, width);
    fputs("</text></g>\n", file);
}

/* Nodes that are wide enough to be seen; how many were not. */
static size_t
put_nodes(FILE *file, const struct panel *panel, const struct tree *tree)
{
    ck_time_t whole = tree->nodes[0].ns;
    size_t left_out = 0;

    for (size_t i = 0; i < tree->count; i++) {
        double width =
            (double)tree->nodes[i].ns / (double)whole * (WIDTH - 2 * EDGE);

        if (width < LEAST) {
            left_out++;
        } else {
            put_node(file, panel, &tree->nodes[i], whole);
        }
    }
    return left_out;
}

/* Its title, and its frames from `y` on. */
static void put_panel(struct svg *svg,
                      const struct tree *tree,
                      enum flame_kind kind,
                      double y)
{
    struct panel panel = {kind, y + HEAD, (int)tree->deepest + 1};
    char title[256];
    size_t left_out;

    fprintf(svg->file, "<g id=\"frames-%s\">\n", classes[kind]);
    left_out = put_nodes(svg->file, &panel, tree);
    fputs("</g>\n", svg->file);
    (void)snprintf(title, sizeof(title), "%s: %s", titles[kind],
                   word_time(tree->nodes[0].ns).text);
    svg_text(svg, EDGE, y + HEAD - 8, "b", title);
    if (left_out > 0) {
        (void)snprintf(title, sizeof(title),
                       "%zu frames below %.2f %% are not drawn", left_out,
                       100 * LEAST / (WIDTH - 2 * EDGE));
        svg_text(svg, WIDTH - EDGE, y + HEAD - 8, "q e", title);
    }
    fprintf(svg->file,
            "<text class=\"q\" id=\"found-%s\" x=\"420\" y=\"%.0f\"></text>\n",
            classes[kind], y + HEAD - 8);
}

static double panel_height(const struct tree *tree)
{
    return tree->count == 0 || tree->nodes[0].ns == 0
               ? 0
               : HEAD + ((double)tree->deepest + 1) * ROW + 10;
}

static void put_head(struct svg *svg, const struct report *report)
{
    char text[256];

    (void)snprintf(text, sizeof(text), "%.100s: %d ranks, %s",
                   report->name == NULL ? "" : report->name,
                   (int)report->ranks_count,
                   word_time(region_length(report->region)).text);
    svg_text(svg, EDGE, 20, "b", text);
    fputs(
        "<text id=\"unzoom\" class=\"k\" x=\"840\" y=\"20\">Reset zoom"
        "</text>\n<text id=\"search\" class=\"k\" x=\"940\" y=\"20\">Search"
        "</text>\n<text id=\"turn\" class=\"k\" x=\"1010\" y=\"20\">Upside down"
        "</text>\n",
        svg->file);
    svg_text(svg, EDGE, 36, "q",
             "The width of a frame is its time with all that it called. Click "
             "a frame to zoom in.");
}

char *output_svg_flame(const struct report *report,
                       const struct flames *flames,
                       size_t *length)
{
    struct tree trees[FLAME_KINDS] = {{.nodes = NULL}};
    double height = TOP, y = TOP;
    struct svg svg;
    char *text;

    for (int kind = 0; kind < FLAME_KINDS; kind++) {
        tree_fill(&trees[kind], flames, (enum flame_kind)kind);
        if (trees[kind].nodes[0].ns > 0) {
            tree_place(&trees[kind]);
        }
        height += panel_height(&trees[kind]);
    }
    svg_open(&svg, WIDTH, (int)height + 20, "flame graphs");
    fprintf(svg.file, "<style>%s</style>\n", style);
    put_head(&svg, report);
    for (int kind = 0; kind < FLAME_KINDS; kind++) {
        if (panel_height(&trees[kind]) > 0) {
            put_panel(&svg, &trees[kind], (enum flame_kind)kind, y);
            y += panel_height(&trees[kind]);
        }
    }
    fprintf(svg.file, "<script><![CDATA[\n%s]]></script>\n", script);
    text = svg_close(&svg, length);
    for (int kind = 0; kind < FLAME_KINDS; kind++) {
        tree_fini(&trees[kind]);
    }
    return text;
}
