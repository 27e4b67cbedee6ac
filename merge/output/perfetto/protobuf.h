/* protobuf.h - messages of Protocol Buffers, built in memory
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Fields are appended; a message within another one is begun and ended.
 */
#ifndef CK_MERGE_OUTPUT_PERFETTO_PROTOBUF_H
#define CK_MERGE_OUTPUT_PERFETTO_PROTOBUF_H

#include <stddef.h>
#include <stdint.h>

#define PROTOBUF_DEPTH 6

struct protobuf {
    unsigned char *bytes;
    size_t used;
    size_t room;
    size_t open[PROTOBUF_DEPTH]; /* where the bodies of open messages begin */
    unsigned depth;
};

void protobuf_fini(struct protobuf *protobuf);
/* Empty it; its room stays. */
void protobuf_clear(struct protobuf *protobuf);
/* int64, uint64, bool and enum alike. */
void protobuf_int(struct protobuf *protobuf, unsigned field, int64_t value);
void protobuf_fixed64(struct protobuf *protobuf,
                      unsigned field,
                      uint64_t value);
/* Bytes that are not UTF-8 become U+FFFD. */
void protobuf_text(struct protobuf *protobuf, unsigned field, const char *text);
void protobuf_begin(struct protobuf *protobuf, unsigned field);
void protobuf_end(struct protobuf *protobuf);
/* All of it; Borrowed, until the next change. */
const unsigned char *protobuf_bytes(const struct protobuf *protobuf,
                                    size_t *length);

#endif
