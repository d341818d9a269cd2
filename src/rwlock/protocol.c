/* SPDX-License-Identifier: MIT */

/*
 * The scripts of the read-write lock: what they get and answer is in
 * lua/rwlock/rwlock.table, and docs/protocol.md says what stands behind it.
 */

#include "rwlock/protocol.h"

#include "base/names.h"
#include "claims/family.h"
#include "engine/client.h"
#include "rwlock/rwlock.h"
#include "rwlock_table.h"

/* ---- keys and members ---- */

/* Adds the key of a claim's lease. It takes LK__CLAIM_KEY_SIZE of the room. */
static void add_timeout(lk__question *q, const lk__place *place, const char *id)
{
    char *key = lk__question_text(q, LK__CLAIM_KEY_SIZE);

    lk__key_write_of_claim(key, lk__rwlock_keys[LK__RWLOCK_KEY_TIMEOUT],
                           place->name, id);
    lk__question_key(q, key);
}

/* The last of the keys is this claim's. */
static lk__question *fill_for(lk__question *q, const lk__place *place,
                              const lk__signature *signature, size_t key_count,
                              const char *id, const void *args)
{
    lk__family_fill(q, place, signature, key_count - 1, args);
    add_timeout(q, place, id);
    return q;
}

/* The other claim of its owner's; NULL: none. */
static const char *beside(const lk__claim *claim)
{
    return claim->extra != NULL ? claim->extra->beside : NULL;
}

/* A write above a read of the same owner's. */
static bool is_upgrade(const lk__claim *claim)
{
    return lk__rwlock_writes(claim) && beside(claim) != NULL;
}

static lk__text member(lk__question *q, const lk__claim *claim)
{
    if (is_upgrade(claim))
        return lk__family_member(q, claim, "x", beside(claim));
    return lk__family_member(q, claim, lk__claim_terms(claim)->mode, "-");
}

/* ---- seeking ---- */

static lk__question *acquire(const lk__claim *claim, char how)
{
    const lk__place *place = claim->place;
    lk__question *q = lk__family_begin(place, &lk__rwlock_acquire,
                                       LK__MEMBER_SIZE + LK__CLAIM_KEY_SIZE);
    lk__rwlock_acquire_args args = {
        .claim = lk__text_of(lk__claim_id(claim)),
        .lease = (int64_t)claim->lease_ms,
        .how = how,
        .interop = lk__family_interop(place),
        .life = lk__family_life(place),
        .order = (char)('0' + lk__claim_terms(claim)->number),
        .writes = lk__text_of(lk__rwlock_writes(claim) || beside(claim) == NULL
                                  ? ""
                                  : beside(claim)),
        .channel = lk__family_channel(place),
    };

    if (q == NULL)
        return NULL;
    args.own = member(q, claim);
    return fill_for(q, place, &lk__rwlock_acquire, LK__RWLOCK_ACQUIRE_WHOLE,
                    lk__claim_id(claim), &args);
}

static lk__question *
touch(const lk__place *place, lk__claim *const *claims, size_t count)
{
    lk__question *q =
        lk__family_begin(place, &lk__rwlock_touch, count * LK__MEMBER_SIZE);
    lk__text members[LK__TOUCH_CLAIMS];
    const lk__rwlock_touch_args args = {
        .uuid = lk__text_of(place->client->id),
        .db = lk__family_db(place),
        .channel = lk__family_channel(place),
        .interop = lk__family_interop(place),
        .life = lk__family_life(place),
        .peek = '0',
        .members = members,
        .members_count = count,
    };

    if (q == NULL)
        return NULL;
    for (size_t i = 0; i < count; i++)
        members[i] = member(q, claims[i]);
    return lk__family_fill(q, place, &lk__rwlock_touch, LK__RWLOCK_TOUCH_WHOLE,
                           &args);
}

static lk__question *look(const lk__claim *claim)
{
    lk__claim *one = (lk__claim *)(uintptr_t)claim;

    return touch(claim->place, &one, 1);
}

static lk_status held(lk__seek_answer *ret, int64_t fence, int64_t left_ms)
{
    ret->what = LK__SEEK_HELD;
    ret->left_ms = left_ms;
    ret->fence = ret->top_fence = (uint64_t)fence;
    return fence > 0 ? LK_OK : LK_EPROTO;
}

