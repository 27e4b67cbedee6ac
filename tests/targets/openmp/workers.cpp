/* workers.cpp - a pool of std::thread whose workers share one std::mutex
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     workers ROUNDS     4 workers each compute 0.2 ms without the lock and 2
 * ms with it, ROUNDS times; prints the pool's own truth:
 *
 *     truth WALL_NS HELD_NS WAITED_NS
 *
 * WALL_NS from the first thread's begin to the last one's end, HELD_NS in which
 * some worker had the lock, WAITED_NS for which workers waited for it in all.
 */
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <thread>
#include <vector>

namespace
{

using Clock = std::chrono::steady_clock;

double cpu_ms()
{
    struct timespec ts;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
    return static_cast<double>(ts.tv_sec) * 1e3 +
           static_cast<double>(ts.tv_nsec) / 1e6;
}

__attribute__((noinline)) void merge_into_table(double ms)
{
    volatile double sink = 1;

    for (double end = cpu_ms() + ms; cpu_ms() < end;) {
        for (int i = 0; i < 5000; i++) {
            sink = sink * 1.0000001 + 1e-9;
        }
    }
}

__attribute__((noinline)) void parse(double ms)
{
    volatile double sink = 2;

    for (double end = cpu_ms() + ms; cpu_ms() < end;) {
        for (int i = 0; i < 5000; i++) {
            sink = sink * 1.0000001 + 1e-9;
        }
    }
}

class Pool
{
  public:
    void run(int workers, int rounds)
    {
        std::vector<std::thread> threads;
        const auto begin = Clock::now();

        for (int i = 0; i < workers; i++) {
            threads.emplace_back([this, rounds] { work(rounds); });
        }
        for (auto &thread : threads) {
            thread.join();
        }
        wall_ = Clock::now() - begin;
    }

    void print() const
    {
        std::printf("truth %lld %lld %lld\n", ns(wall_), ns(held_),
                    ns(waited_));
    }

  private:
    static long long ns(Clock::duration time)
    {
        return std::chrono::duration_cast<std::chrono::nanoseconds>(time)
            .count();
    }

    __attribute__((noinline)) void work(int rounds)
    {
        for (int i = 0; i < rounds; i++) {
            parse(0.2);
            const auto asked = Clock::now();
            const std::lock_guard<std::mutex> hold(mutex_); /* here: workers */
            const auto got = Clock::now();

            waited_ += got - asked;
            merge_into_table(2);
            held_ += Clock::now() - got;
        }
    }

    std::mutex mutex_;
    Clock::duration wall_{}, held_{}, waited_{};
};

} // namespace

int main(int argc, char **argv)
{
    Pool pool;

    /* Waits are recorded behind a process' first 100 ms. */
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    pool.run(4, argc > 1 ? std::atoi(argv[1]) : 60);
    pool.print();
    return 0;
}
