/* openclentry.c - the wrappers that come from opencl.def, and all in a table
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A wrapper takes as many words as its function has arguments and hands the
 * same words on (words.h); of a command the last one, where its event goes, may
 * be ours.
 */
#include "agent/inject/opencl/openclcommand.h"
#include "agent/inject/opencl/openclhandle.h"
#include "agent/inject/opencl/openclkernel.h"
#include "agent/inject/opencl/openclmemory.h"
#include "agent/inject/words.h"

/* cl_ulong and flags, too. */
_Static_assert(sizeof(long) == 8, "each argument is a word");

/* Bytes of mapped regions, by pointer: an unmap has those of the map that gave
 * the pointer. A full table forgets: then the unmap has 0. */
static struct handle_table maps;

static uint64_t map_enter(const void *host, uint64_t bytes)
{
    if (host != NULL && bytes != 0) {
        (void)handle_put(&maps, host, bytes);
    }
    return bytes;
}

/* Bytes of a box of `unit` byte elements. NULL: 0. */
static uint64_t box_bytes(const size_t region[3], uint64_t unit)
{
    return region == NULL ? 0
                          : (uint64_t)region[0] * region[1] * region[2] * unit;
}

/* Elements times the element's size, which the driver is asked for. */
static uint64_t image_bytes(cl_mem image, const size_t region[3])
{
    size_t element = 0;

    if (image == NULL || opencl_driver->clGetImageInfo(
                             image, CL_IMAGE_ELEMENT_SIZE, sizeof(element),
                             &element, NULL) != CL_SUCCESS) {
        return 0;
    }
    return box_bytes(region, element);
}

/* Bytes of all the objects. */
static uint64_t objects_bytes(cl_uint count, const cl_mem *objects)
{
    uint64_t bytes = 0;

    for (cl_uint i = 0; objects != NULL && i < count; i++) {
        size_t size = 0;

        (void)opencl_driver->clGetMemObjectInfo(objects[i], CL_MEM_SIZE,
                                                sizeof(size), &size, NULL);
        bytes += size;
    }
    return bytes;
}

/* Bytes of all the ranges; without sizes a range is a whole allocation, of
 * unknown size. */
static uint64_t ranges_bytes(cl_uint count, const size_t *sizes)
{
    uint64_t bytes = 0;

    for (cl_uint i = 0; sizes != NULL && i < count; i++) {
        bytes += sizes[i];
    }
    return bytes;
}

/* The words of opencl.def. */
#define QUEUE(queue) queue_id_of((cl_command_queue)(queue))
#define BOX(region) box_bytes((const size_t *)(region), 1)
#define IMAGE(image, region)                                                   \
    image_bytes((cl_mem)(image), (const size_t *)(region))
#define OBJECTS(count, list)                                                   \
    objects_bytes((cl_uint)(count), (const cl_mem *)(list))
#define RANGES(count, sizes)                                                   \
    ranges_bytes((cl_uint)(count), (const size_t *)(sizes))
#define MAPS(host, size) map_enter((const void *)(host), (uint64_t)(size))
#define MAPPED(host) handle_get(&maps, (const void *)(host))
#define SHARED_GONE(block) memory_shared_gone((const void *)(block))
#define MIGRATION(flags)                                                       \
    (((flags)&CL_MIGRATE_MEM_OBJECT_HOST) != 0 ? CK_KIND_COPY_D2H              \
                                               : CK_KIND_COPY_H2D)

/* ANSWER of a call: an error is stored with it; only whether there was one; a
 * pointer; nothing. Memory that was made is followed to its end, which a call
 * that failed is not; of an image the driver knows the bytes. A kernel's name
 * is asked for at once. */
#define ANSWER_ERROR opencl_answer(&call, (cl_int)answer);
#define ANSWER_STATUS opencl_leave(&call, (cl_int)answer == CL_SUCCESS);
#define ANSWER_POINTER opencl_leave(&call, answer != 0);
#define ANSWER_NOTHING opencl_leave(&call, true);
#define MEMORY_MADE(flags)                                                     \
    &(const struct memory_made)                                                \
    {                                                                          \
        (cl_context) words[0], (const void *)answer, (cl_mem_flags)(flags),    \
            call.bytes, OPENCL_SITE                                            \
    }
