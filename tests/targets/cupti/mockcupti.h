/* mockcupti.h - a CUPTI without a GPU: what the test program asks of it
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * The library has the SONAME of the real one. The environment chooses how it
 * behaves (MOCK_CASE):
 *     busy      another client holds CUPTI (error 39)
 *     nodriver  cuptiSubscribe fails with 999
 *     enable    every cuptiActivityEnable fails
 *     hang      the forced flush never returns
 *     late      only the forced flush gives buffers back
 *     takeover  the clock is another one after a while
 *     drop      three records are reported as dropped
 *     zero      no kernel has times
 *     pool      no node of a graph has times behind the first 2,000, as when
 *               the device's own buffers are used up; odd ones end before they
 *               begin
 *     stuck     a plain flush never returns
 *     apart     the driver's call in a runtime's has a number of its own
 *     held      as busy, until mock_release()
 *     scarce    buffers come back at the end only, and the first flush does
 *               not return before one was missing
 * MOCK_VERSION is what cuptiGetVersion() gives (130001); records have the
 * lengths of that version, and from 12.6 until 13.1 a registered clock makes
 * every other kernel lose its times.
 * MOCK_REAL names the real library; then its cuptiActivityGetNextRecord walks
 * the buffers.
 */
#ifndef CK_TESTS_TARGETS_CUPTI_MOCKCUPTI_H
#define CK_TESTS_TARGETS_CUPTI_MOCKCUPTI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/inject/cupti/cuptiabi.h"

#define MOCK_EXPORT __attribute__((visibility("default")))

/* What only other clients call. */
MOCK_EXPORT int cuptiActivityDisable(uint32_t kind);

/* An activity record is done; taken if its kind was asked for (any: always).
 */
MOCK_EXPORT void mock_emit(const void *record, size_t bytes);
MOCK_EXPORT void mock_emit_any(const void *record, size_t bytes);
/* An API call enters or leaves on this thread; reported if it was asked for. */
MOCK_EXPORT void mock_call(uint32_t domain,
                           const char *name,
                           enum cupti_site site,
                           uint32_t correlation);
/* What stamps records: the clock that was registered, or REALTIME. */
MOCK_EXPORT uint64_t mock_clock(void);
/* Was that kind asked for? */
MOCK_EXPORT bool mock_is_enabled(uint32_t kind);
/* CUPTI fails for good. */
MOCK_EXPORT void mock_fatal(void);
/* Another client registers its buffers, and frees all that come to it. */
MOCK_EXPORT void mock_steal(void);
/* Whoever held CUPTI lets it go. */
MOCK_EXPORT void mock_release(void);
/* Is it this client that has the buffers? With NULL: none. */
MOCK_EXPORT bool mock_is_client(cupti_requested_f *requested);
/* Is everything that was emitted back with the client? */
MOCK_EXPORT bool mock_is_empty(void);
/* Flushes that were begun, and stamps that were asked for. */
MOCK_EXPORT unsigned mock_flushes(void);
MOCK_EXPORT unsigned mock_stamps(void);
/* Has another client the buffers? */
MOCK_EXPORT bool mock_is_stolen(void);
/* Flushes while a callback ran in which CUPTI forbids them. */
MOCK_EXPORT unsigned mock_forbidden(void);

#endif
