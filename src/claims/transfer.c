/* SPDX-License-Identifier: MIT */

/*
 * Handing a hold to another process, as one line of text:
 *
 *   latchkey1 <kind> <mode> <claim> <fence of the grant> <fence of the hold>
 *       <lease ms> <watchdog 0 or 1> <name>
 *
 * The mode is the letter of the claim's terms, - without any.
 *
 * The server is not told of the export, and nobody renews until the import. That
 * makes it the hold of a claim of the importer's there, under a new fence, and
 * the text is worth nothing any more: the server lets one claim have it, which
 * may ask again. An import that borrows changes neither claim nor fence.
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

/* Inside the monitor. */
static lk_status export_text(const lk_hold *hold, char *text, size_t size)
{
    const lk__claim *claim = hold->claim;
    const char *mode = lk__claim_terms(claim)->mode;
    int length;

    if (!lk__claim_is_valid(claim))
        return lk__fail(LK_ELOST, "it is not held any more");
    if (claim->first_hold != hold || hold->next != NULL)
        return lk__fail(LK_EINVAL, "it was re-entered: release the others");
    length =
        snprintf(text, size,
                 "latchkey1 %s %s %s %" PRIu64 " %" PRIu64 " %" PRIu64 " %d %s",
                 claim->place->kind->word, mode != NULL ? mode : "-",
                 lk__claim_id(claim), claim->fence, hold->fence,
                 claim->lease_ms, claim->watchdog ? 1 : 0, claim->place->name);
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
    const char *mode; /* static; NULL: none */
    char id[LK__CLAIM_ID_SIZE];
    uint64_t fence;      /* of the grant */
    uint64_t hold_fence; /* larger if it was passed on before */
    uint64_t lease_ms;
    bool watchdog;
};

struct import {
    lk__ask ask; /* first */
    struct exported from;
    uint64_t borrows; /* as in lk_acquire_options */
    bool is_revoked;  /* and is had all the same */
    uint64_t left_ms; /* of the lease, when the question was sent */
    lk__claim *claim; /* FOREIGN, counted; killed if it is not to be */
    lk_hold *hold;
    uint64_t owner;
};

enum { WORDS = 9 };

/* Every mode that a hold can have. */
static const char *mode_find(const char *word)
{
    static const char *const modes[] = {"r", "u", "w", "p"};

    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        if (strcmp(modes[i], word) == 0)
            return modes[i];
    }
    return NULL;
}

/* Where there are no fences the text says 0. */
static bool fence_take(const char *word, uint64_t *ret_fence)
{
    *ret_fence = 0;
    return strcmp(word, "0") == 0 ||
           lk__word_number(word, LK__NUMBER_MAX, ret_fence);
}

/* Where a kind has several modes the hold has one of them; what is in a text is
   anybody's. */
static bool is_mode_of(const lk__kind *kind, const char *mode)
{
    return kind->mode != NULL || (mode != NULL && strcmp(mode, "p") != 0);
}

/* False: a word of the text is none that an export writes. */
static bool
words_read(const lk__place *place, char **words, struct exported *ret_from)
{
    ret_from->mode = mode_find(words[2]);
    ret_from->watchdog = strcmp(words[7], "1") == 0;
    if (!is_mode_of(place->kind, ret_from->mode) ||
        strlen(words[3]) >= sizeof(ret_from->id) ||
        !fence_take(words[4], &ret_from->fence) ||
        !fence_take(words[5], &ret_from->hold_fence) ||
        !lk__word_number(words[6], LK__TIME_MAX_MS, &ret_from->lease_ms))
        return false;
    memcpy(ret_from->id, words[3], strlen(words[3]) + 1);
    return (ret_from->fence == 0) == place->kind->fenceless &&
           ret_from->hold_fence >= ret_from->fence;
}

static lk_status
words_take(const lk__place *place, char **words, struct exported *ret_from)
{
    if (strcmp(words[1], place->kind->word) != 0 ||
        strcmp(words[8], place->name) != 0)
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
        strcmp(words[0], "latchkey1") != 0)
        return lk__fail(LK_EINVAL, "this is not an exported hold");
    return words_take(place, words, ret_from);
}

/* The fences of what was taken over are the answer's, and so is how much it
   is. */
