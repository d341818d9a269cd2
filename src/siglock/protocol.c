/* SPDX-License-Identifier: MIT */

#include "siglock/protocol.h"

#include <stdio.h>
#include <string.h>

#include "claims/family.h"
#include "siglock_table.h"

/* The third key is Latchkey's alone, and there only where a claim had to be given
   up unanswered or was revoked. Nobody queues, and there is no fence. */

/* ---- seeking ---- */

static lk__question *acquire(const lk__claim *claim, char how)
{
    const lk__place *place = claim->place;
    lk__question *q = lk__family_begin(place, &lk__siglock_acquire, 0);
    const lk__siglock_acquire_args args = {.claim =
                                               lk__text_of(lk__claim_id(claim)),
                                           .lease = (int64_t)claim->lease_ms};

    (void)how;
    return q != NULL ? lk__family_fill(q, place, &lk__siglock_acquire,
                                       LK__SIGLOCK_ACQUIRE_WHOLE, &args)
                     : NULL;
}

static lk_status
read_seek(const lk__claim *claim, const redisReply *reply, lk__seek_answer *ret)
{
    lk__siglock_acquire_answer a;

    (void)claim;
    if (lk__answer_read(&lk__siglock_acquire_answers, reply, &a) != LK_OK)
        return LK_EPROTO;
    if (a.kind == LK__SIGLOCK_ACQUIRE_HELD) {
        ret->what = LK__SEEK_HELD;
        ret->left_ms = a.held.left;
    } else {
        ret->what = LK__SEEK_BUSY;
        ret->left_ms = a.busy.left;
    }
    return LK_OK;
}

/* ---- holding ---- */

enum { RENEWAL_KEYS = 2 };

/* Bytes of `-` and an id. */
static size_t void_size(const char *id)
{
    return strlen(id) + 2;
}

/* Adds the keys, and a text for each. */
static void
add_hold(lk__question *q, const lk__claim *claim, lk__text ret[RENEWAL_KEYS])
{
    const char *id = lk__claim_id(claim);
    char *voided = lk__question_text(q, void_size(id));

    snprintf(voided, void_size(id), "-%s", id);
    lk__family_key(q, claim->place, LK__SIGLOCK_KEY_VOID);
    lk__family_key(q, claim->place, LK__SIGLOCK_KEY_LOCK);
    ret[0] = lk__text_of(voided);
    ret[1] = lk__text_of(id);
}

static size_t renewal_keys(const lk__claim *claim)
{
    (void)claim;
    return RENEWAL_KEYS;
}

/* All of one lease. */
static lk__question *
renew(lk__claim *const *claims, const uint64_t *leases, size_t count)
{
    lk__question *q = lk__family_begin(claims[0]->place, &lk__siglock_renew,
                                       count * (LK__CLAIM_ID_SIZE + 1));
    lk__text ids[RENEWAL_KEYS * LK__RENEW_CLAIMS];
    const lk__siglock_renew_args args = {.lease = (int64_t)leases[0],
                                         .claims = ids,
                                         .claims_count = RENEWAL_KEYS * count};

    if (q == NULL)
        return NULL;
    for (size_t i = 0; i < count; i++)
        add_hold(q, claims[i], &ids[RENEWAL_KEYS * i]);
    return lk__family_fill(q, claims[0]->place, &lk__siglock_renew, 0, &args);
}

/* One alone is renewed as many are. */
static lk__question *
keep(const lk__claim *claim, uint64_t lease_ms, uint64_t reserve)
{
    lk__claim *one = (lk__claim *)(uintptr_t)claim;

    (void)reserve;
    return renew(&one, &lease_ms, 1);
}

/* Whether anybody waits is not known. */
static lk_status
read_keep(const redisReply *reply, uint64_t fence, lk__keep_answer *ret)
{
    lk__any_renew_answer a;
    lk__lost_group lost;

    (void)fence;
    if (lk__answer_read(&lk__any_renew_answers, reply, &a) != LK_OK)
        return LK_EPROTO;
    *ret = (lk__keep_answer){.is_held = lk__list_count(&a.renewed.lost) == 0};
    if (!ret->is_held) {
        lk__list_get(&a.renewed.lost, 0, &lost);
        ret->loss = lk__claim_loss_of(lost.code);
    }
    return LK_OK;
}

