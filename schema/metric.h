/* metric.h - metrics as text: OpenMetrics 1.0
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The samples of a family follow its head. All of ck's have the label "run".
 * What is not known has no sample: 0 is a measurement.
 */
#ifndef CK_SCHEMA_METRIC_H
#define CK_SCHEMA_METRIC_H

#include <stdio.h>

/* The head of a family. `type`: "gauge", "counter", "histogram"; the name of a
 * counter is without its "_total". */
void ck_metric_family(FILE *out,
                      const char *name,
                      const char *type,
                      const char *help);

struct ck_metric_sample {
    const char *name;  /* of a counter with "_total" */
    const char *run;   /* any bytes, as `value` */
    const char *label; /* a second label; NULL = none */
    const char *value; /* of it */
    double number;
};

void ck_metric_put(FILE *out, const struct ck_metric_sample *sample);

#endif
