/* SPDX-License-Identifier: MIT */

/*
 * A server that answers rubbish: no hold comes of it, none is believed longer
 * for it and none is thought lost, every call ends, and with the first proper
 * answer all is well.
 */

#include <stdio.h>
#include <string.h>

#include "support/call.h"
#include "support/check.h"
#include "support/played.h"

/* No script answers so. */
static const char *const shapeless[] = {
    "+OK\r\n",
    ":1\r\n",
    ":0\r\n",
    "$5\r\nhello\r\n",
    "$-1\r\n",
    "*-1\r\n",
    "*1\r\n$-1\r\n",
    "*2\r\n+1\r\n+2\r\n",
    "*4\r\n:1\r\n+x\r\n+y\r\n+z\r\n",
    "*3\r\n-ERR within\r\n:1\r\n:1\r\n",
};

/* These are not even the protocol, or more than there is memory for. */
static const char *const broken[] = {
    "?!\r\n",
    "*99999999999\r\n",
    ":1x\r\n",
};

/* Arrays, as of a script, but not what acquire and re-check may say. */
static const char *const odd[] = {
    "*0\r\n",
    "*1\r\n:7\r\n",
    "*1\r\n:-1\r\n",
    "*1\r\n:1\r\n",
    "*4\r\n:1\r\n:0\r\n:0\r\n:0\r\n",
    "*4\r\n:1\r\n:-5\r\n:30000\r\n:-5\r\n",
    "*1\r\n*1\r\n*1\r\n:1\r\n",
    "*2\r\n:9223372036854775807\r\n:-9223372036854775807\r\n",
};

#define COUNT(list) (sizeof(list) / sizeof((list)[0]))

/* Tries each text of a list on a client of its own that has its inbox. */
static void try_each(const char *const *list, size_t count,
                     void (*try_one)(played *p, const char *text))
{
    for (size_t i = 0; i < count; i++) {
        played *p = played_new(1, NULL);
        lk_hold *hold = NULL;

        assert_status(lk_lock_acquire(p->lock, 0, NULL, &hold), LK_OK);
        played_run_ms(p, 100);
        assert_status(lk_hold_release(hold), LK_OK);
        try_one(p, list[i]);
        played_free(p);
    }
}

/* The server has come to its senses. */
static void assert_works(played *p)
{
    lk_hold *hold = NULL;

    for (int i = 0; i < PLAYED_SCRIPTS; i++)
        p->answers[i] = NULL;
    p->is_held = false;
    assert_status(lk_lock_acquire(p->lock, 5000, NULL, &hold), LK_OK);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_int_equal(played_stats(p).holding, 1);
    assert_int_equal(played_stats(p).waiting, 0);
    assert_status(lk_hold_release(hold), LK_OK);
    played_run_ms(p, 10);
    assert_false(p->is_held);
}

static lk_hold *take(played *p)
{
    lk_hold *hold = NULL;

    assert_status(lk_lock_acquire(p->lock, 0, NULL, &hold), LK_OK);
    return hold;
}

/* ---- acquire and re-check ------------------------------------------------------- */

static void acquire_fails(played *p, const char *text)
{
    lk_hold *hold = NULL;

    p->answers[PLAYED_ACQUIRE] = text;
    assert_status(lk_lock_acquire(p->lock, LK_FOREVER, NULL, &hold), LK_EPROTO);
    assert_null(hold);
    /* It may have been granted: that is taken back. */
    played_run_ms(p, 100);
    assert_int_equal(p->counts[PLAYED_LEAVE], 1);
    assert_works(p);
}

static void acquire_ends_in_time(played *p, const char *text)
{
    uint64_t began = played_now_ms(p);
    lk_hold *hold = NULL;
    lk_status status;

    p->answers[PLAYED_ACQUIRE] = text;
    status = lk_lock_acquire(p->lock, 3000, NULL, &hold);
    assert_true(status == LK_EINDOUBT || status == LK_ETIMEDOUT);
    assert_int_equal(played_now_ms(p) - began, 3000);
    assert_null(hold);
    assert_works(p);
}

