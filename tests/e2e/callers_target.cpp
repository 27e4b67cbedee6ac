/* callers_target.cpp - as callers_target.c, with what C++ has of its own
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <stdexcept>
#include <time.h>
#include <vector>

static volatile double sum;
static long long spent[3];

static long long now()
{
    timespec at;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
    return at.tv_sec * 1000000000ll + at.tv_nsec;
}

static void spin(int chain)
{
    long long start = now(), at = start;

    while (at < start + 2000000) {
        for (int i = 0; i < 20000; i++) {
            sum = sum * 0.5 + i;
        }
        at = now();
    }
    spent[chain] += at - start;
}

static bool compare(int a, int b)
{
    spin(0);
    return a < b;
}

namespace mesh
{
struct Part {
    virtual ~Part() = default;
    virtual void refine(int level) = 0;
};

struct Cell : Part {
    void refine(int level) override;
};

/* The exception passes through frames that clean up. */
void Cell::refine(int level)
{
    std::vector<int> held(10, level);

    if (level > 0) {
        refine(level - 1);
    } else {
        spin(1);
        throw std::runtime_error("done");
    }
    sum = sum + held[0];
}
} // namespace mesh

static void sorter()
{
    std::vector<int> items = {2, 1};

    std::sort(items.begin(), items.end(), compare);
    sum = sum + items[0];
}

static void caught(mesh::Part &part)
{
    try {
        part.refine(3);
    } catch (const std::runtime_error &) {
        spin(2);
    }
}

int main(int argc, char **argv)
{
    int steps = argc > 1 ? atoi(argv[1]) : 100;
    std::unique_ptr<mesh::Part> part(new mesh::Cell);

    for (int i = 0; i < steps; i++) {
        sorter();
        caught(*part);
    }
    std::printf("%lld main sorter compare spin\n", spent[0]);
    std::printf("%lld main caught mesh::Cell::refine mesh::Cell::refine "
                "mesh::Cell::refine mesh::Cell::refine spin\n",
                spent[1]);
    std::printf("%lld main caught spin\n", spent[2]);
    return 0;
}
