/* SPDX-License-Identifier: MIT */

#include "latch/protocol.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/words.h"
#include "claims/family.h"
#include "claims/node.h"
#include "engine/client.h"
#include "latch/judge.h"
#include "latch_table.h"

enum { NONCE_SIZE = 17 };

/* The nonce that the last answer told, in place->own: that of the generation which
   all waits have as their mark that were told of one. "": none. */
typedef struct told {
    char nonce[NONCE_SIZE];
} told;

/* A secret for the generation that a script may begin, in the question's room. */
static lk__text nonce_draw(lk__question *q, const lk__place *place)
{
    char *text = lk__question_text(q, NONCE_SIZE);

    snprintf(text, NONCE_SIZE, "%016" PRIx64,
             lk__client_random(place->client, UINT64_MAX));
    return lk__text_of(text);
}

/* ---- waiting ---- */

static lk__text member(lk__question *q, const lk__claim *claim)
{
    return lk__family_member(q, claim, claim->place->kind->mode, "-");
}

static lk__question *acquire(const lk__claim *claim, char how)
{
    const lk__place *place = claim->place;
    lk__question *q = lk__family_begin(place, &lk__latch_acquire,
                                       LK__MEMBER_SIZE + NONCE_SIZE);
    lk__latch_acquire_args args = {
        .how = how == LK__HOW_QUEUE ? 'q' : 't',
        .life = lk__family_life(place),
        .db = lk__family_db(place),
        .news = lk__family_news(place),
    };

    if (q == NULL)
        return NULL;
    args.nonce = nonce_draw(q, place);
    args.own = member(q, claim);
    return lk__family_fill(q, place, &lk__latch_acquire,
                           LK__LATCH_ACQUIRE_WHOLE, &args);
}

static lk__question *look(const lk__claim *claim)
{
    const lk__place *place = claim->place;
    lk__question *q =
        lk__family_begin(place, &lk__latch_touch, LK__MEMBER_SIZE + NONCE_SIZE);
    lk__latch_touch_args args = {
        .uuid = lk__text_of(place->client->id),
        .life = lk__family_life(place),
        .db = lk__family_db(place),
        .news = lk__family_news(place),
    };

    if (q == NULL)
        return NULL;
    args.nonce = nonce_draw(q, place);
    args.own = member(q, claim);
    return lk__family_fill(q, place, &lk__latch_touch, LK__LATCH_TOUCH_WHOLE,
                           &args);
}

/* Without memory for it an opening is a hint to look. */
static void note_told(lk__place *place, lk__text nonce)
{
    told *t = place->own;

    if (t == NULL)
        t = place->own = lk__alloc(sizeof(*t));
    if (t == NULL)
        return;
    t->nonce[0] = '\0';
    if (nonce.size == NONCE_SIZE - 1)
        memcpy(t->nonce, nonce.bytes, NONCE_SIZE - 1);
}

/* A touch's answers are those of an acquire, but for one. */
static lk_status
read_seek(const lk__claim *claim, const redisReply *reply, lk__seek_answer *ret)
{
    lk__latch_acquire_answer a;

    if (lk__answer_read(&lk__latch_acquire_answers, reply, &a) != LK_OK)
        return LK_EPROTO;
    switch ((lk__latch_acquire_kind)a.kind) {
    case LK__LATCH_ACQUIRE_OPENED:
        ret->what = LK__SEEK_HELD;
        return LK_OK;
    case LK__LATCH_ACQUIRE_WAITS:
        ret->what = LK__SEEK_QUEUED;
        ret->left_ms = a.waits.look;
        note_told(claim->place, a.waits.nonce);
        return a.waits.gen > 0 ? LK_OK : LK_EPROTO;
    case LK__LATCH_ACQUIRE_BUSY:
        break;
    }
    ret->what = LK__SEEK_BUSY;
    ret->left_ms = a.busy.look;
    return claim->seek->look.script == lk__latch_acquire.script ? LK_OK
                                                                : LK_EPROTO;
}

