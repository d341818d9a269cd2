/* SPDX-License-Identifier: MIT */

/*
 * Handing a hold to another process, as one line of text:
 *
 *   latchkey2 <kind> <claim> <fence of the grant> <fence of the hold>
 *       <lease ms> <watchdog 0 or 1> <name>
 *
 * The server is not told of the export, and nobody renews until the import. That
 * makes it the hold of a claim of the importer's there, under a new fence, and
 * the text is worth nothing any more: the server lets one claim have it, which
 * may ask again.
 *
 * So a text is good for one state of one hold, without a mark of that state in it
 * or a fence for each state:
 *
 * - A claim is exported once, with its only handle, and its client asks for nothing
 *   by it from then on. So while a text is good nobody changes the hold but an
 *   operator, who ends it; and as no claim has two texts, none is an older one.
 * - What was asked for before, as a downgrade whose answer was lost, the server does
 *   before the import, or never: the claim that it names is gone then. What the hold
 *   is, how much and under which fence, the answer to the import says alone; one that
 *   is repeated says the same, since nobody has the new claim before it is answered.
 * - No other hold stands by this one. Whatever its owner has beside it, or waits for
 *   there, keeps it from being exported; what was given back or given up nobody
 *   believes in, whether the server has heard of that or not.
 */

#include "claims/transfer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/deadline.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/words.h"
#include "claims/ask.h"
#include "claims/claim_private.h"
#include "claims/hold.h"
#include "claims/node.h"
#include "claims/place.h"
#include "claims/protocol.h"
#include "claims/work.h"
#include "engine/owner.h"

/* ---- export ----------------------------------------------------------------- */

static lk_status export_check(const lk_hold *hold, const char *text)
{
    if (text == NULL)
        return lk__fail(LK_EINVAL, "the place for the text is NULL");
    return lk__client_check(hold->client);
}

static bool stands_beside(const lk__claim *second, const lk__claim *first)
{
    return second->extra != NULL && second->extra->beside != NULL &&
           strcmp(second->extra->beside, lk__claim_id(first)) == 0;
}

/* One of two that the server lets in beside each other, as one owner has both, or
   would. In two processes the one would write while the other reads. */
static bool has_other(const lk__claim *claim)
{
    for (const lk__claim *other = claim->place->first_claim; other != NULL;
         other = other->next) {
        if ((other->state == LK__CLAIM_HELD || lk__claim_is_seeking(other)) &&
            (stands_beside(claim, other) || stands_beside(other, claim)))
            return true;
    }
    return false;
}

/* Inside the monitor. */
static lk_status export_text(const lk_hold *hold, char *text, size_t size)
{
    const lk__claim *claim = hold->claim;
    int length;

    if (!lk__claim_is_valid(claim))
        return lk__fail(LK_ELOST, "it is not held any more");
    if (claim->first_hold != hold || hold->next != NULL)
        return lk__fail(LK_EINVAL, "it was re-entered: release the others");
    if (has_other(claim))
        return lk__fail(LK_EINVAL,
                        "its owner holds the name in another mode as "
                        "well, or waits for that: end that first");
    length =
        snprintf(text, size,
                 "latchkey2 %s %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %d %s",
                 claim->place->kind->word, lk__claim_id(claim), claim->fence,
                 hold->fence, claim->lease_ms, claim->watchdog ? 1 : 0,
                 claim->place->name);
    if (length < 0 || (size_t)length >= size)
        return lk__fail(LK_EINVAL, "LK_EXPORT_SIZE bytes are needed");
    return LK_OK;
}

/* Of a hold that its callback has not ended. Inside the monitor. */
static lk_status export_end(lk_hold *hold, char *text, size_t size)
{
    /* Its callback may have changed it. */
    lk_status status = export_text(hold, text, size);

    if (status == LK_OK) {
        lk__hold_unbind(hold);
        lk__claim_export(hold->claim);
        lk__place_drive(hold->claim->place);
        lk__hold_unclaim(hold);
    } else if (hold->claim->state != LK__CLAIM_HELD) {
        /* Of one whose time has only just ended its alarm will tell. */
        lk__hold_tell(hold);
    }
    return status;
}