static lk_status read_acquire(const redisReply *reply, lk__seek_answer *ret)
{
    lk__rwlock_acquire_answer a;

    if (lk__answer_read(&lk__rwlock_acquire_answers, reply, &a) != LK_OK)
        return LK_EPROTO;
    switch ((lk__rwlock_acquire_kind)a.kind) {
    case LK__RWLOCK_ACQUIRE_HELD:
        return held(ret, a.held.fence, a.held.left);
    case LK__RWLOCK_ACQUIRE_QUEUED:
        ret->what = LK__SEEK_QUEUED;
        ret->left_ms = a.queued.left;
        ret->ticket = (uint64_t)a.queued.ticket;
        ret->next = (lk__next)a.queued.next;
        return a.queued.ticket > 0 && a.queued.next <= LK__NEXT_FREE
                   ? LK_OK
                   : LK_EPROTO;
    case LK__RWLOCK_ACQUIRE_BUSY:
        ret->what = LK__SEEK_BUSY;
        ret->left_ms = a.busy.left;
        return LK_OK;
    case LK__RWLOCK_ACQUIRE_BASE_LOST:
        break;
    }
    ret->what = LK__SEEK_ENDS;
    ret->end = LK_ELOST;
    return LK_OK;
}

static lk_status
read_seek(const lk__claim *claim, const redisReply *reply, lk__seek_answer *ret)
{
    return claim->seek->look.script == lk__rwlock_acquire.script
               ? read_acquire(reply, ret)
               : lk__family_read_look(reply, ret);
}

/* ---- holding ---- */

static lk__question *
keep(const lk__claim *claim, uint64_t lease_ms, uint64_t reserve)
{
    const lk__place *place = claim->place;
    lk__question *q =
        lk__family_begin(place, &lk__rwlock_keep, LK__CLAIM_KEY_SIZE);
    const lk__rwlock_keep_args args = {
        .claim = lk__text_of(lk__claim_id(claim)),
        .fence = (int64_t)claim->fence,
        .lease = (int64_t)lease_ms,
        .life = lk__family_life(place),
        .channel = lk__family_channel(place),
        .interop = lk__family_interop(place),
    };

    (void)reserve; /* a grant has one fence */
    return q != NULL
               ? fill_for(q, place, &lk__rwlock_keep, LK__RWLOCK_KEEP_WHOLE,
                          lk__claim_id(claim), &args)
               : NULL;
}

static lk_status
read_keep(const redisReply *reply, uint64_t fence, lk__keep_answer *ret)
{
    lk__rwlock_keep_answer a;

    if (lk__answer_read(&lk__rwlock_keep_answers, reply, &a) != LK_OK)
        return LK_EPROTO;
    ret->is_held = a.kind == LK__RWLOCK_KEEP_KEPT;
    if (ret->is_held) {
        ret->is_alone = !a.kept.waiting;
        ret->is_apart = a.kept.apart;
        ret->top_fence = fence;
    } else {
        ret->loss = lk__claim_loss_of(a.lost.code);
    }
    return LK_OK;
}

/* A reader is its field and its lease's key. A writer is its field, but where
   its owner reads beside it, its lease has such a key, too, from then on; whether
   it has, and whether a downgrade was done, only the server knows. */
static size_t renewal_keys(const lk__claim *claim)
{
    if (claim->is_apart)
        return 2;
    if (claim->is_mixed || is_upgrade(claim))
        return 0;
    return lk__rwlock_writes(claim) ? 1 : 2;
}

/* All of one lease, and of as many keys. */
static lk__question *
renew(lk__claim *const *claims, const uint64_t *leases, size_t count)
{
    size_t each = renewal_keys(claims[0]), used = 0;
    lk__question *q = lk__family_begin(claims[0]->place, &lk__rwlock_renew,
                                       count * LK__CLAIM_KEY_SIZE);
    lk__text ids[2 * LK__RENEW_CLAIMS];
    lk__rwlock_renew_args args = {.lease = (int64_t)leases[0], .claims = ids};

    if (q == NULL)
        return NULL;
    for (size_t i = 0; i < count; i++) {
        const lk__place *place = claims[i]->place;

        ids[used++] = lk__text_of(lk__claim_id(claims[i]));
        lk__family_key(q, place, LK__RWLOCK_KEY_LOCK);
        if (each == 2) {
            ids[used++] = lk__text_of("-");
            add_timeout(q, place, lk__claim_id(claims[i]));
        }
    }
    args.claims_count = used;
    return lk__family_fill(q, claims[0]->place, &lk__rwlock_renew, 0, &args);
}

