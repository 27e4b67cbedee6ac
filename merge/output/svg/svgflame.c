/* svgflame.c - flame graphs of a run: CPU, off the CPU, devices, idle by cause
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * One panel for each kind of time that the run has: a frame is drawn on the one
 * that called it, as wide as the time below it. Beside another run there are
 * two more: the samples of this one and of that one, red where this one has
 * more in the function itself and blue where it has less, as flamegraph.pl
 * draws them. The script zooms (a click), searches and turns the graph over;
 * without it the picture is the same.
 */
#include "merge/output/svg/svg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "merge/model/memory.h"
#include "merge/output/page/htmltext.h"
#include "merge/output/svg/flametree.h"
#include "merge/output/svg/svgdraw.h"
#include "merge/output/words.h"
#include "schema/fnv.h"

#define WIDTH 1200
#define EDGE 10
#define ROW 16
#define HEAD 26
#define TOP 44
/* Narrower frames are left out, and those further out. */
#define LEAST 0.1
/* Of a letter. */
#define LETTER 6.6

/* What a picture has panels of: kinds of time, and what changed. */
enum panel_kind {
    PANEL_NOW,
    PANEL_BEFORE,
    PANEL_KINDS, /* behind them those of enum flame_kind */
    PANELS = PANEL_KINDS + FLAME_KINDS
};

/* Its title, the class of its frames, and what they are counted in. */
static const struct {
    const char *title, *class, *unit;
} panels[PANELS] = {
    [PANEL_NOW] = {"CPU samples now; red: more than in the other run, blue: "
                   "less",
                   "now", "samples"},
    [PANEL_BEFORE] = {"CPU samples of the other run; red: now more, blue: now "
                      "less",
                      "was", "samples"},
    [PANEL_KINDS + FLAME_CPU] = {"CPU time (samples)", "cpu", "us"},
    [PANEL_KINDS + FLAME_OFFCPU] = {"Time off the CPU", "off", "us"},
    [PANEL_KINDS +
        FLAME_DEVICE] = {"Device time by launching line", "dev", "us"},
    [PANEL_KINDS + FLAME_IDLE] = {"Idle device time by cause", "idle", "us"},
};

static const char style[] =
    ".f rect{stroke:#fff;stroke-width:.5}.f text{font:11px monospace;fill:#000;"
    "pointer-events:none}.f{cursor:pointer}.m rect{fill:#e040fb!important}"
    ".o{opacity:.55}.k{cursor:pointer;fill:#0b57d0}";

static const char script[] =
    "var S=document.documentElement,F=[].slice.call(document."
    "querySelectorAll('.f')),W=1180,X=10,up=true,"
    "K=['now','was','cpu','off','dev','idle'];\n"
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
    "function all(){K.forEach(function(k){draw(k,0,1,0)})}\n"
    "function find(p){var s={},x;try{x=new RegExp(p,'i')}catch(e){return}"
    "F.forEach(function(g){var m=p!==''&&x.test(g.getAttribute('data-n')),"
    "k=g.getAttribute('data-k');g.setAttribute('class',g.getAttribute('class')."
    "replace(/ m\\b/,'')+(m?' m':''));if(m){(s[k]=s[k]||[]).push([n(g,'data-a')"
    ",n(g,'data-b')])}});K.forEach(function(k){"
    "var o=document.getElementById('found-'+k),v=(s[k]||[]).sort(function(a,b){"
    "return a[0]-b[0]||b[1]-a[1]}),u=0,e=0;v.forEach(function(r){"
    "if(r[1]>e){u+=r[1]-Math.max(r[0],e);e=r[1]}});"
    "if(o)o.textContent=p===''?'':'found in '+(100*u).toFixed(1)+' %'})}\n"
    "S.addEventListener('click',function(v){var g=v.target.closest('.f'),"
    "i=v.target.id;if(g)draw(g.getAttribute('data-k'),n(g,'data-a'),"
    "n(g,'data-b'),n(g,'data-d'));else if(i==='unzoom')all();"
    "else if(i==='search'){var p=prompt('Regular expression','');"
    "if(p!==null)find(p)}else if(i==='turn'){up=!up;all()}});\n";

/* ---- the trees ---------------------------------------------------------- */

static void path_take(struct flametree *tree,
                      const struct flames *flames,
                      enum flame_kind kind,
                      size_t path,
                      ck_time_t ns)
{
    struct table_key key;

    if (ns <= 0) {
        return;
    }
    flametree_path(tree, ns);
    if (flamecells_path(flames_cells(flames), kind, path, &key)) {
        flames_frames(flames, kind, path, flametree_frame, tree);
    } else {
        flametree_frame(tree, "other stacks");
    }
}

