/* allocations_target.cpp - asks for memory in known ways, and prints how much
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     allocations_target [TIMES]
 *
 * A line of stdout for each function: its name, the bytes that it asked for,
 * what of that was live when most was, and what is at the end.
 */
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

static const size_t MB = 1 << 20;
static const size_t SMALL = 200;

/* Each function is there as it is written, under its own name. */
#ifdef __clang__
#define KEPT extern "C" __attribute__((noinline))
#else
#define KEPT extern "C" __attribute__((noipa))
#endif

static void *volatile seen;

/* Each size of 16 to 1,600 bytes, kept until the end. */
KEPT size_t keep_mixed(size_t bytes)
{
    size_t all = 0;

    for (size_t i = 0; all < bytes; i++) {
        size_t each = 16 + i * 16 % 1600;

        seen = std::malloc(each); /* here: keep_mixed */
        all += each;
    }
    return all;
}

struct node {
    char text[SMALL];
};

/* C++: live at the peak, then given back. */
KEPT size_t grow_nodes(std::vector<std::unique_ptr<node>> &nodes, size_t bytes)
{
    for (size_t i = 0; i < bytes / SMALL; i++) {
        nodes[i].reset(new node); /* here: grow_nodes */
    }
    return bytes / SMALL * SMALL;
}

/* Given back at once, again and again. */
KEPT size_t churn(size_t bytes)
{
    for (size_t i = 0; i < bytes / 4096; i++) {
        seen = std::calloc(4, 1024); /* here: churn */
        std::free(seen);
    }
    return bytes / 4096 * 4096;
}

/* So large that it is sampled in any case. */
KEPT void *map_large(size_t bytes)
{
    return mmap(NULL, bytes, PROT_READ | PROT_WRITE, /* here: map_large */
                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* Of three that are side by side, what is given back at the peak's end: the
 * first half of the first, the middle of the second, and with one call what is
 * around the end of the second and the begin of the third. */
KEPT char *map_parts(size_t each)
{
    char *begin = static_cast<char *>(
        mmap(NULL, 3 * each, PROT_NONE, /* room */
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));

    for (int i = 0; i < 3; i++) {
        (void)mmap(begin + i * each, each,
                   PROT_READ | PROT_WRITE, /* here: map_parts */
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    }
    return begin;
}

KEPT void unmap_parts(char *begin, size_t each)
{
    (void)munmap(begin, each / 2);
    (void)munmap(begin + each + each / 4, each / 4);
    (void)munmap(begin + 2 * each - each / 8, each / 4);
}

/* The second half is covered by what is no memory; of the first a half moves,
 * which is a new block. */
KEPT char *map_covered(size_t bytes)
{
    return static_cast<char *>(mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

KEPT void cover(char *begin, size_t bytes)
{
    (void)mmap(begin + bytes / 2, bytes / 2, PROT_NONE,
               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

KEPT void move_part(char *begin, size_t bytes)
{
    seen = mremap(begin, bytes, 2 * bytes, MREMAP_MAYMOVE);
}

KEPT void *align_block(size_t bytes)
{
    void *block = NULL;

    return posix_memalign(&block, 64, bytes) == 0 ? block : NULL;
}

/* Doubles like a vector. */
KEPT void *grow_array(size_t bytes)
{
    void *array = NULL;

    for (size_t now = 4096; now <= bytes; now *= 2) {
        array = std::realloc(array, now); /* here: grow_array */
    }
    return array;
}

/* Blocks of one thread that another gives back. */
KEPT void hand_over(size_t bytes)
{
    std::vector<void *> blocks(bytes / 1024);
    std::thread maker([&blocks] {
        for (void *&block : blocks) {
            block = std::malloc(1024); /* here: hand_over */
        }
    });

    maker.join();
    for (void *block : blocks) {
        std::free(block);
    }
}

/* A thread gives back as it ends what it kept for itself. */
KEPT void keep_by_thread(size_t bytes)
{
    pthread_key_t key;

    if (pthread_key_create(&key, std::free) == 0) {
        std::thread([bytes, key] {
            void *own = std::malloc(bytes); /* here: keep_by_thread */

            (void)pthread_setspecific(key, own);
        }).join();
    }
}

/* A container of the standard library asks for it. */
KEPT size_t fill_vector(size_t bytes)
{
    static auto *kept = new std::vector<char>; /* until the very end */

    kept->resize(bytes); /* here: fill_vector */
    return bytes;
}

/* What a child frees of its parent's is no business of the parent's. */
static void fork_and_free(std::vector<std::unique_ptr<node>> &nodes)
{
    pid_t child = fork();

    if (child == 0) {
        nodes.clear();
        std::_Exit(0);
    }
    (void)waitpid(child, NULL, 0);
}

static void say(const char *what, size_t all, size_t peak, size_t last)
{
    std::printf("%s %zu %zu %zu\n", what, all, peak, last);
}

int main(int argc, char **argv)
{
    size_t times = argc > 1 ? std::strtoul(argv[1], NULL, 10) : 1;
    size_t mixed, filled, grown, churned, large = 8 * MB * times;
    std::vector<std::unique_ptr<node>> nodes(16 * MB * times / SMALL);
    size_t part = 4 * MB * times;
    void *map, *aligned, *array;
    char *parts, *covered;

    keep_by_thread(4 * MB * times);
    hand_over(8 * MB * times);
    churned = churn(64 * MB * times);
    mixed = keep_mixed(16 * MB * times);
    filled = fill_vector(8 * MB);
    map = map_large(large);
    parts = map_parts(part);
    covered = map_covered(large);
    aligned = align_block(4 * MB * times);
    array = grow_array(4 * MB);
    grown = grow_nodes(nodes, 16 * MB * times);
    fork_and_free(nodes);
    nodes.clear();
    (void)munmap(map, large);
    unmap_parts(parts, part);
    cover(covered, large);
    move_part(covered, large / 4);
    std::free(aligned);
    std::free(array);
    say("keep_mixed", mixed, mixed, mixed);
    say("grow_nodes", grown, grown, 0);
    say("churn", churned, 0, 0);
    say("fill_vector", filled, filled, filled);
    say("map_large", large, large, 0);
    say("map_parts", 3 * part, 3 * part, 2 * part);
    say("map_covered", large, large, large / 4);
    say("move_part", large / 2, 0, large / 2);
    say("align_block", 4 * MB * times, 4 * MB * times, 0);
    say("grow_array", 8 * MB - 4096, 4 * MB, 0);
    return 0;
}
