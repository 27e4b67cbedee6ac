/* annotate.cpp - a range that its scope closes
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     g++ -I /opt/ck/include annotate.cpp -o annotate
 *     ckagent -- ./annotate
 */
#include <ck.h>

#include <cmath>
#include <cstdio>

class range
{
  public:
    explicit range(const char *name)
    {
        ck_range_push(name);
    }
    ~range()
    {
        ck_range_pop();
    }
    range(const range &) = delete;
    range &operator=(const range &) = delete;
};

static double train(int rounds)
{
    range here("train");
    double sum = 0;

    for (int i = 1; i < rounds; i++) {
        sum += std::sqrt(static_cast<double>(i));
    }
    return sum;
}

int main()
{
    double sum = 0;

    for (int step = 0; step < 20; step++) {
        ck_step_begin(step);
        sum += train(400000);
        ck_step_end();
    }
    std::printf("%.0f\n", sum);
}
