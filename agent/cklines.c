/* cklines.c - the program that ckmerge asks for places of call sites
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * It reads and prints what agent/symbols/lookup.h has. A program of its own:
 * what a hostile file does to it ends it alone, and it loads a quarter of
 * ckagent's libraries, which would take longer than to find a dozen places.
 */
#include <stdio.h>

#include "agent/symbols/lookup.h"
#include "launch/cli.h"

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1) {
        fputs("usage: cklines <QUESTIONS\nckmerge starts it: see "
              "agent/symbols/lookup.h for questions and answers\n",
              stderr);
        return CK_EXIT_MISUSE;
    }
    return lookup_run(stdin, stdout) == 0 ? CK_EXIT_DONE : CK_EXIT_FAILED;
}
