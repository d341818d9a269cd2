/* SPDX-License-Identifier: MIT */

/* Alarms: a heap of times and the lazily set timer of the world. */

#include "base/alarm.h"

#include <stddef.h>

#include "base/container.h"

void lk__alarm_set(lk__alarms *alarms, lk__alarm *alarm, uint64_t at)
{
    lk__timer_set(&alarms->heap, &alarm->timer, at);
}

void lk__alarm_clear(lk__alarms *alarms, lk__alarm *alarm)
{
    lk__timer_clear(&alarms->heap, &alarm->timer);
}

bool lk__alarm_is_set(const lk__alarm *alarm)
{
    return lk__timer_is_set(&alarm->timer);
}

void lk__alarms_run(lk__alarms *alarms, uint64_t now)
{
    lk__timer *timer;

    if (alarms->armed <= now)
        alarms->armed = UINT64_MAX;

    while ((timer = lk__heap_take_due(&alarms->heap, now)) != NULL) {
        lk__alarm *alarm = LK__CONTAINER_OF(timer, lk__alarm, timer);
        alarm->fire(alarm);
    }
}

bool lk__alarms_rearm(lk__alarms *alarms, uint64_t *ret_at)
{
    const lk__timer *first = lk__heap_first(&alarms->heap);

    if (first == NULL || first->at >= alarms->armed)
        return false;

    alarms->armed = first->at;
    *ret_at = first->at;
    return true;
}
