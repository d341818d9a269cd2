/* SPDX-License-Identifier: MIT */
#include "support/latch_script.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"

enum { KEYS = 6, KEY_SIZE = 64 };

extern const lk__script lk__script_latch_arrive;
extern const lk__script lk__script_latch_count;
extern const lk__script lk__script_latch_delete;
extern const lk__script lk__script_latch_down;
extern const lk__script lk__script_latch_info;
extern const lk__script lk__script_latch_leave;
extern const lk__script lk__script_latch_look;
extern const lk__script lk__script_latch_quit;
extern const lk__script lk__script_latch_reset;
extern const lk__script lk__script_latch_set;
extern const lk__script lk__script_latch_wait;

const char *latch_run_name(script_fixture *f, const char *name,
                           const lk__script *script, const char *const *args)
{
    static const char *const parts[KEYS - 1] = {"state", "waiting", "tickets",
                                                "members", "memo"};
    char made[KEYS - 1][KEY_SIZE];
    const char *keys[KEYS] = {name};
    bool is_tagged = strchr(name, '{') != NULL;

    for (int i = 0; i < KEYS - 1; i++) {
        snprintf(made[i], KEY_SIZE,
                 is_tagged ? "latchkey:%s:%s" : "latchkey:%s:{%s}", parts[i],
                 name);
        keys[i + 1] = made[i];
    }
    return script_run_keys(f, script, keys, KEYS, args);
}

/* Owner, up to three arguments of its own; NULL ends them. */
static const char *run(script_fixture *f, const lk__script *script,
                       const char *owner, const char *first, const char *second,
                       const char *third)
{
    const char *const args[] = {owner,  LATCH_REDISSON, f->interop, first,
                                second, third,          NULL};

    return latch_run_name(f, "n", script, args);
}

/* ---- operations ---- */

const char *latch_set_for(script_fixture *f, const char *op, const char *count,
                          const char *ttl)
{
    return run(f, &lk__script_latch_set, op, count, ttl, NULL);
}

const char *latch_reset_for(script_fixture *f, const char *op,
                            const char *count, const char *ttl)
{
    return run(f, &lk__script_latch_reset, op, count, ttl, NULL);
}

const char *latch_down_for(script_fixture *f, const char *op, const char *count,
                           const char *ttl)
{
    return run(f, &lk__script_latch_down, op, count, ttl, NULL);
}

const char *latch_arrive_for(script_fixture *f, const char *op,
                             const char *expected, const char *member,
                             const char *ttl)
{
    return run(f, &lk__script_latch_arrive, op, expected, ttl, member);
}

const char *latch_quit_for(script_fixture *f, const char *op,
                           const char *member, const char *ttl)
{
    return run(f, &lk__script_latch_quit, op, "0", ttl, member);
}

const char *latch_set(script_fixture *f, const char *op, const char *count)
{
    return latch_set_for(f, op, count, "0");
}

const char *latch_reset(script_fixture *f, const char *op, const char *count)
{
    return latch_reset_for(f, op, count, "0");
}

const char *latch_down(script_fixture *f, const char *op, const char *count)
{
    return latch_down_for(f, op, count, "0");
}

const char *latch_arrive(script_fixture *f, const char *op,
                         const char *expected, const char *member)
{
    return latch_arrive_for(f, op, expected, member, "0");
}

const char *latch_quit(script_fixture *f, const char *op, const char *member)
{
    return latch_quit_for(f, op, member, "0");
}

const char *latch_delete(script_fixture *f, const char *op)
{
    return run(f, &lk__script_latch_delete, op, NULL, NULL, NULL);
}

/* ---- waits and questions ---- */

static const char *
wait_with(script_fixture *f, const char *claim, const char *queue)
{
    char inbox[64];
    const char *const args[] = {claim, LATCH_REDISSON, f->interop, "30000",
                                queue, inbox,          "because",  "1",
                                NULL};

    snprintf(inbox, sizeof(inbox), "in:%s", claim);
    return latch_run_name(f, "n", &lk__script_latch_wait, args);
}

const char *latch_wait(script_fixture *f, const char *claim)
{
    return wait_with(f, claim, "1");
}

const char *latch_try(script_fixture *f, const char *claim)
{
    return wait_with(f, claim, "0");
}

const char *latch_look(script_fixture *f, const char *claim)
{
    return run(f, &lk__script_latch_look, claim, "30000", NULL, NULL);
}

const char *latch_leave(script_fixture *f, const char *claim)
{
    return run(f, &lk__script_latch_leave, claim, "0", NULL, NULL);
}

const char *latch_count(script_fixture *f)
{
    return run(f, &lk__script_latch_count, "", NULL, NULL, NULL);
}

const char *latch_info(script_fixture *f)
{
    return run(f, &lk__script_latch_info, "", NULL, NULL, NULL);
}

/* ---- what there is ---- */

long long latch_mark(script_fixture *f, const char *field)
{
    return strtoll(script_redis(f, "HGET " LATCH_STATE " %s", field), NULL, 10);
}

long long latch_pttl(script_fixture *f, const char *key)
{
    return strtoll(script_redis(f, "PTTL %s", key), NULL, 10);
}

void latch_listen(script_fixture *f)
{
    script_listen(f, LATCH_CHANNEL);
    script_listen(f, LATCH_REDISSON);
}

/* ---- Redisson ---- */

void redisson_set(script_fixture *f, const char *count)
{
    assert_like(script_redis(f, "SET n %s NX", count), "OK");
    script_redis(f, "PUBLISH " LATCH_REDISSON " 1");
}

void redisson_down(script_fixture *f)
{
    long long left = strtoll(script_redis(f, "DECR n"), NULL, 10);

    if (left <= 0)
        script_redis(f, "DEL n");
    if (left == 0)
        script_redis(f, "PUBLISH " LATCH_REDISSON " 0");
}

void redisson_delete(script_fixture *f)
{
    assert_like(script_redis(f, "DEL n"), "1");
    script_redis(f, "PUBLISH " LATCH_REDISSON " 1");
}
