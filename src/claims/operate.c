/* SPDX-License-Identifier: MIT */

/* Force-release, revocation, forgetting, and whether a name is held. */

#include "claims/operate.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "claims/ask.h"
#include "claims/protocol.h"
#include "claims/work.h"

/* ---- force ----------------------------------------------------------------- */

struct force {
    lk__ask ask;                   /* first */
    char owner[LK__CLAIM_ID_SIZE]; /* "": whoever it is; longer is no claim */
    bool hands_on;                 /* it has ended, and its name is handed on */
    lk_done_cb cb;
    void *data;
};

/* A lock is another place as a fair lock. */
static bool are_one_name(const lk__place *a, const lk__place *b)
{
    return strcmp(a->kind->family, b->kind->family) == 0 &&
           strcmp(a->name, b->name) == 0;
}

/* Held here since before it was asked, by whom it was to end. */
static bool is_ended(const struct force *force, const lk__claim *claim)
{
    return claim->state == LK__CLAIM_HELD &&
           claim->granted_at < force->ask.request.sent_at &&
           (force->owner[0] == '\0' ||
            strcmp(force->owner, lk__claim_id(claim)) == 0);
}

/* NULL: none is left. */
static lk__claim *own_ended(const struct force *force)
{
    const lk__place *forced = force->ask.place;

    for (const lk__place *place = forced->client->work->places; place != NULL;
         place = place->next) {
        for (lk__claim *claim = place->first_claim;
             claim != NULL && are_one_name(place, forced); claim = claim->next)
            if (is_ended(force, claim))
                return claim;
    }
    return NULL;
}

/* Each hold of the name is looked at as a whole. */
static void own_look(const lk__place *asked)
{
    for (const lk__place *place = asked->client->work->places; place != NULL;
         place = place->next) {
        for (lk__claim *claim = place->first_claim;
             claim != NULL && are_one_name(place, asked); claim = claim->next)
            if (claim->state == LK__CLAIM_HELD) {
                claim->kept_at = 0;
                lk__claim_renew_soon(claim);
            }
    }
}

/* Where a client that ends its own hold is not told of that, it would hand it on
   among its own until it renews. */
static void own_end(const struct force *force)
{
    lk__claim *claim;

    while ((claim = own_ended(force)) != NULL)
        lk__claim_lose(claim, LK_LOSS_REVOKED);
}

/* The first answer is of the force, those after it of the passing on. */
static lk_status
force_take(lk__ask *ask, const redisReply *reply, bool *ret_more)
{
    struct force *force = (struct force *)(void *)ask;
    const lk__protocol *protocol = ask->place->kind->protocol;
    lk__close_answer answer = {.more = false};
    lk_status status;

    if (force->hands_on) {
        *ret_more = protocol->read_hand_on(reply);
        return LK_OK;
    }
    status = protocol->read_close(reply, &answer);
    if (status != LK_OK)
        return status;
    if (answer.was_held)
        own_end(force);
    own_look(ask->place);
    status = answer.was_held ? LK_OK : LK_ENOTHELD;
    *ret_more = force->hands_on = answer.more;
    return answer.more ? lk__ask_go_on(ask, status,
                                       protocol->hand_on(ask->place), ret_more)
                       : status;
}

static lk_status force_new(struct force **ret_force, lk__place *place,
                           const char *owner, void (*deliver)(lk__call *call))
{
    struct force *force =
        (struct force *)(void *)lk__ask_new(sizeof(*force), place->client,
                                            place, deliver);

    if (force == NULL)
        return LK_ENOMEM;
    force->ask.take = force_take;
    if (owner[0] == '\0') /* by then it may be another's */
        force->ask.doubt = LK_EPENDING;
    snprintf(force->owner, sizeof(force->owner), "%s", owner);
    if (lk__ask_question(&force->ask,
                         place->kind->protocol->force(place, owner)) != LK_OK) {
        lk__ask_release(&force->ask);
        return LK_ENOMEM;
    }
    *ret_force = force;
    return LK_OK;
}

lk_status lk__force(lk__place *place, const char *owner, uint64_t until)
{
    struct force *force;
    lk_status status = force_new(&force, place, owner, NULL);

    if (status != LK_OK)
        return status;
    lk__ask_begin_by(&force->ask, until);
    status = lk__ask_sleep(&force->ask);
    lk__ask_release(&force->ask);
    return status;
}

static void force_deliver(lk__call *call)
{
    struct force *force = (struct force *)(void *)lk__ask_of_call(call);

    force->cb(call->status, force->data);
    lk__ask_finish(&force->ask);
}

