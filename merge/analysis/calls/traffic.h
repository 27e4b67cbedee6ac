/* traffic.h - what ranks sent each other, and the sizes of their messages
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A message is counted twice: where it is sent, by what its sender recorded,
 * and where it is received, by what its receiver did. A message to or from
 * MPI_PROC_NULL is none. Both views of a pair are equal when all messages of
 * it were received and no record is missing.
 */
#ifndef CK_MERGE_ANALYSIS_CALLS_TRAFFIC_H
#define CK_MERGE_ANALYSIS_CALLS_TRAFFIC_H

#include "merge/messages/waitkind.h"
#include "merge/report/report.h"
#include "merge/timeline/timeline.h"

/* Above so many ranks pairs are of hosts. */
#define TRAFFIC_RANKS_MAX 64
/* Pairs that are kept; messages of more are counted together. */
#define TRAFFIC_PAIRS_MAX ((size_t)1 << 16)
/* Pairs of ranks that are listed where pairs are of hosts. */
#define TRAFFIC_WAITS_MAX ((size_t)1024)
/* Labels of communicators that are kept, the last one for all others. */
#define TRAFFIC_SIZES_MAX ((size_t)64)

struct traffic;
/* Definitions borrowed. */
struct traffic *traffic_create(const struct defs *defs);
void traffic_destroy(struct traffic *traffic);
/* A message that the event's process sent; one that it received. */
void traffic_sent(struct traffic *traffic,
                  const struct timeline_event *event,
                  const struct ck_message *message);
void traffic_received(struct traffic *traffic,
                      const struct timeline_event *event,
                      const struct ck_message *message);
/* A collective that the event's process called. */
void traffic_collective(struct traffic *traffic,
                        const struct timeline_event *event,
                        const struct ck_collective *collective);
/* A rank waited for another one, to send, to receive or to come to a
 * collective. */
void traffic_wait(struct traffic *traffic,
                  enum wait_kind kind,
                  int32_t waiting,
                  int32_t awaited,
                  ck_time_t ns,
                  uint64_t count);
/* Write report->traffic. */
void traffic_report(const struct traffic *traffic, struct report *report);

#endif
