/* SPDX-License-Identifier: MIT */
#include "support/plain_script.h"

#include <stdarg.h>
#include <stdio.h>

#include "support/check.h"

extern const lk__script lk__script_plain_acquire;
extern const lk__script lk__script_plain_add;
extern const lk__script lk__script_plain_count;
extern const lk__script lk__script_plain_delete;
extern const lk__script lk__script_plain_drain;
extern const lk__script lk__script_plain_info;
extern const lk__script lk__script_plain_leave;
extern const lk__script lk__script_plain_pass;
extern const lk__script lk__script_plain_recheck;
extern const lk__script lk__script_plain_set;
extern const lk__script lk__script_plain_touch;

static const script_layout layout = {
    .count = KEY_LEASES + 1,
    .keys = {[KEY_COUNTER] = "",
             [KEY_STATE] = "latchkey:state",
             [KEY_QUEUE] = "latchkey:queue",
             [KEY_TICKETS] = "latchkey:tickets",
             [KEY_SKIPPED] = "latchkey:skipped",
             [KEY_MEMO] = "latchkey:memo",
             [KEY_VOID] = "latchkey:void",
             [KEY_LEASES] = ":timeout"},
    .channel = "redisson_sc",
};

int plain_setup(void **state)
{
    int result = script_setup(state);

    if (result == 0)
        script_set_layout(*state, &layout);
    return result;
}

/* ---- acquiring ---- */

const char *plain_acquire_with(script_fixture *f, const char *claim,
                               const char *queue, const char *inbox,
                               const char *reason, const char *check_void,
                               const char *need, const char *settled)
{
    return script_call(f, &lk__script_plain_acquire, claim, "0", queue, inbox,
                       reason, check_void, "c", need, "0", settled,
                       (char *)NULL);
}

static const char *acquire(script_fixture *f, const char *claim,
                           const char *queue, const char *need)
{
    char inbox[128];

    snprintf(inbox, sizeof(inbox), "in:%s", claim);
    return plain_acquire_with(f, claim, queue, inbox, "", "0", need, "");
}

const char *
plain_acquire(script_fixture *f, const char *claim, const char *need)
{
    return acquire(f, claim, "1", need);
}

const char *plain_try(script_fixture *f, const char *claim, const char *need)
{
    return acquire(f, claim, "0", need);
}

const char *plain_recheck(script_fixture *f, const char *claim)
{
    return script_call(f, &lk__script_plain_recheck, claim, "0", (char *)NULL);
}

const char *
plain_touch(script_fixture *f, const char *first, const char *second)
{
    return script_call(f, &lk__script_plain_touch, "", first, second,
                       (char *)NULL);
}

const char *
plain_leave(script_fixture *f, const char *claim, const char *tombstone_ms)
{
    return script_call(f, &lk__script_plain_leave, claim, tombstone_ms,
                       (char *)NULL);
}

const char *plain_pass(script_fixture *f)
{
    return script_call(f, &lk__script_plain_pass, "", (char *)NULL);
}

/* ---- changing ---- */

const char *plain_release(script_fixture *f, const char *op, const char *count)
{
    return script_call(f, &lk__script_plain_add, op, count, "1", "",
                       (char *)NULL);
}

const char *plain_add(script_fixture *f, const char *op, const char *amount)
{
    return script_call(f, &lk__script_plain_add, op, amount, "0", "",
                       (char *)NULL);
}

const char *plain_set_for(script_fixture *f, const char *op,
                          const char *permits, const char *ttl_ms)
{
    return script_call(f, &lk__script_plain_set, op, permits, ttl_ms, "",
                       (char *)NULL);
}

const char *plain_set(script_fixture *f, const char *op, const char *permits)
{
    return plain_set_for(f, op, permits, "0");
}

const char *plain_drain(script_fixture *f, const char *op)
{
    return script_call(f, &lk__script_plain_drain, op, "", (char *)NULL);
}

const char *plain_delete(script_fixture *f, const char *op)
{
    return script_call(f, &lk__script_plain_delete, op, "", (char *)NULL);
}

/* ---- asking ---- */

const char *plain_count(script_fixture *f)
{
    return script_call(f, &lk__script_plain_count, "", (char *)NULL);
}

const char *plain_info(script_fixture *f)
{
    return script_call(f, &lk__script_plain_info, "", (char *)NULL);
}

const char *plain_queue(script_fixture *f)
{
    return script_redis(f, "ZRANGE %s 0 -1", f->keys[KEY_QUEUE]);
}

void plain_hear(script_fixture *f, ...)
{
    const char *claim;
    char inbox[128];
    va_list claims;

    va_start(claims, f);
    while ((claim = va_arg(claims, const char *)) != NULL) {
        snprintf(inbox, sizeof(inbox), "in:%s", claim);
        script_listen(f, inbox);
    }
    va_end(claims);
}
