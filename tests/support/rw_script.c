/* SPDX-License-Identifier: MIT */
#include "support/rw_script.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"

extern const lk__script lk__script_rwlock_acquire;
extern const lk__script lk__script_rwlock_confirm;
extern const lk__script lk__script_rwlock_downgrade;
extern const lk__script lk__script_rwlock_force;
extern const lk__script lk__script_rwlock_info;
extern const lk__script lk__script_rwlock_leave;
extern const lk__script lk__script_rwlock_pass;
extern const lk__script lk__script_rwlock_recheck;
extern const lk__script lk__script_rwlock_release;
extern const lk__script lk__script_rwlock_renew;
extern const lk__script lk__script_rwlock_state;
extern const lk__script lk__script_rwlock_touch;

enum { TEXT_SIZE = 8192, FIELDS = 512 };

static const script_layout layout = {
    .count = KEY_UPGRADES + 1,
    .keys = {[KEY_LOCK] = "",
             [KEY_STATE] = "latchkey:state",
             [KEY_QUEUE] = "latchkey:queue",
             [KEY_TICKETS] = "latchkey:tickets",
             [KEY_SKIPPED] = "latchkey:skipped",
             [KEY_READERS] = "latchkey:readers",
             [KEY_VOID] = "latchkey:void",
             [KEY_HOLDERS] = "latchkey:holders",
             [KEY_SPIN] = "latchkey:spin",
             [KEY_UPGRADERS] = "latchkey:upgraders",
             [KEY_UPGRADES] = "latchkey:upgrades"},
    .claim_key = ":rwlock_timeout:1",
    .channel = "redisson_rwlock",
};

static const char *the_order;

int rw_setup(void **state)
{
    int result = script_setup(state);

    the_order = "0";
    if (result == 0)
        script_set_layout(*state, &layout);
    return result;
}

void rw_set_order(const char *order)
{
    the_order = order;
}

/* ---- coming in ---- */

const char *
rw_acquire_with(script_fixture *f, const char *claim, const char *mode,
                const char *lease, const char *queue, const char *inbox,
                const char *reason, const char *check_void, const char *base)
{
    return script_call(f, &lk__script_rwlock_acquire, claim, lease, queue,
                       inbox, reason, check_void, mode, "1", the_order, base,
                       (char *)NULL);
}

static const char *acquire(script_fixture *f, const char *claim,
                           const char *mode, const char *lease,
                           const char *queue, const char *base)
{
    char inbox[128];

    snprintf(inbox, sizeof(inbox), "in:%s", claim);
    return rw_acquire_with(f, claim, mode, lease, queue, inbox, "", "0", base);
}

const char *rw_acquire(script_fixture *f, const char *claim, const char *mode)
{
    return acquire(f, claim, mode, "30000", "1", "");
}

const char *rw_try(script_fixture *f, const char *claim, const char *mode)
{
    return acquire(f, claim, mode, "30000", "0", "");
}

const char *rw_acquire_on(script_fixture *f, const char *claim,
                          const char *mode, const char *base)
{
    return acquire(f, claim, mode, "30000", "1", base);
}

const char *rw_acquire_for(script_fixture *f, const char *claim,
                           const char *mode, const char *lease)
{
    return acquire(f, claim, mode, lease, "1", "");
}

const char *rw_recheck(script_fixture *f, const char *claim)
{
    return script_call(f, &lk__script_rwlock_recheck, claim, "30000",
                       (char *)NULL);
}

const char *rw_touch(script_fixture *f, const char *first, const char *second)
{
    return script_call(f, &lk__script_rwlock_touch, "", first, second,
                       (char *)NULL);
}

/* ---- holding ---- */

const char *rw_fence(script_fixture *f, const char *claim)
{
    static char fence[32];
    const char *packed =
        script_redis(f, "HGET %s %s", f->keys[KEY_HOLDERS], claim);

    if (strcmp(packed, "nil") == 0)
        packed = script_redis(f, "HGET %s fence", f->keys[KEY_STATE]);
    snprintf(fence, sizeof(fence), "%.*s", (int)strcspn(packed, " "), packed);
    return fence;
}

const char *rw_release(script_fixture *f, const char *claim, const char *fence)
{
    return script_call(f, &lk__script_rwlock_release, claim,
                       fence != NULL ? fence : rw_fence(f, claim),
                       (char *)NULL);
}