/* All paths of a kind. */
static void kind_fill(struct flametree *tree,
                      const struct flames *flames,
                      enum flame_kind kind)
{
    const struct flamecells *cells = flames_cells(flames);
    size_t paths = flamecells_paths(cells, kind) + 1, count;
    struct flame_sum *sums = flamecells_sums(cells, kind, &count);
    ck_time_t *times = xcalloc(paths + 1, sizeof(*times));

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

/* A stack of one run, "main;solve", with its samples there. */
static void row_fill(struct flametree *tree, const char *text, uint64_t samples)
{
    char *copy = xstrndup(text, strlen(text));
    char *rest = copy, *frame;

    flametree_path(tree, (int64_t)samples);
    while ((frame = strsep(&rest, ";")) != NULL) {
        flametree_frame(tree, frame);
    }
    free(copy);
}

/* Of counts that cannot be added up there is no picture. */
#define SAMPLES_MOST ((uint64_t)1 << 50)

static bool diff_is_summable(const struct foldeddiff *diff)
{
    uint64_t before = 0, now = 0;

    for (size_t i = 0; i < diff->count; i++) {
        const struct foldeddiff_row *row = &diff->rows[i];

        if (row->before > SAMPLES_MOST - before ||
            row->now > SAMPLES_MOST - now) {
            return false;
        }
        before += row->before;
        now += row->now;
    }
    return true;
}

static void diff_fill(struct flametree trees[PANELS],
                      const struct foldeddiff *diff)
{
    if (!diff_is_summable(diff)) {
        return;
    }
    for (size_t i = 0; i < diff->count; i++) {
        const struct foldeddiff_row *row = &diff->rows[i];
        int64_t change = (int64_t)(row->now - row->before);

        if (row->now > 0) {
            row_fill(&trees[PANEL_NOW], row->text, row->now);
            flametree_change(&trees[PANEL_NOW], change);
        }
        if (row->before > 0) {
            row_fill(&trees[PANEL_BEFORE], row->text, row->before);
            flametree_change(&trees[PANEL_BEFORE], change);
        }
    }
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

/* Red or blue, stronger where it changed more: the scale of flamegraph.pl. */
static void put_change(FILE *file, int64_t change, int64_t most)
{
    double part = most == 0 ? 0 : (double)change / (double)most;
    int pale = (int)(210 * (1 - (part < 0 ? -part : part)));

    if (change > 0) {
        fprintf(file, "rgb(255,%d,%d)", pale, pale);
    } else if (change < 0) {
        fprintf(file, "rgb(%d,%d,255)", pale, pale);
    } else {
        fputs("rgb(245,245,245)", file);
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
    enum panel_kind kind;
    double y; /* of its highest row */
    int rows;
    int64_t whole;
    int64_t most; /* own change of a frame */
};

static void put_title(FILE *file,
                      const struct panel *panel,
                      const struct flamenode *node,
                      double share)
{
    bool is_time = panel->kind >= PANEL_KINDS;
    uint64_t amount =
        (uint64_t)(is_time ? node->amount / CK_TIME_US : node->amount);

    fputs("<title>", file);
    html_text(file, node->name, strlen(node->name));
    fprintf(file, " (%s %s, %.2f%%", word_count(amount).text,
            panels[panel->kind].unit, 100 * share);
    if (!is_time) {
        fprintf(file, "; %+.2f%%",
                100 * (double)node->change / (double)panel->whole);
    }
    fputs(")</title>", file);
}

static void
put_node(FILE *file, const struct panel *panel, const struct flamenode *node)
{
    double share = (double)node->amount / (double)panel->whole;
    double x = EDGE + node->from * (WIDTH - 2 * EDGE);
    double width = share * (WIDTH - 2 * EDGE);
    double y = panel->y + (panel->rows - 1 - (int)node->depth) * ROW;

    fprintf(file,
            "<g class=\"f\" data-k=\"%s\" data-a=\"%.9f\" data-b=\"%.9f\" "
            "data-d=\"%u\" data-h=\"%d\" data-y=\"%.0f\" data-n=\"",
            panels[panel->kind].class, node->from, node->from + share,
            node->depth, panel->rows, panel->y);
    html_text(file, node->name, strlen(node->name));
    fputs("\">", file);
    put_title(file, panel, node, share);
    fprintf(file,
            "<rect x=\"%.1f\" y=\"%.0f\" "
            "width=\"%.1f\" height=\"15\" rx=\"2\" ry=\"2\" fill=\"",
            x, y, width);
    if (panel->kind >= PANEL_KINDS) {
        put_colour(file, (enum flame_kind)(panel->kind - PANEL_KINDS),
                   node->name);
    } else {
        put_change(file, node->change, panel->most);
    }
    fprintf(file, "\"/><text x=\"%.1f\" y=\"%.0f\">", x + 3, y + 11);
    put_label(file, node->name, width);
    fputs("</text></g>\n", file);
}

/* Nodes that are wide enough to be seen; how many were not. */
static size_t
put_nodes(FILE *file, const struct panel *panel, const struct flametree *tree)
{
    size_t left_out = 0;

    for (size_t i = 0; i < tree->count; i++) {
        double width = (double)tree->nodes[i].amount / (double)panel->whole *
                       (WIDTH - 2 * EDGE);

        if (width < LEAST) {
            left_out++;
        } else {
            put_node(file, panel, &tree->nodes[i]);
        }
    }
    return left_out;
}

/* Its title, and its frames from `y` on. */
static void put_panel(struct svg *svg,
                      const struct flametree *tree,
                      enum panel_kind kind,
                      double y)
{
    struct panel panel = {.kind = kind,
                          .y = y + HEAD,
                          .rows = (int)tree->deepest + 1,
                          .whole = tree->nodes[0].amount,
                          .most = flametree_most(tree)};
    const char *class = panels[kind].class;
    char title[256];
    size_t left_out;

    fprintf(svg->file, "<g id=\"frames-%s\">\n", class);
    left_out = put_nodes(svg->file, &panel, tree);
    fputs("</g>\n", svg->file);
    (void)snprintf(title, sizeof(title), "%s: %s", panels[kind].title,
                   kind >= PANEL_KINDS
                       ? word_time(panel.whole).text
                       : word_count((uint64_t)panel.whole).text);
    svg_text(svg, EDGE, y + HEAD - 8, "b", title);
    if (left_out > 0) {
        (void)snprintf(title, sizeof(title),
                       "%zu frames below %.2f %% are not drawn", left_out,
                       100 * LEAST / (WIDTH - 2 * EDGE));
        svg_text(svg, WIDTH - EDGE, y + HEAD - 8, "q e", title);
    }
    fprintf(svg->file,
            "<text class=\"q\" id=\"found-%s\" x=\"%d\" y=\"%.0f\"></text>\n",
            class, kind >= PANEL_KINDS ? 420 : 620, y + HEAD - 8);
}

static double panel_height(const struct flametree *tree)
{
    return tree->nodes[0].amount == 0
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

/* All panels that have something. */
static char *picture_make(const struct report *report,
                          const struct flametree trees[PANELS],
                          size_t *length)
{
    double height = TOP, y = TOP;
    struct svg svg;

    for (int i = 0; i < PANELS; i++) {
        height += panel_height(&trees[i]);
    }
    svg_open(&svg, WIDTH, (int)height + 20, "flame graphs");
    fprintf(svg.file, "<style>%s</style>\n", style);
    put_head(&svg, report);
    for (int i = 0; i < PANELS; i++) {
        if (panel_height(&trees[i]) > 0) {
            put_panel(&svg, &trees[i], (enum panel_kind)i, y);
            y += panel_height(&trees[i]);
        }
    }
    fprintf(svg.file, "<script><![CDATA[\n%s]]></script>\n", script);
    return svg_close(&svg, length);
}

char *output_svg_flame(const struct report *report,
                       const struct flames *flames,
                       const struct foldeddiff *diff,
                       size_t *length)
{
    struct flametree trees[PANELS];
    char *text;

    for (int i = 0; i < PANELS; i++) {
        flametree_init(&trees[i]);
    }
    for (int kind = 0; kind < FLAME_KINDS; kind++) {
        kind_fill(&trees[PANEL_KINDS + kind], flames, (enum flame_kind)kind);
    }
    diff_fill(trees, diff);
    for (int i = 0; i < PANELS; i++) {
        if (trees[i].nodes[0].amount > 0) {
            flametree_place(&trees[i]);
        }
    }
    text = picture_make(report, trees, length);
    for (int i = 0; i < PANELS; i++) {
        flametree_fini(&trees[i]);
    }
    return text;
}