lk_status lk__force_async(lk__place *place, const char *owner, uint64_t until,
                          lk_done_cb cb, void *data)
{
    struct force *force;
    lk_status status = force_new(&force, place, owner, force_deliver);

    if (status != LK_OK)
        return status;
    force->cb = cb;
    force->data = data;
    lk__ask_begin_by(&force->ask, until);
    return LK_OK;
}

/* ---- revoke ---------------------------------------------------------------- */

struct revocation {
    lk__ask ask; /* first */
    int64_t left_ms;
    lk_revoke_cb cb;
    void *data;
};

/* A hold that cannot be told may be renewed: there is no end to be named. */
static lk_status
revocation_take(lk__ask *ask, const redisReply *reply, bool *ret_more)
{
    struct revocation *revocation = (struct revocation *)(void *)ask;
    lk__revoke_answer answer;
    lk_status status = ask->place->kind->protocol->read_revoke(reply, &answer);

    *ret_more = false;
    if (status != LK_OK)
        return status;
    revocation->left_ms = answer.left_ms;
    own_look(ask->place);
    return answer.is_held ? LK_OK : LK_ENOTHELD;
}

/* NULL: out of memory. */
static struct revocation *revocation_new(lk__place *place, const char *owner,
                                         void (*deliver)(lk__call *call))
{
    struct revocation *revocation =
        (struct revocation *)(void *)lk__ask_new(sizeof(*revocation),
                                                 place->client, place, deliver);

    if (revocation == NULL)
        return NULL;
    revocation->left_ms = LK_FOREVER;
    revocation->ask.repeats = true;
    revocation->ask.take = revocation_take;
    if (lk__ask_question(&revocation->ask,
                         place->kind->protocol->revoke(place, owner)) == LK_OK)
        return revocation;
    lk__ask_release(&revocation->ask);
    return NULL;
}

lk_status lk__revoke(lk__place *place, const char *owner, uint64_t until,
                     int64_t *ret_left_ms)
{
    struct revocation *revocation = revocation_new(place, owner, NULL);
    lk_status status;

    if (revocation == NULL)
        return LK_ENOMEM;
    lk__ask_begin_by(&revocation->ask, until);
    status = lk__ask_sleep(&revocation->ask);
    if (status == LK_OK)
        *ret_left_ms = revocation->left_ms;
    lk__ask_release(&revocation->ask);
    return status;
}

static void revocation_deliver(lk__call *call)
{
    struct revocation *revocation =
        (struct revocation *)(void *)lk__ask_of_call(call);

    revocation->cb(call->status, revocation->left_ms, revocation->data);
    lk__ask_finish(&revocation->ask);
}

lk_status lk__revoke_async(lk__place *place, const char *owner, uint64_t until,
                           lk_revoke_cb cb, void *data)
{
    struct revocation *revocation =
        revocation_new(place, owner, revocation_deliver);

    if (revocation == NULL)
        return LK_ENOMEM;
    revocation->cb = cb;
    revocation->data = data;
    lk__ask_begin_by(&revocation->ask, until);
    return LK_OK;
}

/* ---- forget ---------------------------------------------------------------- */

struct forgetting {
    lk__ask ask; /* first */
    char words[160];
    lk_done_cb cb;
    void *data;
};

static void
held_words(struct forgetting *forgetting, const char *owner, int64_t left_ms)
{
    if (left_ms < 0)
        snprintf(forgetting->words, sizeof(forgetting->words),
                 "%.80s holds it, and its lease has no end", owner);
    else
        snprintf(forgetting->words, sizeof(forgetting->words),
                 "%.80s holds it; its lease ends in %" PRId64 " ms", owner,
                 left_ms);
}

static void waited_words(struct forgetting *forgetting, int64_t count)
{
    if (count == 1)
        snprintf(forgetting->words, sizeof(forgetting->words),
                 "somebody waits for it, or did a moment ago");
    else
        snprintf(forgetting->words, sizeof(forgetting->words),
                 "%" PRId64 " wait for it, or did a moment ago", count);
}

static void
busy_words(struct forgetting *forgetting, const lk__forget_answer *answer)
{
    if (answer->what == LK__FORGET_HELD)
        held_words(forgetting, answer->owner, answer->left_ms);
    else if (answer->what == LK__FORGET_WAITED)
        waited_words(forgetting, answer->number);
    else
        snprintf(forgetting->words, sizeof(forgetting->words),
                 "it is set, with %" PRId64 " permits free; nobody knows who "
                 "has the others",
                 answer->number);
    forgetting->ask.words = forgetting->words;
}

