/* unwind.c - unwind the samples of a file of perf
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * unwind PERF_DATA [--print]: of perf record --call-graph dwarf. With --print
 * each sample's thread and time, its frames, a line each as perf script -F ip
 * has them, how the walk ended (enum unwind_end), and a blank line. At the end,
 * on stderr: samples, whole stacks, frames, ns of a sample.
 */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "agent/unwind/codemaps.h"
#include "agent/unwind/unwind.h"

#define FRAMES 128
#define ABI_64 2
#define MAPS 4096
#define PAGE_BYTES 4096

struct part {
    uint64_t offset;
    uint64_t size;
};

struct file_header {
    char magic[8];
    uint64_t size;
    uint64_t attr_size;
    struct part attrs;
    struct part data;
};

struct mmap2 {
    struct perf_event_header header;
    uint32_t pid, tid;
    uint64_t address, length, offset;
    uint8_t file[24];
    uint32_t protection, flags;
    char path[];
};

struct record {
    uint64_t time;
    const struct perf_event_header *header;
};

struct bench {
    const uint8_t *bytes;
    size_t size;
    struct perf_event_attr attr;
    struct codemaps *codemaps;
    struct unwind *unwind;
    bool is_printing;
    struct record *records;
    size_t records_count;
    const struct mmap2 *maps[MAPS];
    size_t maps_count;
    uint64_t samples, whole, frames;
};

struct sample {
    struct unwind_thread thread;
    uint32_t tid;
    uint64_t time; /* ns */
};