static lk__question *leave(const lk__claim *claim, uint64_t stone_ms)
{
    const lk__place *place = claim->place;
    lk__question *q =
        lk__family_begin(place, &lk__latch_close, LK__MEMBER_SIZE);
    lk__latch_close_args args;

    (void)stone_ms; /* a wait that runs later takes nothing */
    if (q == NULL)
        return NULL;
    args.own = member(q, claim);
    return lk__family_fill(q, place, &lk__latch_close, LK__LATCH_CLOSE_WHOLE,
                           &args);
}

static lk_status read_close(const redisReply *reply, lk__close_answer *ret)
{
    lk__latch_close_answer a;

    *ret = (lk__close_answer){.was_held = false};
    return lk__answer_read(&lk__latch_close_answers, reply, &a) == LK_OK
               ? LK_OK
               : LK_EPROTO;
}

/* ---- what is told ---- */

static bool is_text(lk__text text, const char *word)
{
    return text.size == strlen(word) &&
           memcmp(text.bytes, word, text.size) == 0;
}

/* Pub/Sub knows no databases, and whoever may publish may say anything. */
static bool
is_about(const lk__place *place, int64_t db, lk__text family, lk__text name)
{
    return db == lk__family_db(place) && is_text(family, "latch") &&
           is_text(name, place->name);
}

/* It repeats what this client was told by the server that it listens to, of a
   generation and not of a gap; opened() sees to which one. */
static bool is_proof(const lk__place *place, const lk__opened_text *m)
{
    const told *t = place->own;

    return t != NULL && t->nonce[0] != '\0' && is_text(m->nonce, t->nonce) &&
           !lk__latch_is_gap((uint64_t)m->gen) &&
           lk__node_can_queue(place->node);
}

/* Ends the waits that were told of this generation. Where that is all, the claim
   goes without a word: the opening has emptied the queue. The end of a wait that
   shares ends no other. */
static void opened(lk__place *place, uint64_t gen)
{
    lk__claim *claim = lk__claim_ref(place->front);
    bool is_all =
        claim->state == LK__CLAIM_QUEUED && !lk__claim_is_looking(claim);
    lk__wait *next;

    for (const lk__wait *w = claim->seek->first_seat; w != NULL;
         w = w->next_seat)
        is_all = is_all && w->mark == gen;
    if (is_all)
        lk__claim_kill(claim);
    for (lk__wait *wait = claim->seek->first_seat; wait != NULL; wait = next) {
        next = wait->next_seat;
        if (wait->mark == gen)
            lk__wait_end(wait, LK_OK, NULL);
    }
    lk__claim_unref(claim);
}

void lk__latch_hear(lk__place *place, const char *text, size_t size)
{
    const lk__text all = {text, size};
    lk__opened_text m;
    lk__look_text hint;

    if (lk__packed_read(&lk__opened_text_packed, all, &m) &&
        is_text(m.word, "opened")) {
        if (!is_about(place, m.db, m.family, m.name))
            return;
        if (place->front != NULL && is_proof(place, &m))
            opened(place, (uint64_t)m.gen);
    } else if (lk__packed_read(&lk__look_text_packed, all, &hint) &&
               !(is_text(hint.word, "look") &&
                 is_about(place, hint.db, hint.family, hint.name))) {
        return; /* Redisson's have no blanks */
    }
    if (place->front != NULL)
        lk__claim_hinted(place->front);
}

/* ---- changes ---- */

lk__question *
lk__latch_ask_change(const lk__place *place, const lk__latch_wish *wish)
{
    lk__question *q = lk__family_begin(place, &lk__latch_change, NONCE_SIZE);
    lk__latch_change_args args = {
        .what = wish->what,
        .op = lk__text_of(wish->op),
        .number = (int64_t)wish->number,
        .ttl = (int64_t)wish->ttl_ms,
        .who = lk__text_of(wish->who),
        .db = lk__family_db(place),
        .channel = lk__family_channel(place),
        .news = lk__family_news(place),
        .life = lk__family_life(place),
    };

    if (q == NULL)
        return NULL;
    args.nonce = nonce_draw(q, place);
    return lk__family_fill(q, place, &lk__latch_change, LK__LATCH_CHANGE_WHOLE,
                           &args);
}

