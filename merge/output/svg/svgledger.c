/* svgledger.c - a bar for each device: what its time was
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/output/svg/svg.h"

#include <stdio.h>
#include <stdlib.h>

#include "merge/model/memory.h"
#include "merge/output/svg/svgdraw.h"
#include "merge/output/words.h"
#include "schema/order.h"

#define WIDTH 1100
#define LEFT 260
#define BAR (WIDTH - LEFT - 20)
#define ROW 24
#define TOP 46
/* Of more devices the most idle ones are shown. */
#define ROWS_MOST 64

/* In the order of the groups. */
static const unsigned order[] = {LANES_COMPUTE,
                                 LANES_COMM,
                                 LANES_COPY,
                                 CAUSE_MPI_WAIT,
                                 CAUSE_BELOW_CLOCK,
                                 CAUSE_MPI_TRANSFER,
                                 CAUSE_MPI_CALL,
                                 CAUSE_DEP_REMOTE,
                                 CAUSE_DEP_EVENT,
                                 CAUSE_KERNEL_GAP,
                                 CAUSE_LAUNCH_LATENCY,
                                 CAUSE_GPU_SYNC,
                                 CAUSE_H2D,
                                 CAUSE_D2H,
                                 CAUSE_MEM_MGMT,
                                 CAUSE_GPU_API,
                                 CAUSE_HOST_COMPUTE,
                                 CAUSE_OFFCPU_RUNNABLE,
                                 CAUSE_OFFCPU_BLOCKED,
                                 CAUSE_LOCK,
                                 CAUSE_SLEEP,
                                 CAUSE_IO,
                                 CAUSE_STARTUP,
                                 CAUSE_END_OF_WORK,
                                 CAUSE_HOST_STOPPED,
                                 CAUSE_PROFILER,
                                 CAUSE_LOST_DATA,
                                 CAUSE_UNFINISHED,
                                 CAUSE_NO_HOST_DATA,
                                 CAUSE_UNATTRIBUTED};

static ck_time_t part_of(const struct report_device *device, unsigned class)
{
    switch (class) {
    case LANES_COMPUTE:
        return device->compute;
    case LANES_COMM:
        return device->comm;
    case LANES_COPY:
        return device->copy;
    default:
        return device->causes[class];
    }
}

static void put_bar(struct svg *svg, const struct report_device *device, int y)
{
    double x = LEFT;

    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
        ck_time_t ns = part_of(device, order[i]);
        double width =
            device->wall > 0 ? BAR * (double)ns / (double)device->wall : 0;
        char tip[160];

        if (ns <= 0) {
            continue;
        }
        (void)snprintf(tip, sizeof(tip), "%s %s, %s %%",
                       lanes_class_name(order[i]), word_time(ns).text,
                       word_percent(ns, device->wall).text);
        svg_rect(svg, &(struct svg_box){x, y, width, ROW - 5,
                                        svg_group(order[i]), tip});
        x += width;
    }
}

CK_ORDER_POINTERS(by_idle, struct report_device, CK_DOWN(idle))

/* The devices, of many the most idle ones. */
static const struct report_device **choice(const struct report *report,
                                           size_t *count)
{
    const struct report_device **devices =
        xcalloc(report->devices_count + 1, sizeof(struct report_device *));

    *count = report->devices_count;
    for (size_t i = 0; i < report->devices_count; i++) {
        devices[i] = &report->devices[i];
    }
    if (*count > ROWS_MOST) {
        qsort(devices, *count, sizeof(struct report_device *), by_idle);
        *count = ROWS_MOST;
    }
    return devices;
}

static void put_rows(struct svg *svg,
                     const struct report_device *const *devices,
                     size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct report_device *device = devices[i];
        int y = TOP + (int)i * ROW;
        char label[160];

        if (device->ranks_count > 0 && device->ranks[0] >= 0) {
            (void)snprintf(label, sizeof(label), "rank %d %.16s",
                           device->ranks[0], device->name);
        } else {
            (void)snprintf(label, sizeof(label), "%.24s", device->name);
        }
        svg_text(svg, LEFT - 70, y + 14, "e", label);
        (void)snprintf(label, sizeof(label), "%s %%",
                       word_percent(device->busy, device->wall).text);
        svg_text(svg, LEFT - 8, y + 14, "q e", label);
        put_bar(svg, device, y);
    }
}

char *output_svg_ledger(const struct report *report, size_t *length)
{
    size_t count;
    const struct report_device **devices = choice(report, &count);
    struct svg svg;
    char title[300];

    svg_open(&svg, WIDTH, TOP + (int)count * ROW + 34, "device time");
    (void)snprintf(
        title, sizeof(title),
        count == 0 ? "%.150s: no devices"
                   : "%.150s: where the time of %zu device%s went%s",
        report->name, report->devices_count, word_s(report->devices_count),
        count < report->devices_count ? " (the 64 that were idle most)" : "");
    svg_text(&svg, 10, 22, "b", title);
    if (count > 0) {
        svg_text(&svg, LEFT - 8, 38, "q e", "busy");
        put_rows(&svg, devices, count);
        svg_legend(&svg, TOP + (double)count * ROW + 20);
    } else {
        svg_text(&svg, 10, 42, "q",
                 "No work of a device was recorded, so there is no device time "
                 "to show. The picture of this run is svg-timeline.");
    }
    free(devices);
    return svg_close(&svg, length);
}
