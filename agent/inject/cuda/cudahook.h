/* cudahook.h - the functions that ckcuda wraps, and the real ones
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_AGENT_INJECT_CUDA_CUDAHOOK_H
#define CK_AGENT_INJECT_CUDA_CUDAHOOK_H

#include <stdbool.h>
#include <stddef.h>

#define CUDA_EXPORT __attribute__((visibility("default")))

/* A function of a library, and ours before it. */
struct cuda_hook {
    const char *symbol;
    void *ours;
    void *_Atomic real; /* NULL = not looked up yet */
};

/* The loader's answer, without ckcuda. NULL where there is no dlsym(). */
typedef void *cuda_dlsym_f(void *library, const char *name);
cuda_dlsym_f *cudahook_dlsym(void);
/* The function in the first of the libraries that the process has already;
 * remembered. NULL: none has it. */
void *cudahook_real(struct cuda_hook *hook, const char *const sonames[]);
/* Of a name that is looked for: the hook, NULL = it is not one of them. */
struct cuda_hook *
cudahook_find(struct cuda_hook *hooks, size_t count, const char *name);

#endif
