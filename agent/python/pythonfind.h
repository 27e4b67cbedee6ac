/* pythonfind.h - the interpreter in a process
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_PYTHON_PYTHONFIND_H
#define CK_AGENT_PYTHON_PYTHONFIND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/python/pythonlayout.h"

struct pythonprogram {
    struct pythonlayout layout;
    uint64_t runtime;              /* where _PyRuntime is */
    uint64_t code, text, bytes;    /* types: PyCode_Type, ... */
    uint64_t code_start, code_end; /* of the file that the interpreter is in */
};

enum pythonfind {
    PYTHONFIND_NONE,    /* no interpreter is mapped */
    PYTHONFIND_UNKNOWN, /* one is, of a version or build that is not known */
    PYTHONFIND_REFUSED, /* its memory may not be read */
    PYTHONFIND_FOUND,
};

/* Look into what the process has mapped: its program, and files whose names
 * begin with python or libpython. */
enum pythonfind pythonfind(pid_t pid, struct pythonprogram *program);
/* Is that the name of such a file? */
bool pythonfind_is_named(const char *path);
/* Is the process' program a file that was found to have no interpreter? A
 * script starts the same few a thousand times. */
bool pythonfind_is_none(pid_t pid);

#endif
