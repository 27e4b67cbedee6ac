/* wire.cpp - batches and control messages as FlatBuffers
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The only C++ of ck, because FlatBuffers' builder is C++. No exceptions: an
 * allocation that fails inside the builder ends the process; it holds its
 * buffer between batches, so that happens at the start or not at all.
 */
#include "schema/batch/wire.h"

#include <errno.h>
#include <string.h>

#include <new>

#include "ck_generated.h"
#include "schema/batch/columns.h"

namespace fb = flatbuffers;

/* Bounds for the verifier: a batch is a table of groups of columns. */
static const fb::uoffset_t verify_depth = 8;
static const fb::uoffset_t verify_tables = 4096;
static const size_t builder_bytes = 256 << 10;

static_assert(sizeof(struct ck_ack) == sizeof(ck::wire::Ack) &&
                  offsetof(struct ck_ack, next) == 8,
              "acks are used where they lie");

static const char control_identifier[] = "CKC1";
static const char batch_identifier_1[] = "CKB1";

struct ck_batch_writer {
    struct columns_encoder *encoder;
    fb::FlatBufferBuilder builder{builder_bytes};
};

struct ck_batch_writer *ck_batch_writer_create(void)
{
    struct ck_batch_writer *writer = new (std::nothrow) ck_batch_writer;

    if (writer == nullptr) {
        errno = ENOMEM;
        return nullptr;
    }
    writer->encoder = columns_encoder_create();
    if (writer->encoder == nullptr) {
        ck_batch_writer_destroy(writer);
        errno = ENOMEM;
        return nullptr;
    }
    return writer;
}

void ck_batch_writer_destroy(struct ck_batch_writer *writer)
{
    int saved = errno;

    if (writer != nullptr) {
        columns_encoder_destroy(writer->encoder);
        delete writer;
    }
    errno = saved;
}

/* Begin a buffer that will be 8-aligned, as readers ask for. */
static void builder_clear(fb::FlatBufferBuilder &builder)
{
    builder.Clear();
    builder.ForceVectorAlignment(8, 1, 8);
}

static fb::Offset<fb::Vector<uint8_t>>
put_bytes(fb::FlatBufferBuilder &builder, const struct columns_bytes &bytes)
{
    return bytes.length == 0 ? 0
                             : builder.CreateVector(bytes.bytes, bytes.length);
}

static fb::Offset<ck::wire::Group> put_group(fb::FlatBufferBuilder &builder,
                                             unsigned cls,
                                             const struct columns_group &group)
{
    fb::Offset<ck::wire::Column> columns[COLUMNS_MAX];
    size_t count = 0;

    for (unsigned c = 0; c < COLUMNS_MAX; c++) {
        if (group.column[c].length != 0) {
            auto data = put_bytes(builder, group.column[c]);

            columns[count++] = ck::wire::CreateColumn(
                builder, static_cast<uint8_t>(c), data, group.next >> c & 1);
        }
    }
    auto list = builder.CreateVector(columns, count);
    auto text = put_bytes(builder, group.text);

    return ck::wire::CreateGroup(builder, static_cast<uint8_t>(cls),
                                 group.records, list, text);
}

int ck_batch_encode(struct ck_batch_writer *writer,
                    struct ck_batch_info *info,
                    const void *records,
                    size_t bytes,
                    const void **payload,
                    size_t *payload_bytes,
                    struct ck_err *err)
{
    fb::FlatBufferBuilder &builder = writer->builder;
    fb::Offset<ck::wire::Group> groups[CK_CLASS_LIMIT];
    const struct columns_bytes source = {static_cast<const uint8_t *>(records),
                                         bytes};
    struct columns_view view;
    size_t count = 0;

    if (columns_encode(writer->encoder, info, &source, &view, err) != 0) {
        return -1;
    }
    builder_clear(builder);
    for (unsigned cls = 1; cls < CK_CLASS_LIMIT; cls++) {
        if (view.groups[cls].records != 0) {
            groups[count++] = put_group(builder, cls, view.groups[cls]);
        }
    }
    auto list = builder.CreateVector(groups, count);
    auto order = put_bytes(builder, view.order);

    ck::wire::FinishBatchBuffer(
        builder, ck::wire::CreateBatch(
                     builder, static_cast<uint8_t>(info->clock), info->pid,
                     info->tid, info->records, info->units, order, list));
    *payload = builder.GetBufferPointer();
    *payload_bytes = builder.GetSize();
    return 0;
}

size_t ck_batch_sites(const struct ck_batch_writer *writer,
                      const uint64_t **sites)
{
    return columns_sites(writer->encoder, sites);
}

static struct columns_bytes bytes_of(const fb::Vector<uint8_t> *vector)
{
    struct columns_bytes bytes = {nullptr, 0};

