/* seeds.c - the first inputs of the fuzz targets: DIR/batch, DIR/control,
 * DIR/segment, DIR/probe, DIR/options, DIR/scalene, DIR/manifest, DIR/ring,
 * DIR/python, DIR/standing, DIR/unwind, DIR/jit, DIR/frameindex
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include "schema/clock/probe.h"
#include "schema/batch/pack.h"
#include "schema/batch/wire.h"
#include "schema/store/frameindex.h"
#include "tests/schema/records.h"

#define ROOM ((size_t)8 << 10)

static struct ck_batch_writer *writer;

static FILE *seed_open(const char *dir, const char *target, int number)
{
    char path[4096];

    (void)snprintf(path, sizeof(path), "%s/%s", dir, target);
    if (mkdir(path, 0700) != 0 && errno != EEXIST) {
        return NULL;
    }
    (void)snprintf(path, sizeof(path), "%s/%s/%d", dir, target, number);
    return fopen(path, "wb");
}

static int put(FILE *file, const void *bytes, size_t length)
{
    return file != NULL && fwrite(bytes, 1, length, file) == length ? 0 : -1;
}

static int
put_frame(FILE *file, enum ck_pack pack, const void *payload, size_t length)
{
    static const char zeros[8];
    static uint8_t packed[4 * ROOM];
    struct ck_frame_header header = {.pack = (uint8_t)pack};
    int64_t stored =
        ck_pack(pack, payload, length, packed, sizeof(packed), NULL);

    if (stored < 0) {
        return 0; /* not built in */
    }
    header.length = (uint32_t)stored;
    header.raw = (uint32_t)length;
    ck_frame_seal(&header, packed);
    return put(file, &header, sizeof(header)) |
           put(file, packed, header.length) |
           put(file, zeros, (8 - header.length % 8) % 8);
}

static int make_seed(const char *dir, struct records_random *random, int number)
{
    static uint8_t rows[ROOM] __attribute__((aligned(8)));
    struct ck_ack acks[2] = {{{1, 2}, 3}, {{4, 5}, 6}};
    struct ck_control control = {.type = number % 4 == 3 ? CK_CONTROL_WHERE
                                                         : CK_CONTROL_WELCOME,
                                 .text = "run=a\n",
                                 .text_length = 6,
                                 .acks = acks,
                                 .acks_count = (size_t)number % 3};
    struct ck_batch_info info = {.clock = CK_CLOCK_RAW};
    FILE *batch = seed_open(dir, "batch", number);
    FILE *segment = seed_open(dir, "segment", number);
    FILE *message = seed_open(dir, "control", number);
    size_t used = 0, n, length;
    const void *bytes;
    int rc;

    while ((n = records_any(random, rows + used, (size_t)number * 300 - used)) >
           0) {
        used += n;
    }
    rc = ck_batch_encode(writer, &info, rows, used, &bytes, &length, NULL);
    rc |= put(batch, bytes, length);
    rc |= put_frame(segment, CK_PACK_NONE, bytes, length);
    rc |= put_frame(segment, CK_PACK_LZ4, bytes, length);
    rc |= put_frame(segment, CK_PACK_ZSTD, bytes, length);
    rc |= ck_control_encode(writer, &control, &bytes, &length, NULL);
    rc |= put(message, bytes, length);
    if (batch == NULL || segment == NULL || message == NULL) {
        return -1;
    }
    return rc | fclose(batch) | fclose(segment) | fclose(message);
}

/* A text of each kind. */
static int make_text(const char *dir, const char *target, int number)
{
    static const char *const options[] = {
        "--flag --text 'a b' --list=x --list \"y\\\" z\" -n 12",
        "--no-flag --bytes 1.5GiB --time=20ms --choice bc",
        "-f -tx -b 64K --time 1m --int=-3 -- rest",
        "--help",
        "tcp://127.0.0.1:7700,tcp://[::1]:1,ipc:///run/user/1/ck/a",
        ("tcp://host:65535 curve=rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7 "
         "token=00112233445566778899aabbccddeeff"),
        "tcp://*:0",
        "512",
    };
    static const char *const profiles[] = {
        "{\"files\":{\"a.py\":{\"lines\":[{\"lineno\":1,"
        "\"cpu_samples_list\":[1.5,2.25]}]}},\"entrypoint_dir\":\"/x\","
        "\"start_time_absolute\":1.0,\"start_time_perf\":2.5}",
        "<html><script>const profile = {\"files\":{}};</script>",
        "const const profile = {\"files\":{\"b\":{\"lines\":[{}]}}}",
        "{\"files\":[],\"start_time_perf\":\"x\"}",
    };
    static const char *const manifests[] = {
        ("{\"version\": 1, \"job_key\": \"a \\\"b\\\"\", \"state\": \"done\", "
         "\"started_realtime\": 1795254178530903197, \"agents\": [{\"agent\": "
         "\"00112233445566778899aabbccddeeff\", \"rank\": 3, \"records\": 12, "
         "\"missing_units\": 4}], \"clock_probes\": {\"answered\": 1}}"),
        "{\"version\": 1, \"state\": \"merge\", \"agents\": [{}, {\"rank\": "
        "-1}]}",
        "{\"version\": 2, \"agents\": {}}",
        "[1, \"agents\": ]",
    };
    const char *text = strcmp(target, "options") == 0    ? options[number % 8]
                       : strcmp(target, "manifest") == 0 ? manifests[number % 4]
                                                         : profiles[number % 4];
    FILE *file = seed_open(dir, target, number);
    int rc = put(file, text, strlen(text));

    return file == NULL ? -1 : rc | fclose(file);
}

