/* operations.c - device work of a profile, until it is known who launched it
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "merge/profiles/operations.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "merge/model/memory.h"
#include "merge/profiles/launchthreads.h"

#define BUFFER_BYTES ((size_t)256 << 10)

union operation {
    struct ck_event e;
    struct ck_kernel kernel;
    struct ck_copy copy;
};

_Static_assert(sizeof(struct ck_kernel) == sizeof(struct ck_copy),
               "one size for all");

struct operations {
    struct import *import; /* borrowed */
    struct launchthreads *launches;
    FILE *file;
    char buffer[BUFFER_BYTES];
};

static FILE *file_open(const char *dir, char *buffer)
{
    int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w+");

    if (file == NULL) {
        if (fd >= 0) {
            (void)close(fd);
        }
        return NULL;
    }
    (void)setvbuf(file, buffer, _IOFBF, BUFFER_BYTES);
    return file;
}

struct operations *operations_create(struct import *import, struct ck_err *err)
{
    struct operations *operations = xmalloc(sizeof(*operations));

    operations->import = import;
    operations->file = NULL;
    operations->launches = launchthreads_create(import_dir(import), err);
    if (operations->launches == NULL) {
        operations_destroy(operations);
        return NULL;
    }
    operations->file = file_open(import_dir(import), operations->buffer);
    if (operations->file == NULL) {
        (void)ck_err_set(err, "cannot make a temporary file in %s: %s",
                         import_dir(import), strerror(errno));
        operations_destroy(operations);
        return NULL;
    }
    return operations;
}

void operations_destroy(struct operations *operations)
{
    if (operations == NULL) {
        return;
    }
    if (operations->file != NULL) {
        (void)fclose(operations->file);
    }
    launchthreads_destroy(operations->launches);
    free(operations);
}

int operations_add(struct operations *operations, const void *record)
{
    return fwrite(record, sizeof(union operation), 1, operations->file) == 1
               ? 0
               : -1;
}

/* What is remembered of a launch: its thread, and whether by the driver's API,
 * which the runtime's calls with the same id. */
static unsigned launch_of(unsigned thread, bool is_driver)
{
    return thread << 1 | is_driver;
}

bool operations_launch(struct operations *operations,
                       uint64_t id,
                       unsigned thread,
                       enum ck_kind api)
{
    bool is_driver = api == CK_KIND_API_CUDA_DRIVER;
    unsigned other;
    bool is_known = launchthreads_get(operations->launches, id, &other);

    launchthreads_set(operations->launches, id, launch_of(thread, is_driver));
    return !is_known || (other & 1) != is_driver;
}

static uint64_t correlation_of(const union operation *operation)
{
    return ck_kind_class(operation->e.kind) == CK_CLASS_KERNEL
               ? operation->kernel.correlation
               : operation->copy.correlation;
}

/* The launching thread, and its call: the id itself is the call's number. */
static void operation_bind(union operation *operation, uint32_t tid)
{
    uint64_t id = correlation_of(operation);

    if (ck_kind_class(operation->e.kind) == CK_CLASS_KERNEL) {
        operation->kernel.tid = tid;
        operation->kernel.call = (uint32_t)id;
    } else {
        operation->copy.tid = tid;
        operation->copy.call = (uint32_t)id;
    }
}

int operations_finish(struct operations *operations,
                      struct import_facts *facts,
                      struct ck_err *err)
{
    union operation operation;

    rewind(operations->file);
    while (fread(&operation, sizeof(operation), 1, operations->file) == 1) {
        uint64_t id = correlation_of(&operation);
        unsigned launch;

        facts->operations++;
        if (id != 0 && launchthreads_get(operations->launches, id, &launch)) {
            facts->by_id++;
            operation_bind(&operation,
                           import_tid(operations->import, launch >> 1));
        }
        if (import_put(operations->import, IMPORT_DEVICE, &operation) != 0) {
            return import_failed(operations->import, err);
        }
    }
    if (ferror(operations->file)) {
        return ck_err_set(err, "cannot read a temporary file: %s",
                          strerror(errno));
    }
    return 0;
}
