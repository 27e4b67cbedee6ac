/* svgdraw.c - shapes of an SVG picture, with texts that may hold any bytes
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/svg/svgdraw.h"

#include <stdlib.h>
#include <string.h>

#include "merge/model/memory.h"
#include "merge/output/lanes/lanes.h"
#include "merge/output/page/htmltext.h"

static const char style[] =
    "text{font:12px sans-serif;fill:#1b1f23}.q{fill:#5a6068}"
    ".e{text-anchor:end}.b{font-weight:bold}.ground{fill:#fff}"
    ".arrow{stroke:#a3161f;stroke-opacity:.6;fill:none}.x{fill:#a3161f}"
    "text.x{paint-order:stroke;stroke:#fff;stroke-width:3px}"
    ".g-compute{fill:#047b6e}.g-comm{fill:#088eff}.g-copy{fill:#1f38b0}"
    ".g-peer{fill:#b54e10}.g-launch{fill:#d28300}.g-host{fill:#ab5abb}"
    ".g-io{fill:#594000}.g-other{fill:#97939a}.g-unknown{fill:#1d2d34}"
    ".h0{fill:#eef4fb}.h1{fill:#c6dbef}.h2{fill:#9ecae1}.h3{fill:#6baed6}"
    ".h4{fill:#4292c6}.h5{fill:#2171b5}.h6{fill:#084594}.none{fill:#8a8f94}"
    "@media(prefers-color-scheme:dark){text{fill:#e8eaed}.q{fill:#a3a9b0}"
    ".ground{fill:#14171a}.arrow{stroke:#ff9a94}.x{fill:#ff9a94}"
    "text.x{stroke:#14171a}"
    ".g-compute{fill:#7ec09f}.g-comm{fill:#2de3ff}.g-copy{fill:#2e6ff5}"
    ".g-peer{fill:#e2603a}.g-launch{fill:#cdc22d}.g-host{fill:#d97de8}"
    ".g-io{fill:#ffea00}.g-other{fill:#918e8a}.g-unknown{fill:#e2feff}}";

void svg_open(struct svg *svg, int width, int height, const char *title)
{
    svg->file = xmemstream(&svg->text, &svg->length);
    fprintf(svg->file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
            "height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\">\n<title>",
            width, height, width, height);
    html_text(svg->file, title, strlen(title));
    fprintf(svg->file,
            "</title>\n<style>%s</style>\n"
            "<rect class=\"ground\" width=\"%d\" height=\"%d\"/>\n",
            style, width, height);
}

char *svg_close(struct svg *svg, size_t *length)
{
    fputs("</svg>\n", svg->file);
    (void)fclose(svg->file);
    *length = svg->length;
    return svg->text;
}

void svg_rect(struct svg *svg, const struct svg_box *box)
{
    fprintf(svg->file,
            "<rect class=\"%s\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" "
            "height=\"%.2f\"",
            box->class, box->x, box->y, box->width, box->height);
    if (box->tip == NULL) {
        fputs("/>\n", svg->file);
        return;
    }
    fputs("><title>", svg->file);
    html_text(svg->file, box->tip, strlen(box->tip));
    fputs("</title></rect>\n", svg->file);
}

void svg_text(
    struct svg *svg, double x, double y, const char *class, const char *text)
{
    fprintf(svg->file, "<text class=\"%s\" x=\"%.2f\" y=\"%.2f\">", class, x,
            y);
    html_text(svg->file, text, strlen(text));
    fputs("</text>\n", svg->file);
}

void svg_arrow(struct svg *svg, double x, double from, double to)
{
    double head = to > from ? -5 : 5;

    fprintf(svg->file,
            "<path class=\"arrow\" d=\"M%.2f %.2fV%.2fl-3 %.0fm3 %.0fl3 "
            "%.0f\"/>\n",
            x, from, to, head, -head, head);
}

const char *svg_group(unsigned class)
{
    switch (class) {
    case LANES_COMPUTE:
        return "g-compute";
    case LANES_COMM:
        return "g-comm";
    case LANES_COPY:
        return "g-copy";
    case CAUSE_MPI_WAIT:
    case CAUSE_BELOW_CLOCK:
    case CAUSE_MPI_TRANSFER:
    case CAUSE_MPI_CALL:
        return "g-peer";
    case CAUSE_DEP_REMOTE:
    case CAUSE_DEP_EVENT:
    case CAUSE_KERNEL_GAP:
    case CAUSE_LAUNCH_LATENCY:
    case CAUSE_GPU_SYNC:
    case CAUSE_H2D:
    case CAUSE_D2H:
    case CAUSE_MEM_MGMT:
    case CAUSE_GPU_API:
        return "g-launch";
    case CAUSE_LOCK:
    case CAUSE_SLEEP:
    case CAUSE_HOST_COMPUTE:
    case CAUSE_OFFCPU_RUNNABLE:
    case CAUSE_OFFCPU_BLOCKED:
        return "g-host";
    case CAUSE_IO:
        return "g-io";
    case CAUSE_LOST_DATA:
    case CAUSE_UNFINISHED:
    case CAUSE_NO_HOST_DATA:
    case CAUSE_UNATTRIBUTED:
        return "g-unknown";
    default:
        return "g-other";
    }
}

void svg_legend(struct svg *svg, double y)
{
    static const char *const groups[][2] = {
        {"g-compute", "compute"},
        {"g-comm", "communication"},
        {"g-copy", "copies"},
        {"g-peer", "waits for peers"},
        {"g-launch", "launching"},
        {"g-host", "the host"},
        {"g-io", "I/O"},
        {"g-other", "start, end, stopped"},
        {"g-unknown", "not known"},
    };
    double x = 10;

    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        svg_rect(svg, &(struct svg_box){x, y - 10, 11, 11, groups[i][0], NULL});
        svg_text(svg, x + 16, y, "q", groups[i][1]);
        x += 32 + 7 * (double)strlen(groups[i][1]);
    }
}