/* Changes to a ring file: where (3 bytes), how many (1), bytes. */
static int make_changes(const char *dir, int number)
{
    FILE *file = seed_open(dir, "ring", number);
    int rc = file == NULL ? -1 : 0;

    for (int i = 0; rc == 0 && i < number; i++) {
        const uint8_t change[] = {0, (uint8_t)i, (uint8_t)(number * 16), 3,
                                  1, 2,          (uint8_t)(i * 85),      255};

        rc = put(file, change, sizeof(change));
    }
    return file == NULL ? -1 : rc | fclose(file);
}

/* Exchanges as an agent asks them; their tags are of another key. */
static int make_probes(const char *dir, int number)
{
    static const uint8_t key[CK_AUTH_KEY_BYTES] = {1};
    FILE *file = seed_open(dir, "probe", number);
    int rc = file == NULL ? -1 : 0;

    for (int i = 1; rc == 0 && i <= number + 1; i++) {
        struct ck_probe ask = {.type = CK_PROBE_ASK,
                               .session = 1,
                               .number = (uint64_t)(i * (number + 1)),
                               .earlier = (uint64_t)i - 1,
                               .earlier_sent = 1000 * i,
                               .earlier_received = 1000 * i + 300,
                               .earlier_error = 20};
        uint8_t bytes[CK_PROBE_BYTES];

        ck_probe_encode(&ask, key, bytes);
        rc = put(file, bytes, sizeof(bytes));
    }
    return file == NULL ? -1 : rc | fclose(file);
}

/* A version, then words of an interpreter's memory: where (2 bytes), what they
 * are (2), the word (4). */
static int make_python(const char *dir, int number)
{
    FILE *file = seed_open(dir, "python", number);
    const uint8_t version = (uint8_t)number;
    int rc = put(file, &version, 1);

    for (int i = 0; rc == 0 && i < 8 * number; i++) {
        const uint16_t head[] = {(uint16_t)(1024 + 8 * (37 * i % 512)),
                                 (uint16_t)(i % 4)};
        const uint32_t word = (uint32_t)(977 * i);

        rc = put(file, head, sizeof(head)) | put(file, &word, sizeof(word));
    }
    return file == NULL ? -1 : rc | fclose(file);
}

/* Stacks, then looks at threads that have them: a head (8 bytes), bytes. */
static int make_standing(const char *dir, int number)
{
    static const char *const states = "RSDTtZ";
    FILE *file = seed_open(dir, "standing", number);
    int rc = file == NULL ? -1 : 0;

    for (int i = 0; rc == 0 && i < number; i++) {
        const uint64_t stack[] = {0x1000, 0x2000 + (uint64_t)i, 0x3000};
        char lines[256];
        int length =
            snprintf(lines, sizeof(lines),
                     "state=%c\ncall=futex\nlock=7f0%d\nowner=%d\nfile=/a/b\n"
                     "stack=%s\nage=%d\nname=\033[2J\302\233x\n",
                     states[i % 6], i % 3, 2 + (i + 1) % number,
                     i % 2 == 0 ? "whole" : "sampled", 1000 * (i % 2));
        const uint8_t heads[2][8] = {
            {1, (uint8_t)i, (uint8_t)(1 + i), 0, 0, 0, sizeof(stack), 0},
            {0, (uint8_t)(i / 8), (uint8_t)(1 + i), (uint8_t)(2 + i), 0, 1,
             (uint8_t)length, 0}};

        rc = put(file, heads[0], 8) | put(file, stack, sizeof(stack)) |
             put(file, heads[1], 8) | put(file, lines, (size_t)length);
    }
    return file == NULL ? -1 : rc | fclose(file);
}

/* A stack with addresses of the stack and of the code, then the kernel's vdso,
 * which is a small ELF file; where there is none, no file. */
