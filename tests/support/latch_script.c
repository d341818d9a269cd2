/* SPDX-License-Identifier: MIT */
#include "support/latch_script.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "support/check.h"
#include "support/table.h"

enum { FIELD = 400, MARKS = 10 };

static lk__text text_of(const char *text)
{
    return (lk__text){text, strlen(text)};
}

static int64_t number_of(const char *text)
{
    return strtoll(text, NULL, 10);
}

/* Of the fixture's name. */
static const char *news(const script_fixture *f)
{
    static char channel[FIELD];

    lk__key_write(":n", f->name, channel, sizeof(channel));
    return channel;
}

static const char *redissons(const script_fixture *f)
{
    static char channel[FIELD];

    snprintf(channel, sizeof(channel), "redisson_countdownlatch__channel__{%s}",
             f->name);
    return channel;
}

/* ---- operations ---- */

static const char *change(script_fixture *f, char what, const char *op,
                          const char *count, const char *ttl, const char *who)
{
    const lk__latch_change_args args = {
        .what = what,
        .op = text_of(op),
        .number = number_of(count),
        .ttl = number_of(ttl),
        .who = text_of(who),
        .nonce = text_of(LATCH_NONCE),
        .channel = text_of(redissons(f)),
        .news = text_of(news(f)),
        .life = LATCH_LIFE,
    };

    return table_run(f, &lk__latch_change, lk__latch_keys,
                     LK__LATCH_CHANGE_WHOLE, &args);
}

const char *latch_set_for(script_fixture *f, const char *op, const char *count,
                          const char *ttl)
{
    return change(f, 's', op, count, ttl, "");
}

const char *latch_reset_for(script_fixture *f, const char *op,
                            const char *count, const char *ttl)
{
    return change(f, 'r', op, count, ttl, "");
}

const char *latch_down_for(script_fixture *f, const char *op, const char *count,
                           const char *ttl)
{
    return change(f, 'd', op, count, ttl, "");
}

const char *latch_arrive_for(script_fixture *f, const char *op,
                             const char *expected, const char *member,
                             const char *ttl)
{
    return change(f, 'a', op, expected, ttl, member);
}

const char *latch_quit_for(script_fixture *f, const char *op,
                           const char *member, const char *ttl)
{
    return change(f, 'q', op, "0", ttl, member);
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
    return change(f, 'x', op, "0", "0", "");
}

/* ---- waits and questions ---- */

const char *latch_member(const char *claim)
{
    static char text[FIELD];
    const lk__member_text member = {
        .claim = text_of(claim),
        .nonce = text_of("fedcba9876543210"),
        .mode = text_of("t"),
        .need = 1,
        .lease = 30000,
        .base = text_of("-"),
        .inbox = text_of("p"),
        .reason = text_of("because"),
    };

    lk__packed_write(&lk__member_text_packed, &member, text, FIELD);
    return text;
}

static const char *acquire(script_fixture *f, const char *claim, char how)
{
    const lk__latch_acquire_args args = {
        .how = how,
        .life = LATCH_LIFE,
        .nonce = text_of(LATCH_NONCE),
        .news = text_of(news(f)),
        .own = text_of(latch_member(claim)),
    };

    return table_run(f, &lk__latch_acquire, lk__latch_keys,
                     LK__LATCH_ACQUIRE_WHOLE, &args);
}

const char *latch_wait(script_fixture *f, const char *claim)
{
    return acquire(f, claim, 'q');
}

const char *latch_try(script_fixture *f, const char *claim)
{
    return acquire(f, claim, 't');
}

const char *latch_look(script_fixture *f, const char *claim)
{
    const lk__latch_touch_args args = {
        .uuid = {claim, strcspn(claim, ":")},
        .life = LATCH_LIFE,
        .nonce = text_of(LATCH_NONCE),
        .news = text_of(news(f)),
        .own = text_of(latch_member(claim)),
    };

    return table_run(f, &lk__latch_touch, lk__latch_keys, LK__LATCH_TOUCH_WHOLE,
                     &args);
}