static bool fences_take(lk__claim *claim, const lk__import_answer *answer)
{
    if (claim->place->kind->fenceless)
        return true;
    if (answer->fence == 0 || answer->top_fence < answer->fence ||
        answer->fence <= claim->top_fence || answer->top_fence > LK__NUMBER_MAX)
        return false;
    claim->fence = claim->local_fence = answer->fence;
    claim->top_fence = answer->top_fence;
    claim->extra->terms.need = answer->need;
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

/* Whether the server keeps it for this client, and then under which fences and
   for how long. */
static lk_status answer_take(struct import *import, const redisReply *reply)
{
    lk__claim *claim = import->claim;
    const lk__protocol *protocol = claim->place->kind->protocol;
    lk__import_answer answer = {.is_held = false};
    lk__keep_answer kept = {.is_held = false};
    lk_status status =
        import->borrows != 0
            ? protocol->read_keep(reply, import->from.fence, &kept)
            : protocol->read_import(reply, &answer);

    import->left_ms = lk__kept_ms(&kept, import->from.lease_ms);
    import->is_revoked = import->borrows == LK_BORROW_TO_RELEASE &&
                         status == LK_OK && !kept.is_held &&
                         kept.loss == LK_LOSS_REVOKED;
    if (status == LK_OK && !kept.is_held && !answer.is_held)
        return import->is_revoked ? LK_OK : LK_ELOST;
    if (status == LK_OK && import->borrows == 0 && !fences_take(claim, &answer))
        return LK_EPROTO;
    if (status == LK_OK && import->borrows == 0)
        lease_take(import, &answer);
    return status;
}

/* It cannot be believed any more. What is this client's now is given back; what is
   borrowed stays the other's. */
static void import_let_go(struct import *import)
{
    if (import->borrows == 0)
        lk__claim_leave(import->claim);
    else
        lk__claim_kill(import->claim);
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
    if (import->is_revoked)
        lk__claim_lose(claim, LK_LOSS_REVOKED);
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
static lk__claim *
foreign_new(lk__place *place, const struct exported *from, bool borrows)
{
    lk__claim *claim =
        lk__claim_new_numbered(place, ++place->client->work->last_claim_number);

    if (claim == NULL)
        return NULL;
    if (lk__claim_extra(claim) == NULL ||
        (borrows &&
         (claim->extra->borrowed_id = lk__strdup(from->id)) == NULL)) {
        lk__claim_kill(claim);
        return NULL;
    }
    claim->lease_ms = from->lease_ms;
    claim->watchdog = from->watchdog;
    claim->state = LK__CLAIM_FOREIGN;
    claim->line = LK__LINE_OWN;
    claim->borrowed = borrows;
    claim->extra->terms.mode = from->mode;
    claim->is_mixed = true; /* others may hold beside it */
    claim->fence = from->fence;
    claim->local_fence = from->hold_fence;
    claim->top_fence = from->hold_fence;
    return lk__claim_ref(claim);
}

/* Sets what is asked. What is borrowed the server knows under the text's id. */
static lk_status import_set(struct import *import)
{
    const struct exported *from = &import->from;
    lk__claim *claim = import->claim;
    const lk__protocol *protocol = claim->place->kind->protocol;
    const lk__question *question;

    if (import->borrows != 0) {
        question = protocol->keep(claim->place, from->id, from->fence,
                                  from->lease_ms, 0);
    } else {
        question =
            protocol->import(claim, from->id, from->fence, from->lease_ms);
    }
    import->ask.repeats = import->borrows == 0;
    return lk__ask_question(&import->ask, question);
}

/* NULL: out of memory. Inside the monitor. */
static struct import *import_new(lk__place *place, const struct exported *from,
                                 uint64_t owner, uint64_t borrows,
                                 lk_hold *hold)
{
    struct import *import =
        (struct import *)(void *)lk__ask_new(sizeof(*import), place->client,
                                             place, NULL);

    if (import == NULL)
        return NULL;
    import->from = *from;
    import->borrows = borrows;
    import->hold = hold;
    import->owner = owner;
    import->ask.takes = true;
    import->ask.take = import_take;
    import->ask.cleanup = import_cleanup;
    import->claim = foreign_new(place, from, borrows != 0);
    if (import->claim == NULL || import_set(import) != LK_OK) {
        lk__ask_release(&import->ask);
        return NULL;
    }
    return import;
}

static lk_status import_ask(lk__place *place, const struct exported *from,
                            uint64_t owner, uint64_t borrows, lk_hold *hold)
{
    struct import *import;
    lk_status status;

    import = import_new(place, from, owner, borrows, hold);
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
    if (status == LK_OK && options.borrow > LK_BORROW_TO_RELEASE)
        status = lk__fail(LK_EINVAL, "borrow is out of range");
    if (status != LK_OK)
        return status;
    hold = lk__hold_new(client);
    if (hold == NULL)
        return LK_ENOMEM;
    status = lk__client_enter_blocking(client);
    if (status == LK_OK) {
        status = import_ask(place, &from, lk__owner_number(options.owner, true),
                            options.borrow, hold);
        lk__client_leave_blocking(client);
    }
    if (status == LK_OK)
        *ret_hold = hold;
    else
        lk__hold_discard(hold);
    return status;
}
