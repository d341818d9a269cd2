/* SPDX-License-Identifier: MIT */

/* What the scripts of a played server answer, for one name. */

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/script.h"
#include "flight_table.h"
#include "latch_table.h"
#include "lock_table.h"
#include "redlock_table.h"
#include "siglock_table.h"
#include "support/check.h"
#include "support/played_inside.h"

enum { LEASE_MS = 30000 };

/* What a touch or a close asks tells which script it is; see script_asked(). */
static const struct {
    const lk__script *text;
    played_script script;
} scripts[] = {
    {&lk__lock_acquire_script, PLAYED_ACQUIRE},
    {&lk__lock_touch_script, PLAYED_TOUCH},
    {&lk__lock_keep_script, PLAYED_CONFIRM},
    {&lk__lock_import_script, PLAYED_IMPORT},
    {&lk__lock_renew_script, PLAYED_RENEW},
    {&lk__lock_close_script, PLAYED_RELEASE},
    {&lk__lock_revoke_script, PLAYED_REVOKE},
    {&lk__lock_forget_script, PLAYED_FORGET},
    {&lk__lock_see_script, PLAYED_INFO},
    {&lk__siglock_see_script, PLAYED_INFO},
    {&lk__lock_term_script, PLAYED_OBSERVE},
    {&lk__redlock_acquire_script, PLAYED_TOKEN_ACQUIRE},
    {&lk__redlock_keep_script, PLAYED_TOKEN_RENEW},
    {&lk__redlock_close_script, PLAYED_TOKEN_RELEASE},
    {&lk__flight_join_script, PLAYED_JOIN},
    {&lk__flight_land_script, PLAYED_LAND},
    {&lk__latch_acquire_script, PLAYED_LATCH_WAIT},
    {&lk__latch_touch_script, PLAYED_LATCH_LOOK},
    {&lk__latch_close_script, PLAYED_LATCH_LEAVE},
    {&lk__siglock_acquire_script, PLAYED_SIG_ACQUIRE},
    {&lk__siglock_close_script, PLAYED_SIG_CLOSE},
};

/* ---- scripts -------------------------------------------------------------- */

static played_script script_of(const played_command *c)
{
    for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
        const lk__script *s = scripts[i].text;

        if (strcmp(c->argv[1], s->sha1) == 0 ||
            (c->sizes[1] == s->size &&
             memcmp(c->argv[1], s->body, s->size) == 0))
            return scripts[i].script;
    }
    fail_msg("an unknown script");
    return PLAYED_SCRIPTS;
}

static uint64_t number(const char *text)
{
    return strtoull(text, NULL, 10);
}

/* The i-th argument behind the keys. */
static const char *arg(const played_command *c, int i)
{
    int at = 3 + (int)number(c->argv[2]) + i;

    assert_true(at < c->argc);
    return c->argv[at];
}

/* ---- those that wait ------------------------------------------------------------- */

static played_waiter *waiter_find(played *p, const char *owner)
{
    for (size_t i = 0; i < p->waiter_count; i++) {
        if (strcmp(p->waiters[i].owner, owner) == 0)
            return &p->waiters[i];
    }
    return NULL;
}

/* 0: it does not wait. */
static uint64_t ticket_of(played *p, const char *owner)
{
    const played_waiter *waiter = waiter_find(p, owner);

    return waiter != NULL ? waiter->ticket : 0;
}

/* A claim that waits keeps its ticket. */
static uint64_t ticket_give(played *p, const char *owner)
{
    played_waiter *waiter = waiter_find(p, owner);

    if (waiter == NULL) {
        assert_true(p->waiter_count < PLAYED_WAITERS);
        waiter = &p->waiters[p->waiter_count++];
        (void)snprintf(waiter->owner, sizeof(waiter->owner), "%s", owner);
        (void)snprintf(waiter->nonce, sizeof(waiter->nonce), "%s", p->nonce);
        waiter->ticket = ++p->ticket;
    }
    return waiter->ticket;
}

void played_waiter_remove(played *p, const char *owner)
{
    played_waiter *waiter = waiter_find(p, owner);

    if (waiter != NULL)
        *waiter = p->waiters[--p->waiter_count];
}

/* ---- the model's answers --------------------------------------------------- */

