/* service.h - a ckagg for a benchmark that plays many agents
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_TESTS_BENCH_SERVICE_H
#define CK_TESTS_BENCH_SERVICE_H

#include <sys/types.h>

#include "schema/endpoint.h"

/* ckagg as a service that stores below `root` and listens on `url` (NULL: ipc),
 * ready, and where it listens; its pid. Ends the program with a line on stderr
 * where that fails. */
pid_t ckaggchild_start(char *root,
                       const char *url,
                       struct ck_endpoint *endpoint);

#endif