lk_status lk__hold_export(lk_hold *hold, char *text, size_t size)
{
    lk_client *client;
    lk_status status = export_check(hold, text);
    bool ends;

    if (status != LK_OK)
        return status;
    client = hold->client;
    lk__client_lock(client);
    status = export_text(hold, text, size);
    if (status == LK_OK)
        status = lk__hold_unpost(hold) ? export_end(hold, text, size)
                                       : lk__hold_ended();
    ends = hold->claim == NULL;
    lk__client_leave(client);
    if (ends)
        lk__hold_discard(hold);
    return status;
}

/* ---- import ----------------------------------------------------------------- */

/* What a line of text says. */
struct exported {
    char id[LK__CLAIM_ID_SIZE];
    uint64_t fence;      /* of the grant */
    uint64_t hold_fence; /* larger if it was passed on before */
    uint64_t lease_ms;
    bool watchdog;
};

struct import {
    lk__ask ask;      /* first */
    uint64_t left_ms; /* of the lease, when the question was sent */
    lk__claim *claim; /* FOREIGN, counted; killed if it is not to be */
    lk_hold *hold;
    uint64_t owner;
};

enum { WORDS = 8 };

/* Where there are no fences the text says 0. False: a word of it is none that an
   export writes. */
static bool
words_read(const lk__place *place, char **words, struct exported *ret_from)
{
    uint64_t watchdog;

    if (strlen(words[2]) >= sizeof(ret_from->id) ||
        !lk__word_count(words[3], LK__NUMBER_MAX, &ret_from->fence) ||
        !lk__word_count(words[4], LK__NUMBER_MAX, &ret_from->hold_fence) ||
        !lk__word_number(words[5], LK__TIME_MAX_MS, &ret_from->lease_ms) ||
        !lk__word_count(words[6], 1, &watchdog))
        return false;
    memcpy(ret_from->id, words[2], strlen(words[2]) + 1);
    ret_from->watchdog = watchdog == 1;
    return (ret_from->fence == 0) == place->kind->fenceless &&
           ret_from->hold_fence >= ret_from->fence;
}

static lk_status
words_take(const lk__place *place, char **words, struct exported *ret_from)
{
    if (strcmp(words[1], place->kind->word) != 0 ||
        strcmp(words[7], place->name) != 0)
        return lk__fail(LK_EMISMATCH, "the exported hold is of another name");
    if (!words_read(place, words, ret_from))
        return lk__fail(LK_EINVAL, "this is not an exported hold");
    return LK_OK;
}

static lk_status
text_parse(const lk__place *place, const char *text, struct exported *ret_from)
{
    char copy[LK_EXPORT_SIZE];
    char *words[WORDS];

    if (text == NULL || strlen(text) >= sizeof(copy))
        return lk__fail(LK_EINVAL, "this is not an exported hold");
    snprintf(copy, sizeof(copy), "%s", text);
    if (lk__words_split(copy, WORDS, words) != WORDS ||
        strcmp(words[0], "latchkey2") != 0)
        return lk__fail(LK_EINVAL, "this is not an exported hold");
    return words_take(place, words, ret_from);
}

/* What was taken over the answer says: under which fences, how much it is, and
   what it may do. */
static bool answer_fits(lk__claim *claim, const lk__import_answer *answer)
{
    claim->extra->terms.need = answer->need;
    claim->extra->terms.mode = answer->mode;
    if (claim->place->kind->fenceless)
        return true;
    if (answer->fence == 0 || answer->top_fence < answer->fence ||
        answer->fence <= claim->top_fence || answer->top_fence > LK__NUMBER_MAX)
        return false;
    lk__claim_set_fence(claim, answer->fence, answer->top_fence);
    return true;
}

/* A repeated question is answered with what is left from the first one. It is
   more than was asked for where the exporter had the lease extended: the server
   repeats its answer for as long. */
static void lease_take(struct import *import, const lk__import_answer *answer)
{
    uint64_t left_ms = answer->left_ms < 0 ? 0 : (uint64_t)answer->left_ms;

    if (left_ms > LK__TIME_MAX_MS)
        left_ms = LK__TIME_MAX_MS;
    lk__claim_asked(import->claim, lk__client_now(import->claim->place->client),
                    left_ms);
    if (left_ms < import->left_ms)
        import->left_ms = left_ms;
}

static lk_status answer_take(struct import *import, const redisReply *reply)
{
    lk__claim *claim = import->claim;
    lk__import_answer answer = {.is_held = false};
    lk_status status = lk__claim_protocol(claim)->read_import(reply, &answer);

    if (status != LK_OK)
        return status;
    if (!answer.is_held)
        return LK_ELOST;
    if (!answer_fits(claim, &answer))
        return LK_EPROTO;
    lease_take(import, &answer);
    return LK_OK;
}