const char *rw_confirm(script_fixture *f, const char *claim, const char *fence,
                       const char *lease)
{
    return script_call(f, &lk__script_rwlock_confirm, claim,
                       fence != NULL ? fence : rw_fence(f, claim), lease, "0",
                       (char *)NULL);
}

const char *rw_downgrade(script_fixture *f, const char *claim,
                         const char *fence, const char *lease)
{
    return script_call(f, &lk__script_rwlock_downgrade, claim,
                       fence != NULL ? fence : rw_fence(f, claim), lease,
                       (char *)NULL);
}

const char *rw_timeout(script_fixture *f, const char *claim)
{
    static char key[512];
    bool is_tagged = strchr(f->name, '{') != NULL;

    snprintf(key, sizeof(key), is_tagged ? "%s:%s%s" : "{%s}:%s%s", f->name,
             claim, ":rwlock_timeout:1");
    return key;
}

const char *rw_renew(script_fixture *f, const char *claim, const char *fence,
                     const char *lease)
{
    const char *const keys[] = {f->keys[KEY_LOCK], f->keys[KEY_STATE],
                                f->keys[KEY_HOLDERS], f->keys[KEY_VOID],
                                rw_timeout(f, claim)};
    const char *const args[] = {claim,
                                fence != NULL ? fence : rw_fence(f, claim),
                                lease, NULL};

    return script_run_keys(f, &lk__script_rwlock_renew, keys, 5, args);
}

void rw_kill(script_fixture *f, const char *claim)
{
    assert_like(script_redis(f, "DEL %s", rw_timeout(f, claim)), "1");
}

/* ---- going out ---- */

const char *
rw_leave(script_fixture *f, const char *claim, const char *tombstone_ms)
{
    return script_call(f, &lk__script_rwlock_leave, claim, tombstone_ms,
                       (char *)NULL);
}

const char *rw_pass(script_fixture *f)
{
    return script_call(f, &lk__script_rwlock_pass, "", (char *)NULL);
}

const char *rw_force(script_fixture *f)
{
    return rw_force_of(f, "");
}

const char *rw_force_of(script_fixture *f, const char *claim)
{
    return script_call(f, &lk__script_rwlock_force, claim, (char *)NULL);
}

/* ---- looking ---- */

const char *rw_info(script_fixture *f)
{
    return script_call(f, &lk__script_rwlock_info, "", (char *)NULL);
}

const char *rw_state(script_fixture *f)
{
    return script_call(f, &lk__script_rwlock_state, "", (char *)NULL);
}

static int compare(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

const char *rw_held(script_fixture *f)
{
    static char text[TEXT_SIZE];
    char all[TEXT_SIZE];
    char *fields[FIELDS];
    char *rest = NULL;
    size_t count = 0, used = 0;

    snprintf(all, sizeof(all), "%s",
             script_redis(f, "HKEYS %s", f->keys[KEY_LOCK]));
    for (char *field = strtok_r(all, " ", &rest);
         field != NULL && count < FIELDS; field = strtok_r(NULL, " ", &rest)) {
        if (strcmp(field, "mode") != 0)
            fields[count++] = field;
    }
    qsort(fields, count, sizeof(fields[0]), compare);
    for (size_t i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%s ",
                                 fields[i]);
    snprintf(text + used, sizeof(text) - used, "%s",
             script_redis(f, "HGET %s mode", f->keys[KEY_LOCK]));
    if (strcmp(text, "nil") == 0)
        text[0] = '\0';
    return text;
}

const char *rw_waiting(script_fixture *f)
{
    static char text[TEXT_SIZE];
    static const int lanes[] = {KEY_QUEUE, KEY_UPGRADES, KEY_READERS,
                                KEY_UPGRADERS};
    size_t used = 0;

    text[0] = '\0';
    for (size_t i = 0; i < sizeof(lanes) / sizeof(lanes[0]); i++) {
        const char *claims =
            script_redis(f, "ZRANGE %s 0 -1", f->keys[lanes[i]]);

        if (claims[0] != '\0')
            used +=
                (size_t)snprintf(text + used, sizeof(text) - used, "%s%c: %s",
                                 used > 0 ? " " : "", "wxru"[i], claims);
    }
    return text;
}

void rw_hear(script_fixture *f, ...)
{
    char inbox[128];
    va_list claims;
    const char *claim;

    va_start(claims, f);
    while ((claim = va_arg(claims, const char *)) != NULL) {
        snprintf(inbox, sizeof(inbox), "in:%s", claim);
        script_listen(f, inbox);
    }
    va_end(claims);
}
