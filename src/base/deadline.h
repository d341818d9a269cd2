/* SPDX-License-Identifier: MIT */
#ifndef LK_BASE_DEADLINE_H
#define LK_BASE_DEADLINE_H

#include <stdint.h>

/*
 * How long a hold may be believed, from the local clock alone.
 *
 * The server begins to count a lease after the request was sent, so the time
 * before the send plus the lease is early enough when both clocks run at one
 * rate. The drift pays for the difference in rate (1 %) and for the
 * granularity of the clocks (2 ms). Times are nanoseconds of CLOCK_BOOTTIME.
 * Results saturate at UINT64_MAX, which is LK__NEVER.
 */

/* Returns what is taken off a lease: 1 % of it and 2 ms. */
uint64_t lk__drift_ns(uint64_t lease_ms);

/*
 * Returns the time from which a hold is no longer valid: valid while
 * now < deadline. sent_ns is read before the request is sent. A lease not
 * longer than its drift gives sent_ns: never valid.
 */
uint64_t lk__deadline_ns(uint64_t sent_ns, uint64_t lease_ms);

/* Returns when a wait ends. LK_FOREVER: LK__NEVER. */
uint64_t lk__wait_until_ns(uint64_t now_ns, int64_t wait_ms);

/* Returns the whole milliseconds from now to then, rounded down; 0: past. */
uint64_t lk__remaining_ms(uint64_t now_ns, uint64_t then_ns);

#endif /* LK_BASE_DEADLINE_H */