/* The arguments, as lua/lock/lock.table has them. */
enum {
    ACQUIRE_CLAIM = 0,
    ACQUIRE_LEASE = 1,
    ACQUIRE_HOW = 2,
    ACQUIRE_OWN = 5,
    TOUCH_MEMBERS = 6,
    KEEP_LEASE = 2,
    KEEP_RESERVE = 4,
    CLOSE_WHY = 0,
    CLOSE_CLAIM = 1,
    CLOSE_STONE = 8,
    IMPORT_LEASE = 2
};

static int arg_count(const played_command *c)
{
    return c->argc - 3 - (int)number(c->argv[2]);
}

/* A touch of one is a look, of none it goes on handing over. */
static played_script script_asked(const played_command *c)
{
    played_script script = script_of(c);

    if (script == PLAYED_TOUCH && arg_count(c) == TOUCH_MEMBERS)
        return PLAYED_PASS;
    if (script == PLAYED_TOUCH && arg_count(c) == TOUCH_MEMBERS + 1)
        return PLAYED_RECHECK;
    if (script == PLAYED_RELEASE && arg(c, CLOSE_WHY)[0] == 'l')
        return PLAYED_LEAVE;
    if (script == PLAYED_RELEASE && arg(c, CLOSE_WHY)[0] == 'f')
        return PLAYED_FORCE;
    return script;
}

/* Of the member that an argument is: its claim and its lease. */
static void
member_read(const played_command *c, int i, char claim[80], char lease[24])
{
    lk__member_text member;
    lk__text text = {arg(c, i), strlen(arg(c, i))};

    assert_true(lk__packed_read(&lk__member_text_packed, text, &member));
    (void)snprintf(claim, 80, "%.*s", (int)member.claim.size,
                   member.claim.bytes);
    (void)snprintf(lease, 24, "%" PRId64, member.lease);
}

static void answer_acquire(played *p, fake_link *link, const played_command *c)
{
    if (p->is_held && arg(c, ACQUIRE_HOW)[0] != 'q') {
        played_say(link, "*2\r\n:3\r\n:%d\r\n", LEASE_MS);
    } else if (p->is_held) {
        played_say(link, "*4\r\n:2\r\n:%d\r\n:%" PRIu64 "\r\n:0\r\n", LEASE_MS,
                   ticket_give(p, arg(c, ACQUIRE_CLAIM)));
    } else {
        played_say(link, "*4\r\n:1\r\n:%" PRIu64 "\r\n:%s\r\n:%d\r\n", p->fence,
                   arg(c, ACQUIRE_LEASE), PLAYED_SPARE_FENCES);
        p->fence += 1000000;
        p->is_held = true;
    }
}

static void answer_recheck(played *p, fake_link *link, const played_command *c)
{
    char claim[80], lease[24];

    member_read(c, TOUCH_MEMBERS, claim, lease);
    if (p->is_held) {
        played_say(link,
                   "*7\r\n:2\r\n:%d\r\n:0\r\n:0\r\n:0\r\n*1\r\n:%" PRIu64
                   "\r\n*0\r\n",
                   LEASE_MS, ticket_of(p, claim));
        return;
    }
    played_say(link,
               "*7\r\n:2\r\n:%s\r\n:0\r\n:0\r\n:0\r\n*1\r\n:0\r\n*4\r\n:1\r\n"
               ":%" PRIu64 "\r\n:%s\r\n:%d\r\n",
               lease, p->fence, lease, PLAYED_SPARE_FENCES);
    played_waiter_remove(p, claim);
    p->fence += 1000000;
    p->is_held = true;
}

static void answer_touch(played *p, fake_link *link, const played_command *c)
{
    int count = arg_count(c) - TOUCH_MEMBERS;
    char claim[80], lease[24];

    played_say(link, "*7\r\n:2\r\n:%d\r\n:0\r\n:0\r\n:0\r\n*%d\r\n", LEASE_MS,
               count);
    for (int i = 0; i < count; i++) {
        member_read(c, TOUCH_MEMBERS + i, claim, lease);
        played_say(link, ":%" PRIu64 "\r\n", ticket_of(p, claim));
    }
    played_say(link, "*0\r\n");
}

static void answer_leave(played *p, fake_link *link, const played_command *c)
{
    played_waiter_remove(p, arg(c, CLOSE_CLAIM));
    p->tombstone_ms =
        arg_count(c) > CLOSE_STONE ? number(arg(c, CLOSE_STONE)) : 0;
    played_say(link, "*4\r\n:1\r\n:1\r\n:0\r\n:0\r\n");
}