lk__question *
lk__rwlock_ask_downgrade(const lk__claim *claim, uint64_t lease_ms)
{
    const lk__place *place = claim->place;
    lk__question *q =
        lk__family_begin(place, &lk__rwlock_downgrade, LK__CLAIM_KEY_SIZE);
    const lk__rwlock_downgrade_args args = {
        .claim = lk__text_of(lk__claim_id(claim)),
        .fence = (int64_t)claim->fence,
        .lease = (int64_t)lease_ms,
        .db = lk__family_db(place),
        .channel = lk__family_channel(place),
        .life = lk__family_life(place),
    };

    return q != NULL ? fill_for(q, place, &lk__rwlock_downgrade,
                                LK__RWLOCK_DOWNGRADE_WHOLE, lk__claim_id(claim),
                                &args)
                     : NULL;
}

lk_status
lk__rwlock_read_downgrade(const redisReply *reply, lk__downgrade_answer *ret)
{
    lk__rwlock_downgrade_answer a;

    if (lk__answer_read(&lk__rwlock_downgrade_answers, reply, &a) != LK_OK)
        return LK_EPROTO;
    *ret =
        (lk__downgrade_answer){.reads = a.kind == LK__RWLOCK_DOWNGRADE_READS};
    if (ret->reads) {
        ret->left = a.reads.left > 0 ? (uint64_t)a.reads.left : 0;
        ret->more = a.reads.more;
    } else {
        ret->loss = lk__claim_loss_of(a.not_held.code);
    }
    return LK_OK;
}

/* ---- ending ---- */

static lk__rwlock_close_args
close_args(const lk__place *place, char why, const char *id)
{
    return (lk__rwlock_close_args){.why = why,
                                   .claim = lk__text_of(id),
                                   .db = lk__family_db(place),
                                   .channel = lk__family_channel(place),
                                   .interop = lk__family_interop(place),
                                   .life = lk__family_life(place)};
}

static lk__question *release(const lk__claim *claim)
{
    const lk__place *place = claim->place;
    lk__question *q =
        lk__family_begin(place, &lk__rwlock_close, LK__CLAIM_KEY_SIZE);
    lk__rwlock_close_args args = close_args(place, 'r', lk__claim_id(claim));

    args.fence = (int64_t)claim->fence;
    return q != NULL
               ? fill_for(q, place, &lk__rwlock_close, LK__RWLOCK_CLOSE_WHOLE,
                          lk__claim_id(claim), &args)
               : NULL;
}

static lk__question *leave(const lk__claim *claim, uint64_t stone_ms)
{
    const lk__place *place = claim->place;
    lk__question *q = lk__family_begin(place, &lk__rwlock_close,
                                       LK__MEMBER_SIZE + LK__CLAIM_KEY_SIZE);
    lk__rwlock_close_args args = close_args(place, 'l', lk__claim_id(claim));

    if (q == NULL)
        return NULL;
    args.has_own = true;
    args.own = member(q, claim);
    args.has_stone = stone_ms > 0;
    args.stone = (int64_t)stone_ms;
    return fill_for(q, place, &lk__rwlock_close, LK__RWLOCK_CLOSE_WHOLE,
                    lk__claim_id(claim), &args);
}

static lk__question *force(const lk__place *place, const char *owner)
{
    lk__question *q = lk__family_begin(place, &lk__rwlock_force, 0);
    const lk__rwlock_force_args args = {.claim = lk__text_of(owner),
                                        .db = lk__family_db(place),
                                        .channel = lk__family_channel(place)};

    return q != NULL ? lk__family_fill(q, place, &lk__rwlock_force,
                                       LK__RWLOCK_FORCE_WHOLE, &args)
                     : NULL;
}

static lk__question *hand_on(const lk__place *place)
{
    return touch(place, NULL, 0);
}

/* ---- taking over ---- */