#define ANSWER_BUFFER(flags)                                                   \
    opencl_leave(&call, answer != 0);                                          \
    memory_object(&call, MEMORY_MADE(flags));
#define ANSWER_SHARED(flags)                                                   \
    opencl_leave(&call, answer != 0);                                          \
    memory_shared(&call, MEMORY_MADE(flags));
#define ANSWER_SHARED_GONE                                                     \
    opencl_returned(&call);                                                    \
    call.bytes = (cl_int)answer != CL_SUCCESS                                  \
                     ? 0                                                       \
                     : memory_shared_gone_all((cl_uint)words[1],               \
                                              (void *const *)words[2]);        \
    opencl_leave(&call, (cl_int)answer == CL_SUCCESS);
#define ANSWER_IMAGE(flags)                                                    \
    opencl_returned(&call);                                                    \
    call.bytes = answer == 0 ? 0 : objects_bytes(1, (const cl_mem *)&answer);  \
    opencl_leave(&call, answer != 0);                                          \
    memory_object(&call, MEMORY_MADE(flags));
#define ANSWER_KERNEL                                                          \
    opencl_leave(&call, answer != 0);                                          \
    kernel_enter((cl_kernel)answer);

/* The driver's function on `words`. */
#define DRIVER(name, n)                                                        \
    ((long (*)(TYPES_##n))(void (*)(void))opencl_driver->name)(WORDS_##n)

#define OPENCL_CALL(name, n, ANSWER, queue, size)                              \
    static long words_##name(PARAMETERS_##n)                                   \
    {                                                                          \
        const long words[] = {NAMES_##n};                                      \
        struct opencl_call call;                                               \
        long answer;                                                           \
                                                                               \
        opencl_enter(&call, OPENCL_##name, OPENCL_SITE, queue);                \
        call.bytes = (uint64_t)(size);                                         \
        answer = DRIVER(name, n);                                              \
        ANSWER_##ANSWER return answer;                                         \
    }

/* A command whose event is `words[at]`. */
#define COMMAND_ENTER(name, at, what, is_waiting, size)                        \
    const struct command_how how = {                                           \
        OPENCL_##name,                                                         \
        (cl_command_queue)w0,                                                  \
        {.kind = (what), .bytes = (uint64_t)(size)},                           \
        {(cl_uint)words[(at)-2], (const cl_event *)words[(at)-1]},             \
        (cl_bool)(is_waiting)};                                                \
    struct command command;                                                    \
                                                                               \
    words[at] = (long)command_enter(&command, &how, OPENCL_SITE,               \
                                    (cl_event *)words[at]);

#define OPENCL_COMMAND(name, n, kind, is_blocking, bytes)                      \
    static long words_##name(PARAMETERS_##n)                                   \
    {                                                                          \
        long words[] = {NAMES_##n};                                            \
        COMMAND_ENTER(name, n - 1, kind, is_blocking, bytes)                   \
        return command_leave(&command, (cl_int)DRIVER(name, n));               \
    }

#define OPENCL_MAP(name, n, size)                                              \
    static long words_##name(PARAMETERS_##n)                                   \
    {                                                                          \
        long words[] = {NAMES_##n};                                            \
        cl_int *errcode = (cl_int *)words[n - 1];                              \
        cl_int error = CL_SUCCESS;                                             \
        long host;                                                             \
        COMMAND_ENTER(name, n - 2, CK_KIND_COPY_MAP, w2, size)                 \
        words[n - 1] = (long)&error;                                           \
        host = DRIVER(name, n);                                                \
        (void)MAPS(host, command.work.bytes);                                  \
        error = command_leave(&command, error);                                \
        if (errcode != NULL) {                                                 \
            *errcode = error;                                                  \
        }                                                                      \
        return host;                                                           \
    }
#include "agent/inject/opencl/opencl.def"

void opencl_wrap(struct _cl_icd_dispatch *layer)
{
#define WRAP(name, wrapper)                                                    \
    if (opencl_driver->name != NULL) {                                         \
        layer->name = (__typeof__(layer->name))(void (*)(void))wrapper;        \
    }
#define OPENCL_EACH(name) WRAP(name, words_##name)
#define OPENCL_HAND(name) WRAP(name, wrap_##name)
#define OPENCL_QUIET OPENCL_HAND
#include "agent/inject/opencl/opencl.def"
}
