/* metric.c - metrics as text: OpenMetrics 1.0
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "schema/metric.h"

/* Between quotes: characters that are not printable ASCII become '?'. */
static void label_put(FILE *out, const char *name, const char *value)
{
    (void)fprintf(out, "%s=\"", name);
    for (; *value != '\0'; value++) {
        if (*value == '"' || *value == '\\') {
            (void)fputc('\\', out);
        }
        (void)fputc(*value >= ' ' && *value < 127 ? *value : '?', out);
    }
    (void)fputc('"', out);
}

void ck_metric_family(FILE *out,
                      const char *name,
                      const char *type,
                      const char *help)
{
    (void)fprintf(out, "# TYPE %s %s\n# HELP %s %s\n", name, type, name, help);
}

void ck_metric_put(FILE *out, const struct ck_metric_sample *sample)
{
    (void)fprintf(out, "%s{", sample->name);
    label_put(out, "run", sample->run);
    if (sample->label != NULL) {
        (void)fputc(',', out);
        label_put(out, sample->label, sample->value);
    }
    (void)fprintf(out, "} %.15g\n", sample->number);
}