/* ---- ending ---- */

static lk__question *
ask_close(const lk__place *place, char why, const char *id, uint64_t stone_ms)
{
    lk__question *q = lk__family_begin(place, &lk__siglock_close, 0);
    const lk__siglock_close_args args = {.why = why,
                                         .claim = lk__text_of(id),
                                         .has_stone = stone_ms > 0,
                                         .stone = (int64_t)stone_ms};

    return q != NULL ? lk__family_fill(q, place, &lk__siglock_close,
                                       LK__SIGLOCK_CLOSE_WHOLE, &args)
                     : NULL;
}

static lk__question *release(const lk__claim *claim)
{
    return ask_close(claim->place, 'r', lk__claim_id(claim), 0);
}

static lk__question *leave(const lk__claim *claim, uint64_t stone_ms)
{
    return ask_close(claim->place, 'l', lk__claim_id(claim), stone_ms);
}

static lk__question *force(const lk__place *place, const char *owner)
{
    return ask_close(place, 'f', owner, 0);
}

static lk_status read_close(const redisReply *reply, lk__close_answer *ret)
{
    lk__siglock_close_answer a;

    if (lk__answer_read(&lk__siglock_close_answers, reply, &a) != LK_OK)
        return LK_EPROTO;
    *ret = (lk__close_answer){.was_held = a.closed.was};
    return LK_OK;
}

/* ---- taking over ---- */

static lk__question *import(const lk__claim *claim, const char *id,
                            uint64_t fence, uint64_t lease_ms)
{
    lk__question *q = lk__family_begin(claim->place, &lk__siglock_import, 0);
    const lk__siglock_import_args args = {.claim = lk__text_of(id),
                                          .lease = (int64_t)lease_ms,
                                          .own =
                                              lk__text_of(lk__claim_id(claim))};

    (void)fence;
    return q != NULL ? lk__family_fill(q, claim->place, &lk__siglock_import,
                                       LK__SIGLOCK_IMPORT_WHOLE, &args)
                     : NULL;
}

static lk_status read_import(const redisReply *reply, lk__import_answer *ret)
{
    lk__siglock_import_answer a;

    if (lk__answer_read(&lk__siglock_import_answers, reply, &a) != LK_OK)
        return LK_EPROTO;
    *ret = (lk__import_answer){.is_held = a.kind == LK__SIGLOCK_IMPORT_HELD};
    if (ret->is_held)
        ret->left_ms = a.held.left;
    return LK_OK;
}

/* ---- for operators ---- */

static lk__question *revoke(const lk__place *place, const char *owner)
{
    lk__question *q = lk__family_begin(place, &lk__siglock_revoke, 0);
    const lk__siglock_revoke_args args = {.claim = lk__text_of(owner)};

    return q != NULL ? lk__family_fill(q, place, &lk__siglock_revoke,
                                       LK__SIGLOCK_REVOKE_WHOLE, &args)
                     : NULL;
}

static lk__question *info(const lk__place *place)
{
    lk__question *q = lk__family_begin(place, &lk__siglock_see, 0);

    return q != NULL ? lk__family_fill(q, place, &lk__siglock_see,
                                       LK__SIGLOCK_SEE_WHOLE, NULL)
                     : NULL;
}

const lk__protocol lk__protocol_siglock = {
    .acquire = acquire,
    .read_seek = read_seek,
    .keep = keep,
    .read_keep = read_keep,
    .renewal_keys = renewal_keys,
    .renew = renew,
    .read_renew = lk__family_read_renew,
    .import = import,
    .read_import = read_import,
    .release = release,
    .leave = leave,
    .force = force,
    .read_close = read_close,
    .revoke = revoke,
    .read_revoke = lk__family_read_revoke,
    .info = info,
    .read_info = lk__family_read_info,
};