    if (vector != nullptr && vector->size() != 0) {
        bytes.bytes = vector->data();
        bytes.length = vector->size();
    }
    return bytes;
}

/* False when a known column comes twice or is coded in an unknown way. */
static bool get_group(const ck::wire::Group *from, struct columns_group *group)
{
    group->records = from->records();
    group->text = bytes_of(from->bytes());
    if (from->columns() == nullptr) {
        return true;
    }
    for (const ck::wire::Column *column : *from->columns()) {
        unsigned number = column->number();

        if (number >= COLUMNS_MAX) {
            continue; /* of a later version */
        }
        if (group->column[number].length != 0 || column->code() > 1) {
            return false;
        }
        group->column[number] = bytes_of(column->data());
        group->next |= static_cast<uint32_t>(column->code()) << number;
    }
    return true;
}

static bool get_view(const ck::wire::Batch *batch, struct columns_view *view)
{
    memset(view, 0, sizeof(*view));
    view->order = bytes_of(batch->order());
    if (batch->groups() == nullptr) {
        return true;
    }
    for (const ck::wire::Group *group : *batch->groups()) {
        unsigned cls = group->class_number();

        if (ck_class_units(cls) == 0) {
            continue; /* of a later version; counted from the order */
        }
        if (view->groups[cls].records != 0 ||
            !get_group(group, &view->groups[cls])) {
            return false;
        }
    }
    return true;
}

static bool is_batch(const void *payload, size_t bytes)
{
    fb::Verifier verifier(static_cast<const uint8_t *>(payload), bytes,
                          verify_depth, verify_tables);

    if (bytes < 8 || bytes > CK_FRAME_RAW_MAX) {
        return false;
    }
    return fb::BufferHasIdentifier(payload, batch_identifier_1)
               ? verifier.VerifyBuffer<ck::wire::Batch>(batch_identifier_1)
               : ck::wire::VerifyBatchBuffer(verifier);
}

static bool is_aligned(const void *bytes)
{
    return reinterpret_cast<uintptr_t>(bytes) % 8 == 0;
}

/* The columns of a payload, verified, and its own figures. 0, or -1 with
 * err. */
static int batch_open(const void *payload,
                      size_t payload_bytes,
                      struct columns_view *view,
                      struct ck_batch_info *info,
                      struct ck_err *err)
{
    if (!is_aligned(payload)) {
        return ck_err_set(err, "batch or its rows are not 8-aligned");
    }
    if (!is_batch(payload, payload_bytes)) {
        return ck_err_set(err, "%zu bytes are not a batch", payload_bytes);
    }
    const ck::wire::Batch *batch = ck::wire::GetBatch(payload);

    if (batch->clock() > CK_CLOCK_DEVICE || !get_view(batch, view)) {
        return ck_err_set(err, "damaged batch: unknown clock or code, or a "
                               "group or column that comes twice");
    }
    info->clock = static_cast<enum ck_clock>(batch->clock());
    info->pid = batch->pid();
    info->tid = batch->tid();
    info->records = batch->records();
    info->units = batch->units();
    return 0;
}

int ck_batch_decode_classes(const void *payload,
                            size_t payload_bytes,
                            uint32_t classes,
                            struct ck_batch_info *info,
                            void *rows,
                            size_t rows_bytes,
                            size_t *rows_used,
                            struct ck_err *err)
{
    struct columns_rows out = {static_cast<uint8_t *>(rows), rows_bytes, 0};
    struct ck_batch_info found = {};
    struct columns_view view;

    if (!is_aligned(rows)) {
        return ck_err_set(err, "batch or its rows are not 8-aligned");
    }
    if (batch_open(payload, payload_bytes, &view, &found, err) != 0 ||
        columns_decode(&view, classes, &found, &out, err) != 0) {
        return -1;
    }
    *info = found;
    *rows_used = out.used;
    return 0;
}

int ck_batch_scan(const void *payload,
                  size_t payload_bytes,
                  uint32_t classes,
                  struct ck_batch_info *info,
                  ck_batch_take_f take,
                  void *state,
                  struct ck_err *err)
{
    struct ck_batch_info found = {};
    struct columns_view view;

    if (batch_open(payload, payload_bytes, &view, &found, err) != 0 ||
        columns_scan(&view, classes, &found, take, state, err) != 0) {
        return -1;
    }
    *info = found;
    return 0;
}

struct ck_batch_cursor *ck_batch_cursor_create(void)
{
    return reinterpret_cast<struct ck_batch_cursor *>(columns_cursor_create());
}

static struct columns_cursor *columns_of(struct ck_batch_cursor *cursor)
{
    return reinterpret_cast<struct columns_cursor *>(cursor);
}