static lk_status
forgetting_take(lk__ask *ask, const redisReply *reply, bool *ret_more)
{
    struct forgetting *forgetting = (struct forgetting *)(void *)ask;
    lk__forget_answer answer;
    lk_status status = ask->place->kind->protocol->read_forget(reply, &answer);

    *ret_more = false;
    if (status != LK_OK || answer.what == LK__FORGET_DONE)
        return status;
    if (answer.what == LK__FORGET_NOTHING) {
        ask->words = "nothing is kept under this name";
        return LK_ENOTHELD;
    }
    busy_words(forgetting, &answer);
    return LK_EBUSY;
}

/* NULL: out of memory. */
static struct forgetting *
forgetting_new(lk__place *place, void (*deliver)(lk__call *call))
{
    struct forgetting *forgetting =
        (struct forgetting *)(void *)lk__ask_new(sizeof(*forgetting),
                                                 place->client, place, deliver);

    if (forgetting == NULL)
        return NULL;
    forgetting->ask.take = forgetting_take;
    if (lk__ask_question(&forgetting->ask,
                         place->kind->protocol->forget(place)) == LK_OK)
        return forgetting;
    lk__ask_release(&forgetting->ask);
    return NULL;
}

lk_status lk__forget(lk__place *place, uint64_t until)
{
    struct forgetting *forgetting = forgetting_new(place, NULL);
    lk_status status;

    if (forgetting == NULL)
        return LK_ENOMEM;
    lk__ask_begin_by(&forgetting->ask, until);
    status = lk__ask_sleep(&forgetting->ask);
    lk__ask_release(&forgetting->ask);
    return status;
}

static void forgetting_deliver(lk__call *call)
{
    struct forgetting *forgetting =
        (struct forgetting *)(void *)lk__ask_of_call(call);

    forgetting->cb(call->status, forgetting->data);
    lk__ask_finish(&forgetting->ask);
}

lk_status
lk__forget_async(lk__place *place, uint64_t until, lk_done_cb cb, void *data)
{
    struct forgetting *forgetting = forgetting_new(place, forgetting_deliver);

    if (forgetting == NULL)
        return LK_ENOMEM;
    forgetting->cb = cb;
    forgetting->data = data;
    lk__ask_begin_by(&forgetting->ask, until);
    return LK_OK;
}

/* ---- exists ------------------------------------------------------------------ */

struct existence {
    lk__ask ask; /* first */
    bool exists;
    void (*cb)(lk_status status, bool exists, void *data);
    void *data;
};

static lk_status
existence_take(lk__ask *ask, const redisReply *reply, bool *ret_more)
{
    struct existence *existence = (struct existence *)(void *)ask;

    *ret_more = false;
    if (reply->type != REDIS_REPLY_INTEGER)
        return LK_EPROTO;
    existence->exists = reply->integer == 1;
    return LK_OK;
}

static lk_status existence_new(struct existence **ret_existence,
                               lk__place *place,
                               void (*deliver)(lk__call *call))
{
    struct existence *existence =
        (struct existence *)(void *)lk__ask_new(sizeof(*existence),
                                                place->client, place, deliver);
    char key[LK__KEY_SIZE];
    lk__arg args[2] = {lk__arg_text("EXISTS"),
                       lk__arg_text(lk__place_key(place, LK__KEY_NAME, key))};

    if (existence == NULL)
        return LK_ENOMEM;
    existence->ask.reads = true;
    existence->ask.take = existence_take;
    if (lk__ask_command(&existence->ask, 2, args) != LK_OK) {
        lk__ask_release(&existence->ask);
        return LK_ENOMEM;
    }
    *ret_existence = existence;
    return LK_OK;
}

lk_status lk__exists(lk__place *place, bool *ret_exists)
{
    struct existence *existence;
    lk_status status = existence_new(&existence, place, NULL);

    if (status != LK_OK)
        return status;
    lk__ask_begin(&existence->ask);
    status = lk__ask_sleep(&existence->ask);
    if (status == LK_OK)
        *ret_exists = existence->exists;
    lk__ask_release(&existence->ask);
    return status;
}

static void existence_deliver(lk__call *call)
{
    struct existence *existence =
        (struct existence *)(void *)lk__ask_of_call(call);

    existence->cb(call->status, existence->exists, existence->data);
    lk__ask_finish(&existence->ask);
}

lk_status
lk__exists_async(lk__place *place,
                 void (*cb)(lk_status status, bool exists, void *data),
                 void *data)
{
    struct existence *existence;
    lk_status status = existence_new(&existence, place, existence_deliver);

    if (status != LK_OK)
        return status;
    existence->cb = cb;
    existence->data = data;
    lk__ask_begin(&existence->ask);
    return LK_OK;
}
