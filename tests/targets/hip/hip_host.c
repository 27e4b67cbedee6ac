/* hip_host.c - a program that loads a library, and sleeps for two seconds
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 *     hip_host LIBRARY
 */
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc != 2 || dlopen(argv[1], RTLD_NOW) == NULL) {
        (void)fprintf(stderr, "hip_host: %s\n", dlerror());
        return 3;
    }
    for (int i = 0; i < 20; i++) {
        (void)usleep(100000);
    }
    return 0;
}