static lk__question *import(const lk__claim *claim, const char *id,
                            uint64_t fence, uint64_t lease_ms)
{
    const lk__place *place = claim->place;
    lk__question *q =
        lk__family_begin(place, &lk__rwlock_import,
                         LK__MEMBER_SIZE + (size_t)2 * LK__CLAIM_KEY_SIZE);
    lk__rwlock_import_args args = {
        .claim = lk__text_of(id),
        .fence = (int64_t)fence,
        .lease = (int64_t)lease_ms,
        .life = lk__family_life(place),
    };

    if (q == NULL)
        return NULL;
    args.own = lk__family_member(q, claim, "-", "-"); /* the server knows */
    lk__family_fill(q, place, &lk__rwlock_import, LK__RWLOCK_IMPORT_WHOLE - 2,
                    &args);
    add_timeout(q, place, id);
    add_timeout(q, place, lk__claim_id(claim));
    return q;
}

/* NULL: there is no such mode. */
static const char *mode_of(lk__text word)
{
    static const char *const modes[] = {"r", "u", "w"};

    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (word.size == 1 && word.bytes[0] == modes[i][0])
            return modes[i];
    }
    return NULL;
}

static lk_status read_import(const redisReply *reply, lk__import_answer *ret)
{
    lk__rwlock_import_answer a;

    if (lk__answer_read(&lk__rwlock_import_answers, reply, &a) != LK_OK)
        return LK_EPROTO;
    *ret = (lk__import_answer){.is_held = a.kind == LK__RWLOCK_IMPORT_HELD};
    if (ret->is_held) {
        ret->left_ms = a.held.left;
        ret->fence = ret->top_fence = (uint64_t)a.held.fence;
        ret->mode = mode_of(a.held.mode);
    }
    return !ret->is_held || ret->mode != NULL ? LK_OK : LK_EPROTO;
}

/* ---- for operators ---- */

static lk__question *revoke(const lk__place *place, const char *owner)
{
    lk__question *q = lk__family_begin(place, &lk__rwlock_revoke, 0);
    const lk__rwlock_revoke_args args = {.claim = lk__text_of(owner),
                                         .db = lk__family_db(place)};

    return q != NULL ? lk__family_fill(q, place, &lk__rwlock_revoke,
                                       LK__RWLOCK_REVOKE_WHOLE, &args)
                     : NULL;
}

static lk__question *forget(const lk__place *place)
{
    lk__question *q = lk__family_begin(place, &lk__rwlock_forget, 0);
    const lk__rwlock_forget_args args = {.channel = lk__family_channel(place)};

    return q != NULL ? lk__family_fill(q, place, &lk__rwlock_forget,
                                       LK__RWLOCK_FORGET_WHOLE, &args)
                     : NULL;
}

static lk__question *info(const lk__place *place)
{
    lk__question *q = lk__family_begin(place, &lk__rwlock_see, 0);

    return q != NULL ? lk__family_fill(q, place, &lk__rwlock_see,
                                       LK__RWLOCK_SEE_WHOLE, NULL)
                     : NULL;
}

lk__question *lk__rwlock_ask_state(const lk__place *place)
{
    lk__question *q = lk__family_begin(place, &lk__rwlock_state, 0);

    return q != NULL ? lk__family_fill(q, place, &lk__rwlock_state,
                                       LK__RWLOCK_STATE_WHOLE, NULL)
                     : NULL;
}

lk_status
lk__rwlock_read_state(const redisReply *reply, lk_rwlock_state *ret_state)
{
    lk__rwlock_state_answer a;

    if (lk__answer_read(&lk__rwlock_state_answers, reply, &a) != LK_OK ||
        a.state.how > LK_RWLOCK_WRITE)
        return LK_EPROTO;
    *ret_state = (lk_rwlock_state)a.state.how;
    return LK_OK;
}

const lk__protocol lk__protocol_rwlock = {
    .acquire = acquire,
    .look = look,
    .read_seek = read_seek,
    .touch = touch,
    .read_touch = lk__family_read_touch,
    .read_ticket = lk__family_read_ticket,
    .keep = keep,
    .read_keep = read_keep,
    .renewal_keys = renewal_keys,
    .renew = renew,
    .read_renew = lk__family_read_renew,
    .release = release,
    .leave = leave,
    .force = force,
    .read_close = lk__family_read_close,
    .hand_on = hand_on,
    .read_hand_on = lk__family_read_hand_on,
    .import = import,
    .read_import = read_import,
    .revoke = revoke,
    .read_revoke = lk__family_read_revoke,
    .forget = forget,
    .read_forget = lk__family_read_forget,
    .info = info,
    .read_info = lk__family_read_info,
};