void ck_batch_cursor_destroy(struct ck_batch_cursor *cursor)
{
    columns_cursor_destroy(columns_of(cursor));
}

int ck_batch_cursor_open(struct ck_batch_cursor *cursor,
                         const void *payload,
                         size_t payload_bytes,
                         uint32_t classes,
                         struct ck_batch_info *info,
                         struct ck_err *err)
{
    struct ck_batch_info found = {};
    struct columns_view view;

    if (batch_open(payload, payload_bytes, &view, &found, err) != 0 ||
        columns_cursor_open(columns_of(cursor), &view, classes, err) != 0) {
        return -1;
    }
    *info = found;
    return 0;
}

int ck_batch_cursor_next(struct ck_batch_cursor *cursor,
                         unsigned pieces,
                         void *rows,
                         size_t rows_bytes,
                         size_t *rows_used,
                         struct ck_err *err)
{
    struct columns_rows out = {static_cast<uint8_t *>(rows), rows_bytes, 0};
    int rc = columns_cursor_next(columns_of(cursor), pieces, &out, err);

    *rows_used = out.used;
    return rc;
}

int ck_batch_decode(const void *payload,
                    size_t payload_bytes,
                    struct ck_batch_info *info,
                    void *rows,
                    size_t rows_bytes,
                    struct ck_err *err)
{
    size_t used;
    int rc = ck_batch_decode_classes(payload, payload_bytes, ~UINT32_C(0), info,
                                     rows, rows_bytes, &used, err);

    if (rc == 0) {
        /* What is in the rows, not what the head of the batch has. */
        info->units = static_cast<uint32_t>(used / CK_UNIT_BYTES);
    }
    return rc;
}

int ck_control_encode(struct ck_batch_writer *writer,
                      const struct ck_control *control,
                      const void **bytes,
                      size_t *length,
                      struct ck_err *err)
{
    fb::FlatBufferBuilder &builder = writer->builder;

    if (control->text_length > CK_CONTROL_TEXT_MAX ||
        control->acks_count > CK_CONTROL_ACKS_MAX) {
        return ck_err_set(err,
                          "control message too large: %zu bytes of text, "
                          "%zu acknowledgements",
                          control->text_length, control->acks_count);
    }
    builder_clear(builder);
    auto agent = builder.CreateVector(control->agent, sizeof(control->agent));
    auto text = builder.CreateString(
        control->text == nullptr ? "" : control->text, control->text_length);
    auto acks = builder.CreateVectorOfStructs(
        reinterpret_cast<const ck::wire::Ack *>(control->acks),
        control->acks_count);

    builder.Finish(ck::wire::CreateControl(builder,
                                           static_cast<uint8_t>(control->type),
                                           control->version, agent, text, acks),
                   control_identifier);
    *bytes = builder.GetBufferPointer();
    *length = builder.GetSize();
    return 0;
}

int ck_control_decode(const void *bytes,
                      size_t length,
                      struct ck_control *control,
                      struct ck_err *err)
{
    fb::Verifier verifier(static_cast<const uint8_t *>(bytes), length,
                          verify_depth, verify_tables);
    struct ck_control found = {};

    if (!is_aligned(bytes)) {
        return ck_err_set(err, "control message is not 8-aligned");
    }
    if (length < 8 ||
        !verifier.VerifyBuffer<ck::wire::Control>(control_identifier)) {
        return ck_err_set(err, "%zu bytes are not a control message", length);
    }
    const ck::wire::Control *from = fb::GetRoot<ck::wire::Control>(bytes);

    if (from->agent() != nullptr && from->agent()->size() != 0) {
        if (from->agent()->size() != sizeof(found.agent)) {
            return ck_err_set(err,
                              "control message with an agent id of %u "
                              "bytes",
                              from->agent()->size());
        }
        memcpy(found.agent, from->agent()->data(), sizeof(found.agent));
    }
    found.text = from->text() == nullptr ? "" : from->text()->c_str();
    found.text_length = from->text() == nullptr ? 0 : from->text()->size();
    if (from->acks() != nullptr && from->acks()->size() != 0) {
        found.acks =
            reinterpret_cast<const struct ck_ack *>(from->acks()->data());
        found.acks_count = from->acks()->size();
    }
    if (found.text_length > CK_CONTROL_TEXT_MAX ||
        found.acks_count > CK_CONTROL_ACKS_MAX || !is_aligned(found.acks)) {
        return ck_err_set(err, "control message out of bounds");
    }
    found.type = static_cast<enum ck_control_type>(from->type());
    found.version = from->version();
    *control = found;
    return 0;
}

int ck_control_is(const void *bytes, size_t length)
{
    return length >= 8 && memcmp(static_cast<const char *>(bytes) + 4,
                                 control_identifier, 4) == 0;
}
