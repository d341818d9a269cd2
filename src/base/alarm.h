/* SPDX-License-Identifier: MIT */
#ifndef LK_BASE_ALARM_H
#define LK_BASE_ALARM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/heap.h"

/*
 * Any number of alarms on the world's one timer. They never allocate, so
 * setting one cannot fail. All of it inside the monitor.
 */
typedef struct lk__alarm lk__alarm;

struct lk__alarm {
    lk__timer timer;
    void (*fire)(lk__alarm *alarm); /* the alarm is clear again by then */
};

typedef struct lk__alarms {
    lk__heap heap;
    uint64_t armed; /* what the world's timer is set to; never too late */
} lk__alarms;

/* Sets or moves an alarm to a time, in nanoseconds. */
void lk__alarm_set(lk__alarms *alarms, lk__alarm *alarm, uint64_t at);

/* Allowed when it is not set. */
void lk__alarm_clear(lk__alarms *alarms, lk__alarm *alarm);

bool lk__alarm_is_set(const lk__alarm *alarm);

/* Fires all that are due. */
void lk__alarms_run(lk__alarms *alarms, uint64_t now);

/*
 * Tells the time to set the world's timer to, if it has to be set: only when
 * an alarm has become due before the time it is set to already. So a hold
 * that comes and goes costs no system call.
 */
bool lk__alarms_rearm(lk__alarms *alarms, uint64_t *ret_at);

#endif /* LK_BASE_ALARM_H */