lk_status lk__latch_read_change(const redisReply *reply, lk__latch_changed *ret,
                                bool *ret_denied, int64_t *ret_size)
{
    static const lk__latch_changed all[] =
        {[LK__LATCH_CHANGE_DONE] = LK__LATCH_DONE,
         [LK__LATCH_CHANGE_NO] = LK__LATCH_NO,
         [LK__LATCH_CHANGE_UNSET] = LK__LATCH_UNSET,
         [LK__LATCH_CHANGE_OTHER] = LK__LATCH_OTHER};
    lk__latch_change_answer a;

    if (lk__answer_read(&lk__latch_change_answers, reply, &a) != LK_OK)
        return LK_EPROTO;
    *ret = all[a.kind];
    *ret_denied = a.kind == LK__LATCH_CHANGE_DONE && a.done.denied;
    *ret_size = a.kind == LK__LATCH_CHANGE_OTHER ? a.other.size : 0;
    return LK_OK;
}

/* ---- seeing ---- */

static lk__question *see(const lk__place *place, char what)
{
    lk__question *q = lk__family_begin(place, &lk__latch_see, 0);
    const lk__latch_see_args args = {.what = what};

    return q != NULL ? lk__family_fill(q, place, &lk__latch_see,
                                       LK__LATCH_SEE_WHOLE, &args)
                     : NULL;
}

lk__question *lk__latch_ask_count(const lk__place *place)
{
    return see(place, 'c');
}

static lk__question *info(const lk__place *place)
{
    return see(place, 'i');
}

/* Redisson's count may be any text of digits that is above 0. */
lk_status lk__latch_read_count(const redisReply *reply, uint64_t *ret_count)
{
    lk__latch_see_answer a;

    if (lk__answer_read(&lk__latch_see_answers, reply, &a) != LK_OK)
        return LK_EPROTO;
    if (a.kind == LK__LATCH_SEE_UNSET)
        return LK_EUNSET;
    return a.kind == LK__LATCH_SEE_LEFT &&
                   lk__word_count(a.left.left.bytes, INT64_MAX, ret_count)
               ? LK_OK
               : LK_EPROTO;
}

static lk_status read_info(const redisReply *reply, lk__info_answer *ret)
{
    lk__latch_see_answer a;

    if (lk__answer_read(&lk__latch_see_answers, reply, &a) != LK_OK ||
        a.kind != LK__LATCH_SEE_SEEN)
        return LK_EPROTO;
    return lk__family_take_info(a.seen.holders, a.seen.waiters, a.seen.number,
                                ret);
}

static lk__question *forget(const lk__place *place)
{
    lk__question *q = lk__family_begin(place, &lk__latch_forget, 0);
    const lk__latch_forget_args args = {.channel = lk__family_channel(place),
                                        .news = lk__family_news(place)};

    return q != NULL ? lk__family_fill(q, place, &lk__latch_forget,
                                       LK__LATCH_FORGET_WHOLE, &args)
                     : NULL;
}

static lk_status read_forget(const redisReply *reply, lk__forget_answer *ret)
{
    lk__latch_forget_answer a;

    if (lk__answer_read(&lk__latch_forget_answers, reply, &a) != LK_OK)
        return LK_EPROTO;
    *ret = (lk__forget_answer){.what = LK__FORGET_NOTHING};
    if (a.kind == LK__LATCH_FORGET_DONE) {
        ret->what = LK__FORGET_DONE;
    } else if (a.kind == LK__LATCH_FORGET_WAITED) {
        ret->what = LK__FORGET_WAITED;
        ret->number = a.waited.number;
    }
    return LK_OK;
}

const lk__protocol lk__protocol_latch = {
    .acquire = acquire,
    .look = look,
    .read_seek = read_seek,
    .leave = leave,
    .read_close = read_close,
    .forget = forget,
    .read_forget = read_forget,
    .info = info,
    .read_info = read_info,
};
