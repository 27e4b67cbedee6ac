/* program.c - ckmerge as a program, and its outputs
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tests/merge/program.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

static void must(int is_true)
{
    if (!is_true) {
        perror("ckmerge could not be run");
        abort();
    }
}

int program_merge(char **text, const char *dir, const char *format, ...)
{
    char args[8192], command[16384], buffer[4096];
    va_list list;
    size_t length = 0, n;
    FILE *pipe, *memory;

    va_start(list, format);
    (void)vsnprintf(args, sizeof(args), format, list);
    va_end(list);
    (void)snprintf(command, sizeof(command), "cd %s && %s %s 2>&1 </dev/null",
                   dir, CK_TEST_CKMERGE, args);
    free(*text);
    *text = NULL;
    memory = open_memstream(text, &length);
    pipe = popen(command, "re");
    must(memory != NULL && pipe != NULL);
    while ((n = fread(buffer, 1, sizeof(buffer), pipe)) > 0) {
        (void)fwrite(buffer, 1, n, memory);
    }
    must(fclose(memory) == 0);
    return WEXITSTATUS(pclose(pipe));
}