/* It cannot be believed any more, and goes back. */
static void import_let_go(struct import *import)
{
    lk__claim_leave(import->claim);
    lk__claim_unref(import->claim);
    import->claim = NULL;
}

static lk_status
import_take(lk__ask *ask, const redisReply *reply, bool *ret_more)
{
    struct import *import = (struct import *)(void *)ask;
    lk__claim *claim = import->claim;
    lk_status status = answer_take(import, reply);
    uint64_t deadline = lk__deadline_ns(ask->request.sent_at, import->left_ms);

    *ret_more = false;
    if (status != LK_OK)
        return status;
    if (deadline <= lk__client_now(claim->place->client) ||
        !lk__node_gives(claim->place->node)) {
        import_let_go(import);
        return LK_ELOST;
    }
    lk__claim_hold_imported(claim, import->hold, import->owner, deadline);
    lk__claim_unref(claim);
    import->claim = NULL;
    return LK_OK;
}

/* Without an answer the hold is nobody's, and its lease ends it. */
static void import_cleanup(lk__ask *ask)
{
    struct import *import = (struct import *)(void *)ask;

    if (import->claim == NULL)
        return;
    lk__claim_kill(import->claim);
    lk__claim_unref(import->claim);
}

/* The claim that stands for the text's here; NULL: out of memory. */
static lk__claim *foreign_new(lk__place *place, const struct exported *from)
{
    lk__claim *claim =
        lk__claim_new_numbered(place, ++place->client->work->last_claim_number);

    if (claim == NULL)
        return NULL;
    if (lk__claim_extra(claim) == NULL) {
        lk__claim_kill(claim);
        return NULL;
    }
    claim->lease_ms = from->lease_ms;
    claim->watchdog = from->watchdog;
    claim->state = LK__CLAIM_FOREIGN;
    claim->line = LK__LINE_OWN;
    claim->is_mixed = true; /* others may hold beside it */
    lk__claim_set_fence(claim, from->fence, from->hold_fence);
    return lk__claim_ref(claim);
}

/* NULL: out of memory. Inside the monitor. */
static struct import *import_new(lk__place *place, const struct exported *from,
                                 uint64_t owner, lk_hold *hold)
{
    struct import *import =
        (struct import *)(void *)lk__ask_new(sizeof(*import), place->client,
                                             place, NULL);

    if (import == NULL)
        return NULL;
    import->left_ms = from->lease_ms;
    import->hold = hold;
    import->owner = owner;
    import->ask.takes = true;
    import->ask.repeats = true;
    import->ask.take = import_take;
    import->ask.cleanup = import_cleanup;
    import->claim = foreign_new(place, from);
    if (import->claim == NULL ||
        lk__ask_question(&import->ask,
                         lk__claim_protocol(import->claim)
                             ->import(import->claim, from->id, from->fence,
                                      from->lease_ms)) != LK_OK) {
        lk__ask_release(&import->ask);
        return NULL;
    }
    return import;
}

static lk_status import_ask(lk__place *place, const struct exported *from,
                            uint64_t owner, lk_hold *hold)
{
    struct import *import = import_new(place, from, owner, hold);
    lk_status status;

    if (import == NULL)
        return LK_ENOMEM;
    lk__ask_begin(&import->ask);
    status = lk__ask_sleep(&import->ask);
    lk__ask_release(&import->ask);
    return status;
}

lk_status lk__import(lk__place *place, const char *text,
                     const lk_acquire_options *given, lk_hold **ret_hold)
{
    lk_client *client = place->client;
    lk_acquire_options options;
    struct exported from = {.fence = 0};
    lk_hold *hold;
    lk_status status = text_parse(place, text, &from);

    if (status == LK_OK)
        status = lk__acquire_options_take(place, given, &options);
    if (status != LK_OK)
        return status;
    hold = lk__hold_new(client);
    if (hold == NULL)
        return LK_ENOMEM;
    status = lk__client_enter_blocking(client);
    if (status == LK_OK) {
        status = import_ask(place, &from, lk__owner_number(options.owner, true),
                            hold);
        lk__client_leave_blocking(client);
    }
    if (status == LK_OK)
        *ret_hold = hold;
    else
        lk__hold_discard(hold);
    return status;
}
