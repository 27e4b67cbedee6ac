/* mockcupti.h - a CUPTI without a GPU: what the test program tells it
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The library has the SONAME of the real one. The environment chooses how it
 * behaves (MOCK_CASE):
 *     busy      somebody else holds CUPTI (error 39)
 *     nodriver  cuptiSubscribe fails with 999
 *     enable    every cuptiActivityEnable fails
 *     hang      the forced flush never returns
 *     late      only the forced flush gives buffers back
 *     takeover  the clock is no longer the registered one
 *     drop      three records are said to be dropped
 * MOCK_REAL names the real library; then its cuptiActivityGetNextRecord walks
 * the buffers.
 */
#ifndef CK_TESTS_TARGETS_CUPTI_MOCKCUPTI_H
#define CK_TESTS_TARGETS_CUPTI_MOCKCUPTI_H

#include <stddef.h>
#include <stdint.h>

#include <cupti.h>

#define MOCK_EXPORT __attribute__((visibility("default")))

/* An activity record is done; taken if its kind was asked for (any: always).
 */
MOCK_EXPORT void mock_emit(const void *record, size_t bytes);
MOCK_EXPORT void mock_emit_any(const void *record, size_t bytes);
/* An API call enters or leaves on this thread; told if it was asked for. */
MOCK_EXPORT void mock_call(CUpti_CallbackDomain domain,
                           const char *name,
                           CUpti_ApiCallbackSite site,
                           uint32_t correlation);
/* The clock that was registered; 0: none. */
MOCK_EXPORT uint64_t mock_clock(void);
/* A context goes, or CUPTI fails for good. */
MOCK_EXPORT void mock_context_destroy(void);
MOCK_EXPORT void mock_fatal(void);

#endif
