/* record_call.c - an injected library with one wrapped call that does nothing
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/inject/inject.h"
#include "tests/bench/record_call.h"

#define CALL_UNITS (sizeof(struct ck_call) / CK_UNIT_BYTES)

__attribute__((constructor)) static void bench_load(void)
{
    inject_load(CK_LIBRARY_POSIX);
}

__attribute__((visibility("default"))) void bench_call(int64_t bytes)
{
    static struct inject_label label = INJECT_LABEL("bench_call");
    struct inject_call call;
    struct ck_call *record;

    inject_call_enter(&call, &label, CK_KIND_POSIX, __builtin_return_address(0),
                      0, 0);
    record = inject_call_leave(&call, CALL_UNITS);
    if (record != NULL) {
        record->e = inject_call_head(&call, CK_KIND_POSIX, CALL_UNITS);
        record->dur = inject_now() - call.start;
        record->site = call.site;
        record->call = call.number;
        record->object = 0;
        record->bytes = (uint64_t)bytes;
        record->arg = 0;
        record->extra = 0;
        inject_call_commit(&call, CALL_UNITS);
    }
}