CHECK_TEST(rubbish_is_no_grant)
{
    try_each(shapeless, COUNT(shapeless), acquire_fails);
    try_each(odd, COUNT(odd), acquire_fails);
    try_each(broken, COUNT(broken), acquire_ends_in_time);
}

static void recheck_fails(played *p, const char *text)
{
    lk_hold *hold = NULL;

    p->is_held = true;
    p->answers[PLAYED_RECHECK] = text;
    assert_status(lk_lock_acquire(p->lock, LK_FOREVER, NULL, &hold), LK_EPROTO);
    assert_null(hold);
    assert_works(p);
}

CHECK_TEST(rubbish_is_no_look)
{
    try_each(shapeless, COUNT(shapeless), recheck_fails);
    try_each(odd, COUNT(odd), recheck_fails);
}

static void late_grant_fails(played *p, const char *text)
{
    call c = {0};

    p->is_held = true;
    p->answers[PLAYED_CONFIRM] = text;
    assert_status(lk_lock_acquire_async(p->lock, LK_FOREVER, NULL,
                                        call_on_acquire, &c),
                  LK_OK);
    played_run_ms(p, 5);
    played_grant(p, p->ticket, 5000, 3000);
    fake_world_freeze(p->world, 2000 * FAKE_MS);
    played_run_ms(p, 100);
    assert_int_equal(atomic_load(&c.ends), 1);
    assert_status(c.status, LK_EPROTO);
    assert_null(c.hold);
    assert_works(p);
}

CHECK_TEST(rubbish_confirms_nothing)
{
    try_each(shapeless, COUNT(shapeless), late_grant_fails);
}

/* ---- while it is held ------------------------------------------------------------- */

static void extend_fails(played *p, const char *text)
{
    lk_hold *hold = take(p);

    p->answers[PLAYED_CONFIRM] = text;
    assert_status(lk_hold_extend(hold, 90000), LK_EPROTO);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_in_range(lk_hold_remaining_ms(hold), 1, 30000);
    played_run_ms(p, 100);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_works(p);
}

static void extend_is_in_doubt(played *p, const char *text)
{
    lk_hold *hold = take(p);

    p->answers[PLAYED_CONFIRM] = text;
    assert_status(lk_hold_extend(hold, 90000), LK_EINDOUBT);
    assert_status(lk_hold_check(hold), LK_OK);
    assert_in_range(lk_hold_remaining_ms(hold), 1, 30000);
    played_run_ms(p, 100);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_works(p);
}

CHECK_TEST(rubbish_extends_nothing_and_ends_nothing)
{
    try_each(shapeless, COUNT(shapeless), extend_fails);
    try_each(broken, COUNT(broken), extend_is_in_doubt);
}

static void renewal_fails(played *p, const char *text)
{
    lk_hold *hold = take(p);

    played_renew_so(p, text);
    played_run_ms(p, 28000);
    assert_status(lk_hold_check(hold), LK_OK);
    played_run_ms(p, 2000);
    assert_status(lk_hold_check(hold), LK_ELOST);
    assert_int_equal(lk_hold_loss(hold), LK_LOSS_UNREACHABLE);
    assert_status(lk_hold_release(hold), LK_ELOST);
    assert_works(p);
}

CHECK_TEST(rubbish_renews_nothing_and_is_asked_again)
{
    try_each(shapeless, COUNT(shapeless), renewal_fails);
    try_each(broken, COUNT(broken), renewal_fails);
}

static void renewal_recovers(played *p, const char *text)
{
    lk_hold *hold = take(p);

    played_renew_so(p, text);
    played_run_ms(p, 15000);
    played_renew_so(p, NULL);
    played_run_ms(p, 2000);
    assert_in_range(lk_hold_remaining_ms(hold), 25000, 30000);
    assert_status(lk_hold_release(hold), LK_OK);
    assert_works(p);
}

