/* pythonlayout.h - where an interpreter keeps its threads, frames and code
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * All numbers are byte offsets. Those of 3.11 and 3.12 (64 bits) are the same
 * in all builds; from 3.13 on the interpreter has a table of them at the start
 * of _PyRuntime.
 */
#ifndef CK_AGENT_PYTHON_PYTHONLAYOUT_H
#define CK_AGENT_PYTHON_PYTHONLAYOUT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* No structure that is read is larger, up to the last field of use. */
#define PYTHONLAYOUT_THREAD_MAX 1024
#define PYTHONLAYOUT_FRAME_MAX 256
#define PYTHONLAYOUT_CODE_MAX 512
#define PYTHONLAYOUT_TEXT_MAX 128

struct pythonlayout {
    uint32_t version;      /* major << 8 | minor */
    uint32_t interpreters; /* _PyRuntime: the first interpreter */
    uint32_t next_interpreter;
    uint32_t threads; /* interpreter: its first thread */
    uint32_t next_thread;
    uint32_t interpreter; /* thread */
    uint32_t native_id;
    uint32_t frames; /* thread: the C frame, or the frame itself */
    int32_t current; /* C frame: the frame; -1 = there is no C frame */
    uint32_t code;   /* frame: what it runs */
    uint32_t previous;
    uint32_t instruction;
    uint32_t copy; /* frame: which of the code's copies runs; 0 = one only */
    uint32_t file; /* code */
    uint32_t function;
    uint32_t lines;
    uint32_t first_line;
    uint32_t instructions;
    uint32_t copies;
    uint32_t type; /* object */
    uint32_t text_length;
    uint32_t text_state;
    uint32_t text_ascii; /* the first character, of ASCII */
    uint32_t bytes_length;
    uint32_t bytes_data;
};

/* How much of each structure is read: up to the last field of use. */
uint32_t pythonlayout_thread_bytes(const struct pythonlayout *layout);
uint32_t pythonlayout_frame_bytes(const struct pythonlayout *layout);
uint32_t pythonlayout_code_bytes(const struct pythonlayout *layout);

/* The layout of the interpreter with _PyRuntime and Py_Version there (a
 * version of 0 where there is no such symbol). 0, or -1: not known. */
int pythonlayout_read(pid_t pid,
                      uint64_t runtime,
                      uint64_t version,
                      struct pythonlayout *layout);

#endif
