/* beside.h - threads: which there may be, how they begin, work done in one
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * A thread beside the first one gets no signal but those of a file that was
 * lost, and shares the heap: what it frees is there for the others.
 */
#ifndef CK_MERGE_MODEL_BESIDE_H
#define CK_MERGE_MODEL_BESIDE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* Is there a second CPU that this process may use? */
bool beside_has_cpu(void);
/* What a thread needs whose calls nest by what is in the program, not in its
 * data. */
#define BESIDE_STACK ((size_t)1 << 19)
/* Begin a thread with so much room for its stack. False: none can be had. */
bool beside_start(pthread_t *thread,
                  void *(*f)(void *state),
                  void *state,
                  size_t stack_bytes);

/* A piece of work that is done meanwhile. The caller's, without init. */
struct beside {
    void (*f)(void *state);
    void *state;
    pthread_t thread;
    bool has_thread;
};

/* Begin with f(state), if there is a CPU for it and `is_allowed`. */
void beside_begin(struct beside *beside,
                  void (*f)(void *state),
                  void *state,
                  bool is_allowed);
/* It is done: by the thread, else by this call. */
void beside_end(struct beside *beside);

#endif
