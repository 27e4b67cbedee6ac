/* ask.h - `ckagg --status`, `--where`: ask a running ckagg
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGGREGATOR_SOCKET_ASK_H
#define CK_AGGREGATOR_SOCKET_ASK_H

#include "schema/endpoint.h"
#include "schema/err.h"

/* The endpoint that a client means: `given` (or the one that the manifest of a
 * run directory of that name has), else CKAGENT_AGGREGATOR, else
 * what the file of CKAGG_KEYFILE holds. Keys that `given` lacks come from
 * that file. 0, or -1 with err. */
int ask_endpoint(const char *given, struct ck_endpoint *to, struct ck_err *err);

/* Print the status on stdout; format "json", "table", "clocks" or
 * "clocks-json". Exit code; err on
 * failure. */
int ask_status(const struct ck_endpoint *to,
               const char *format,
               struct ck_err *err);

/* Print where the ranks of the job are; `job` = its key, NULL = the only one.
 * Exit code; err on failure. */
int ask_where(const struct ck_endpoint *to,
              const char *job,
              struct ck_err *err);

#endif