/* What is answered whatever was asked, and whatever was before. */
static const char *const always[PLAYED_SCRIPTS] = {
    [PLAYED_RENEW] = "*2\r\n:1\r\n*0\r\n",
    [PLAYED_RELEASE] = "*4\r\n:1\r\n:2\r\n:0\r\n:0\r\n",
    [PLAYED_FORCE] = "*4\r\n:1\r\n:2\r\n:0\r\n:0\r\n",
    [PLAYED_REVOKE] = "*3\r\n:1\r\n:30000\r\n:1\r\n",
    [PLAYED_FORGET] = "*1\r\n:2\r\n",
    [PLAYED_INFO] = "*4\r\n:1\r\n:0\r\n*0\r\n*0\r\n",
    [PLAYED_TOKEN_ACQUIRE] = "*1\r\n:1\r\n",
    [PLAYED_TOKEN_RENEW] = "*1\r\n:1\r\n",
    [PLAYED_TOKEN_RELEASE] = "*3\r\n:1\r\n:1\r\n:0\r\n",
    [PLAYED_JOIN] = "*1\r\n:3\r\n",
    [PLAYED_LAND] = "*1\r\n:1\r\n",
    [PLAYED_LATCH_WAIT] = PLAYED_ARMED("1000", "0123456789abcdef"),
    [PLAYED_LATCH_LOOK] = PLAYED_ARMED("1000", "0123456789abcdef"),
    [PLAYED_LATCH_LEAVE] = "*2\r\n:1\r\n:1\r\n",
    [PLAYED_SIG_ACQUIRE] = "*2\r\n:2\r\n:30000\r\n", /* others hold it */
    [PLAYED_SIG_CLOSE] = "*2\r\n:1\r\n:1\r\n",
};

static void answer_model(played *p, fake_link *link, played_script script,
                         const played_command *c)
{
    if (script == PLAYED_RELEASE || script == PLAYED_FORCE)
        p->is_held = false;
    if (always[script] != NULL)
        fake_say(link, always[script]);
    else if (script == PLAYED_ACQUIRE)
        answer_acquire(p, link, c);
    else if (script == PLAYED_RECHECK)
        answer_recheck(p, link, c);
    else if (script == PLAYED_CONFIRM)
        played_say(link, "*4\r\n:1\r\n:%s\r\n:%d\r\n:%s\r\n",
                   arg(c, KEEP_LEASE), p->waits ? 1 : 0, arg(c, KEEP_RESERVE));
    else if (script == PLAYED_IMPORT)
        played_say(link, "*4\r\n:1\r\n:%" PRIu64 "\r\n:%s\r\n:%d\r\n", p->fence,
                   arg(c, IMPORT_LEASE), PLAYED_SPARE_FENCES);
    else if (script == PLAYED_LEAVE)
        answer_leave(p, link, c);
    else if (script == PLAYED_OBSERVE)
        played_say(link, "*3\r\n:1\r\n:%d\r\n:%" PRIu64 "\r\n", LEASE_MS,
                   p->term);
    else
        answer_touch(p, link, c);
}

static void note(played *p, played_script script, const played_command *c)
{
    p->counts[script]++;
    p->times[script] = fake_world_now(p->world);
    if (script != PLAYED_ACQUIRE)
        return;
    (void)snprintf(p->owner, sizeof(p->owner), "%s", arg(c, ACQUIRE_CLAIM));
    (void)snprintf(p->inbox, sizeof(p->inbox), "latchkey:in::%.32s", p->owner);
    (void)snprintf(p->nonce, sizeof(p->nonce), "%.16s",
                   arg(c, ACQUIRE_OWN) + strlen(p->owner) + 1);
}

void played_answer_script(played *p, fake_link *link, const played_command *c)
{
    played_script script = script_asked(c);

    note(p, script, c);
    p->links[script] = link->number;
    if (p->answers[script] == played_silence)
        p->silent = link;
    if (p->silent == link)
        return;
    if (p->answers[script] == played_end)
        fake_end(link);
    else if (p->answers[script] == NULL)
        answer_model(p, link, script, c);
    else
        fake_say(link, p->answers[script]);
}