const char *latch_leave(script_fixture *f, const char *claim)
{
    const lk__latch_close_args args = {.own = text_of(latch_member(claim))};

    return table_run(f, &lk__latch_close, lk__latch_keys, LK__LATCH_CLOSE_WHOLE,
                     &args);
}

static const char *see(script_fixture *f, char what)
{
    const lk__latch_see_args args = {.what = what};

    return table_run(f, &lk__latch_see, lk__latch_keys, LK__LATCH_SEE_WHOLE,
                     &args);
}

const char *latch_count(script_fixture *f)
{
    return see(f, 'c');
}

const char *latch_info(script_fixture *f)
{
    return see(f, 'i');
}

const char *latch_forget(script_fixture *f)
{
    const lk__latch_forget_args args = {.channel = text_of(redissons(f)),
                                        .news = text_of(news(f))};

    return table_run(f, &lk__latch_forget, lk__latch_keys,
                     LK__LATCH_FORGET_WHOLE, &args);
}

/* ---- what there is ---- */

void latch_age(script_fixture *f, const char *claim, long long ms)
{
    long long then = script_now_ms(f) - ms;
    char uuid[FIELD];

    snprintf(uuid, sizeof(uuid), "%.*s", (int)strcspn(claim, ":"), claim);
    script_redis(f, "ZADD " LATCH_QUEUE " XX %lld %s", -then, uuid);
    script_redis(f, "ZADD " LATCH_QUEUE " %lld %s",
                 281474976710656LL + then * 1000 / 16, latch_member(claim));
}

static bool marks_read(script_fixture *f, lk__record_text *record,
                       lk__latch_marks_text *marks)
{
    const char *text = script_redis(f, "GET " LATCH_RECORD);

    return lk__packed_read(&lk__record_text_packed, text_of(text), record) &&
           lk__packed_read(&lk__latch_marks_text_packed, record->more, marks);
}

/* Where a field that is a number stands. */
static int64_t *field_of(lk__latch_marks_text *marks, const char *field)
{
    const struct {
        const char *name;
        int64_t *at;
    } all[] = {
        {"gen", &marks->gen},   {"opened", &marks->opened},
        {"gone", &marks->gone}, {"size", &marks->size},
        {"ttl", &marks->ttl},   {"till", &marks->till},
        {"met", &marks->met},   {"foreign", &marks->foreign},
    };

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (strcmp(all[i].name, field) == 0)
            return all[i].at;
    }
    fail_msg("there is no field %s", field);
    return NULL;
}

long long latch_mark(script_fixture *f, const char *field)
{
    lk__record_text record;
    lk__latch_marks_text marks;

    return marks_read(f, &record, &marks) ? *field_of(&marks, field) : 0;
}

void latch_put(script_fixture *f, const char *field, long long value)
{
    char more[FIELD], text[2 * FIELD];
    lk__record_text record;
    lk__latch_marks_text marks;

    assert_true(marks_read(f, &record, &marks));
    *field_of(&marks, field) = value;
    record.more =
        (lk__text){more, lk__packed_write(&lk__latch_marks_text_packed, &marks,
                                          more, sizeof(more))};
    lk__packed_write(&lk__record_text_packed, &record, text, sizeof(text));
    script_redis(f, "SET " LATCH_RECORD " %s KEEPTTL", text);
}

const char *latch_word(script_fixture *f, const char *field)
{
    static char word[FIELD];
    lk__record_text record;
    lk__latch_marks_text marks;
    lk__text text = {"", 0};

    if (marks_read(f, &record, &marks))
        text = strcmp(field, "phase") == 0 ? marks.phase : marks.nonce;
    snprintf(word, sizeof(word), "%.*s", (int)text.size, text.bytes);
    return word;
}

long long latch_pttl(script_fixture *f, const char *key)
{
    return strtoll(script_redis(f, "PTTL %s", key), NULL, 10);
}

void latch_listen(script_fixture *f)
{
    script_listen(f, LATCH_NEWS);
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
