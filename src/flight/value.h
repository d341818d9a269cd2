/* SPDX-License-Identifier: MIT */
#ifndef LK_FLIGHT_VALUE_H
#define LK_FLIGHT_VALUE_H

#include <latchkey/flight.h>

/* Values are counted: all callers of a process share one. */

/* One reference. NULL: no memory. */
lk_flight_value *lk__flight_value_new(const void *bytes, size_t size);

/* NULL is allowed, and answers NULL. */
lk_flight_value *lk__flight_value_ref(lk_flight_value *value);

#endif /* LK_FLIGHT_VALUE_H */