static double now(void)
{
    struct timespec at;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

/* Behind the fixed words of a sample: to its call chain. */
static const uint64_t *
chain_find(uint64_t type, const uint64_t *at, struct sample *sample)
{
    at += (type & PERF_SAMPLE_IDENTIFIER) != 0;
    at += (type & PERF_SAMPLE_IP) != 0;
    sample->thread.pid = (pid_t)(uint32_t)*at;
    sample->tid = (uint32_t)(*at >> 32);
    at += (type & PERF_SAMPLE_TID) != 0;
    sample->time = *at;
    at += (type & PERF_SAMPLE_TIME) != 0;
    at += (type & PERF_SAMPLE_ADDR) != 0;
    at += (type & PERF_SAMPLE_ID) != 0;
    at += (type & PERF_SAMPLE_STREAM_ID) != 0;
    at += (type & PERF_SAMPLE_CPU) != 0;
    return at + ((type & PERF_SAMPLE_PERIOD) != 0);
}

/* False: no copy. */
static bool thread_read(const struct perf_event_attr *attr,
                        const uint64_t *at,
                        struct unwind_thread *thread)
{
    static const uint8_t numbers[24] = {0,  3,  2,  1,  4,  5,  6,  7,
                                        16, 17, 17, 17, 17, 17, 17, 17,
                                        8,  9,  10, 11, 12, 13, 14, 15};
    uint64_t room;

    if ((attr->sample_type & PERF_SAMPLE_CALLCHAIN) != 0) {
        at += 1 + *at;
    }
    if (*at++ != ABI_64) {
        return false;
    }
    for (unsigned i = 0; i < 24; i++) {
        if ((attr->sample_regs_user >> i & 1) != 0) {
            if (numbers[i] < EHFRAME_REGISTERS) {
                thread->registers[numbers[i]] = *at;
            }
            at++;
        }
    }
    room = *at++;
    thread->stack = (const uint8_t *)at;
    thread->length = room == 0 ? 0 : at[room / 8];
    return thread->length > 0;
}

/* What is to be taken from an address for its place in the file. */
static uint64_t place_of(const struct bench *bench, pid_t pid, uint64_t address)
{
    for (size_t i = bench->maps_count; i-- > 0;) {
        const struct mmap2 *map = bench->maps[i];

        if ((pid_t)map->pid == pid && address >= map->address &&
            address - map->address < map->length) {
            return map->address - map->offset;
        }
    }
    return 0;
}

/* The instructions in their files; the last line is how the walk ended. */
static void frames_print(struct bench *bench,
                         const struct sample *sample,
                         const struct unwind_frames *frames,
                         enum unwind_end end)
{
    printf("sample %u %llu\n", sample->tid, (unsigned long long)sample->time);
    for (size_t i = 0; i < frames->count; i++) {
        uint64_t address = frames->frames[i] - 1;

        printf(
            "%llx\n",
            (unsigned long long)(address -
                                 place_of(bench, sample->thread.pid, address)));
    }
    printf("end %d%s\n\n", (int)end, frames->has_pointers ? " pointers" : "");
}

static void sample_take(struct bench *bench, const uint64_t *words)
{
    uint64_t found[FRAMES];
    struct unwind_frames frames = {.frames = found, .room = FRAMES};
    struct sample sample = {.tid = 0};
    const uint64_t *chain = chain_find(bench->attr.sample_type, words, &sample);
    enum unwind_end end;

    if (!thread_read(&bench->attr, chain, &sample.thread)) {
        return;
    }
    end = unwind_walk(bench->unwind, &sample.thread, &frames);
    bench->samples++;
    bench->whole += end == UNWIND_WHOLE;
    bench->frames += frames.count;
    if (bench->is_printing) {
        frames_print(bench, &sample, &frames, end);
    }
}

static void record_take(struct bench *bench,
                        const struct perf_event_header *header)
{
    const struct mmap2 *map = (const void *)header;
    const uint32_t *ids = (const void *)(header + 1);

    if (header->type == PERF_RECORD_SAMPLE) {
        sample_take(bench, (const uint64_t *)(header + 1));
    } else if (header->type == PERF_RECORD_COMM &&
               (header->misc & PERF_RECORD_MISC_COMM_EXEC) != 0) {
        codemaps_begin(bench->codemaps, (pid_t)ids[0]);
    } else if (header->type == PERF_RECORD_FORK && ids[0] != ids[1]) {
        codemaps_forked(bench->codemaps, (pid_t)ids[0], (pid_t)ids[1]);
    } else if (header->type == PERF_RECORD_MMAP2 &&
               (map->protection & PROT_EXEC) != 0 && bench->maps_count < MAPS) {
        bench->maps[bench->maps_count++] = map;
        codemaps_mapped(bench->codemaps, (pid_t)map->pid,
                        &(struct mapping){.start = map->address,
                                          .end = map->address + map->length,
                                          .offset = map->offset,
                                          .path = map->path,
                                          .is_code = true});
    }
}

/* Of a kernel's ring all pages were read before; below a software hypervisor
 * the first time costs more than to unwind what is in one. */
static void pages_touch(const uint8_t *bytes, size_t size)
{
    for (size_t at = 0; at < size; at += PAGE_BYTES) {
        (void)*(const volatile uint8_t *)(bytes + at);
    }
}

/* Into memory: the kernel's ring is there, too. */
static int file_read(struct bench *bench, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    uint8_t *bytes = NULL;
    size_t done = 0;
    ssize_t got = 1;

    if (fd >= 0 && fstat(fd, &status) == 0) {
        bench->size = (size_t)status.st_size;
        bytes = malloc(bench->size);
    }
    while (bytes != NULL && done < bench->size && got > 0) {
        got = read(fd, bytes + done, bench->size - done);
        done += got > 0 ? (size_t)got : 0;
    }
    (void)close(fd);
    pages_touch(bytes, done);
    bench->bytes = bytes;
    return bytes != NULL && done == bench->size ? 0 : -1;
}

/* ns: of a sample among its first words, else among its last ones. */
static uint64_t time_of(const struct bench *bench,
                        const struct perf_event_header *header)
{
    uint64_t type = bench->attr.sample_type;
    const uint64_t *words = (const uint64_t *)(header + 1);
    const uint64_t *end = words + (header->size - sizeof(*header)) / 8;
    struct sample sample;

    if (header->type == PERF_RECORD_SAMPLE) {
        (void)chain_find(type, words, &sample);
        return sample.time;
    }
    end -= (type & PERF_SAMPLE_IDENTIFIER) != 0;
    end -= (type & PERF_SAMPLE_CPU) != 0;
    end -= (type & PERF_SAMPLE_STREAM_ID) != 0;
    end -= (type & PERF_SAMPLE_ID) != 0;
    return end[-1];
}

static int by_time(const void *a, const void *b)
{
    const struct record *left = a, *right = b;
    uint64_t x = left->time, y = right->time;

    return x != y ? (x > y) - (x < y)
                  : (left->header > right->header) -
                        (left->header < right->header);
}

/* Records of each CPU are together in the file: one that shows code that is
 * mapped may be behind samples in that code. */
static void records_sort(struct bench *bench, const struct file_header *header)
{
    uint64_t at = header->data.offset;
    uint64_t end = at + header->data.size;

    bench->records_count = 0;
    while (at + 8 <= end && end <= bench->size) {
        const struct perf_event_header *record =
            (const void *)(bench->bytes + at);
        bool is_timed = record->type == PERF_RECORD_SAMPLE ||
                        record->type == PERF_RECORD_COMM ||
                        record->type == PERF_RECORD_FORK ||
                        record->type == PERF_RECORD_MMAP2;

        if (is_timed) {
            bench->records[bench->records_count++] =
                (struct record){time_of(bench, record), record};
        }
        at += record->size > 0 ? record->size : end;
    }
    qsort(bench->records, bench->records_count, sizeof(*bench->records),
          by_time);
}

/* All samples of the file once; ns of each. */
static double pass(struct bench *bench)
{
    double start = now();

    bench->samples = bench->whole = bench->frames = bench->maps_count = 0;
    for (size_t i = 0; i < bench->records_count; i++) {
        record_take(bench, bench->records[i].header);
    }
    return 1e9 * (now() - start) / (double)bench->samples;
}

int main(int argc, char **argv)
{
    struct bench bench = {.is_printing = argc > 2};
    struct file_header header;
    double first, again;

    if (argc < 2 || file_read(&bench, argv[1]) != 0 ||
        bench.size < sizeof(header) ||
        memcmp(bench.bytes, "PERFILE2", 8) != 0) {
        fputs("usage: unwind PERF_DATA [--print]\n", stderr);
        return 2;
    }
    memcpy(&header, bench.bytes, sizeof(header));
    memcpy(&bench.attr, bench.bytes + header.attrs.offset,
           header.attr_size - 16 < sizeof(bench.attr) ? header.attr_size - 16
                                                      : sizeof(bench.attr));
    bench.records = malloc(bench.size / 8 * sizeof(*bench.records));
    bench.codemaps = codemaps_create();
    bench.unwind = unwind_create(bench.codemaps);
    records_sort(&bench, &header);
    first = pass(&bench);
    bench.is_printing = false;
    again = pass(&bench);
    fprintf(stderr,
            "%llu samples, %llu whole, %.1f frames, %.0f ns each (%.0f ns the "
            "first time)\n",
            (unsigned long long)bench.samples, (unsigned long long)bench.whole,
            (double)bench.frames / (double)bench.samples, again, first);
    unwind_destroy(bench.unwind);
    codemaps_destroy(bench.codemaps);
    free(bench.records);
    free((void *)(uintptr_t)bench.bytes);
    return 0;
}