static int make_unwind(const char *dir, int number)
{
    const uint8_t *vdso =
        (const uint8_t *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
    FILE *file = seed_open(dir, "unwind", number);
    size_t bytes = 0;
    int rc = 0;

    for (uint64_t i = 0; rc == 0 && i < 64; i++) {
        uint64_t word = i % 2 == 0 ? 0x7000000 + 8 * i
                                   : 0x10000 + 97 * i * (uint64_t)number;

        rc = put(file, &word, sizeof(word));
    }
    for (unsigned i = 0; vdso != NULL && i < ((Elf64_Ehdr *)vdso)->e_phnum;
         i++) {
        Elf64_Phdr segment;

        memcpy(&segment,
               vdso + ((Elf64_Ehdr *)vdso)->e_phoff + i * sizeof(segment),
               sizeof(segment));
        if (segment.p_type == PT_LOAD) {
            bytes = segment.p_offset + segment.p_filesz;
        }
    }
    rc |= bytes > 0 ? put(file, vdso, bytes) : 0;
    return file == NULL ? -1 : rc | fclose(file);
}

/* A text with lines of code one over the other, and a dump with one piece of
 * code and its lines. */
static int make_jit(const char *dir, int number)
{
    static const uint32_t head[10] = {0x4a695444, 1, 40};
    const uint32_t lines[] = {
        2, 16 + 16 + 16 + 8, 0, 0, 0x4000, 0, 1, 0, 0x4000,
        0, (uint32_t)number, 0};
    const uint32_t load[] = {0, 16 + 40 + 8, 0, 0,     7, 7, 0x4000,
                             0, 0x4000,      0, 0x800, 0, 1, 0};
    FILE *file = seed_open(dir, "jit", 2 * number);
    int rc = file == NULL ? -1 : 0;

    if (rc == 0) {
        rc = fprintf(file, "%c%c1000 800 first\n%x 40 second\n0x1100 8 x y\n",
                     2 * number, 16 * number, 0x1000 + 64 * number) < 0;
        rc |= fclose(file);
    }
    file = seed_open(dir, "jit", 2 * number + 1);
    if (file == NULL || rc != 0) {
        return -1;
    }
    rc = fprintf(file, "%c%c", 2 * number + 1, 16 * number) < 0;
    rc |= put(file, head, sizeof(head)) | put(file, lines, sizeof(lines)) |
          put(file, "/x/f.js", 8) | put(file, load, sizeof(load)) |
          put(file, "compile", 8);
    return rc | fclose(file);
}

/* Two segments with a stream and some frames each. */
static int make_frameindex(const char *dir, int number)
{
    uint64_t bytes[256];
    const size_t file_bytes = sizeof(struct ck_frameindex_file) +
                              sizeof(struct ck_frameindex_stream) +
                              (size_t)number * sizeof(struct ck_frameindex_row);
    const size_t all = sizeof(struct ck_frameindex_head) + 2 * file_bytes;
    FILE *file = seed_open(dir, "frameindex", number);
    int rc;

    memset(bytes, 0, sizeof(bytes));
    for (int f = 0; f < 2; f++) {
        struct ck_frameindex_file *part =
            (void *)((uint8_t *)bytes + sizeof(struct ck_frameindex_head) +
                     (size_t)f * file_bytes);
        struct ck_frameindex_row *rows;

        *part = (struct ck_frameindex_file){
            .end = 4096, .streams = 1, .rows = (uint32_t)number};
        rows = (void *)ck_frameindex_rows(part);
        for (int i = 0; i < number; i++) {
            rows[i] = (struct ck_frameindex_row){.offset = 256 * (uint64_t)i,
                                                 .first = 4 * (uint64_t)i,
                                                 .units = 4,
                                                 .length = 100};
        }
    }
    ck_frameindex_seal(bytes, all, 2);
    rc = put(file, bytes, all);
    return file == NULL ? -1 : rc | fclose(file);
}

int main(int argc, char **argv)
{
    struct records_random random = {20260711};
    int rc = argc == 2 ? 0 : 1;

    writer = ck_batch_writer_create();
    for (int i = 0; rc == 0 && writer != NULL && i < 12; i++) {
        rc = make_seed(argv[1], &random, i) | make_probes(argv[1], i) |
             make_text(argv[1], "options", i) |
             make_text(argv[1], "scalene", i) |
             make_text(argv[1], "manifest", i) | make_changes(argv[1], i) |
             make_python(argv[1], i) | make_standing(argv[1], i) |
             make_unwind(argv[1], i) | make_jit(argv[1], i) |
             make_frameindex(argv[1], i);
    }
    if (rc != 0) {
        (void)fprintf(stderr, "usage: seeds DIR (an existing one)\n");
    }
    ck_batch_writer_destroy(writer);
    return rc == 0 ? 0 : 1;
}