CHECK_TEST(a_renewal_after_rubbish_saves_the_hold)
{
    try_each(shapeless, COUNT(shapeless), renewal_recovers);
    try_each(broken, COUNT(broken), renewal_recovers);
}

static void release_is_in_doubt(played *p, const char *text)
{
    lk_hold *hold = take(p);

    p->answers[PLAYED_RELEASE] = text;
    assert_status(lk_hold_release(hold), LK_EPENDING);
    assert_true(p->is_held);
    p->answers[PLAYED_RELEASE] = NULL;
    played_run_ms(p, 10000);
    assert_false(p->is_held); /* it was gone on with */
    assert_works(p);
}

CHECK_TEST(rubbish_is_no_release)
{
    try_each(shapeless, COUNT(shapeless), release_is_in_doubt);
    try_each(broken, COUNT(broken), release_is_in_doubt);
}

/* ---- operators ----------------------------------------------------------------------- */

static void operators_are_told(played *p, const char *text)
{
    lk_info *info = NULL;

    p->answers[PLAYED_FORCE] = text;
    p->answers[PLAYED_INFO] = text;
    assert_status(lk_lock_force_release(p->lock), LK_EPROTO);
    played_run_ms(p, 100);
    assert_status(lk_lock_info(p->lock, &info), LK_EPROTO);
    assert_null(info);
    played_run_ms(p, 100);
    assert_works(p);
}

static void existence_is_unknown(played *p, const char *text)
{
    bool locked = true;

    p->exists_answer = text;
    assert_status(lk_lock_is_locked(p->lock, &locked), LK_EPROTO);
    assert_true(locked);
    assert_works(p);
}

CHECK_TEST(rubbish_tells_operators_nothing)
{
    static const char *const no_numbers[] = {"+OK\r\n", "$-1\r\n", "*0\r\n",
                                             "$1\r\n1\r\n", "?!\r\n"};

    try_each(shapeless, COUNT(shapeless), operators_are_told);
    try_each(no_numbers, COUNT(no_numbers), existence_is_unknown);
}

/* ---- the inbox -------------------------------------------------------------------------- */

static void say_to_inbox(played *p, const char *text)
{
    char message[512];

    (void)snprintf(message, sizeof(message),
                   "*3\r\n$7\r\nmessage\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n",
                   strlen(p->inbox), p->inbox, strlen(text), text);
    fake_say(p->inbox_link, message);
}

CHECK_TEST(a_message_that_is_not_understood_grants_nothing)
{
    static const char *const texts[] = {
        "",           "grant",
        "grant lock", "open lock",
        "\r\n\r\n",   "grant 0 lock nobody:1 0123456789abcdef 1 5000 63 3000 n",
    };
    static const char *const ends[] = {"", " ", " x y z w n",
                                       " 0123456789abcdef 99 5000 63 3000 n"};
    played *p = played_new(1, NULL);
    call c = {0};

    assert_status(lk_hold_release(take(p)), LK_OK);
    p->is_held = true;
    played_run_ms(p, 100);
    assert_status(lk_lock_acquire_async(p->lock, LK_FOREVER, NULL,
                                        call_on_acquire, &c),
                  LK_OK);
    played_run_ms(p, 10);
    for (size_t i = 0; i < COUNT(texts); i++)
        say_to_inbox(p, texts[i]);
    for (size_t i = 0; i < COUNT(ends); i++) {
        char text[256];

        (void)snprintf(text, sizeof(text), "grant 0 lock %s%s", p->owner,
                       ends[i]);
        say_to_inbox(p, text);
        (void)snprintf(text, sizeof(text), "revoked 0 lock %s%s", p->owner,
                       ends[i]);
        say_to_inbox(p, text);
    }
    played_run_ms(p, 10);
    assert_int_equal(atomic_load(&c.ends), 0);
    assert_int_equal(played_stats(p).holding, 0);
    played_grant(p, p->ticket, 5000, 3000);
    played_run_ms(p, 10);
    assert_status(call_wait(&c, NULL), LK_OK);
    assert_status(lk_hold_release(c.hold), LK_OK);
    played_free(p);
}
