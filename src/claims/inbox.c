/* SPDX-License-Identifier: MIT */

/*
 * Messages of the inbox: read as a whole, compared with the claim they name,
 * and handed to it. Whoever may publish to the inbox can write one.
 *
 * A claim's number is drawn once, by a client that has one id and one
 * database, for one name of one family. So its id tells the database, too.
 */

#include "claims/inbox.h"

#include <string.h>

#include "base/mem.h"
#include "base/names.h"
#include "base/tempo.h"
#include "base/words.h"
#include "claims/node.h"
#include "claims/place.h"
#include "claims/protocol.h"
#include "claims/work.h"
#include "engine/client.h"

#define SECOND UINT64_C(1000000000)

enum { NUMBERS = 4 };

/* What a message says; a number that it does not have is 0. */
typedef struct message {
    const char *family, *name;
    const char *nonce;
    uint64_t claim; /* its number */
    uint64_t ticket, fence, top_fence, lease_ms;
} message;

/* ---- whom it concerns --------------------------------------------------------- */

/* NULL: none, or one of another name, family or node than the message. */
static lk__claim *claim_of(const lk__node *node, const message *m)
{
    lk__claim *claim = lk__claim_find(node->client, m->claim);
    const lk__place *place = claim == NULL ? NULL : claim->place;
    char nonce[LK__NONCE_SIZE];

    if (place == NULL || place->node != node ||
        strcmp(place->kind->family, m->family) != 0 ||
        strcmp(place->name, m->name) != 0)
        return NULL;
    return strcmp(m->nonce, lk__claim_nonce(claim, nonce)) == 0 ? claim : NULL;
}

/* Who forges grants of claims that are over cannot have the server asked for each of
   them. A true one that comes in between ends with its claim lease. */
static bool may_pass_on(lk_client *client)
{
    uint64_t now = lk__client_now(client);
    uint64_t next = client->work->next_passed_on;

    if (lk__tempo_hint(&next, now) > now)
        return false;
    client->work->next_passed_on = next;
    return true;
}

/*
 * Nobody knows the claim any more: its leave was lost, or the server came back
 * with an older state. Given back at once, it does not wait for its lease. The
 * server compares claim and fence, so what was not granted is not given back.
 */
static void pass_on(lk__node *node, const message *m)
{
    lk_client *client = node->client;
    const lk__kind *kind = lk__kind_find(client, m->family);
    lk__place *place;

    client->stats.grants_void++;
    if (m->claim > client->work->last_claim_number || kind == NULL ||
        kind->protocol == NULL || kind->protocol->release == NULL ||
        lk__name_check_slot(m->name) != LK_OK)
        return; /* of such a kind nothing is ever granted so */
    place = lk__place_get(client, kind, m->name);
    if (place == NULL)
        return;
    if (place->node == node && may_pass_on(client))
        lk__claim_give_back(place, m->claim, m->fence);
    lk__place_unref(place);
}

static void take_grant(lk__node *node, const message *m)
{
    lk__claim *claim = claim_of(node, m);

    if (claim != NULL)
        lk__claim_grant(claim, m->ticket, m->fence, m->top_fence, m->lease_ms);
    else if (lk__claim_find(node->client, m->claim) == NULL)
        pass_on(node, m);
}

/* There is room for us and for others. */
static void take_open(lk__node *node, const message *m)
{
    lk__claim *claim = claim_of(node, m);

    if (claim != NULL)
        lk__claim_opened(claim);
}

static void take_revoked(lk__node *node, const message *m)
{
    lk__claim *claim = claim_of(node, m);

    if (claim != NULL && claim->state == LK__CLAIM_HELD &&
        claim->fence == m->fence)
        lk__claim_lose(claim, LK_LOSS_REVOKED);
}

/* ---- reading ------------------------------------------------------------------- */

/* Each message: the numbers between its claim and its name, as offsets in a
   message, with the most that each can be; the function that takes it. */
typedef struct message_form {
    const char *word;
    size_t count;
    struct {
        size_t at;
        uint64_t most;
        bool (*read)(const char *word, uint64_t most, uint64_t *ret);
    } numbers[NUMBERS];
    void (*take)(lk__node *node, const message *m);
} message_form;

#define TICKET                                                                 \
    {                                                                          \
        offsetof(message, ticket), LK__NUMBER_MAX, lk__word_number             \
    }
#define FENCE                                                                  \
    {                                                                          \
        offsetof(message, fence), LK__NUMBER_MAX, lk__word_number              \
    }

static const message_form forms[] = {
    {"grant",
     4,
     {TICKET,
      FENCE,
      {offsetof(message, top_fence), LK__NUMBER_MAX, lk__word_count},
      {offsetof(message, lease_ms), LK__TIME_MAX_MS, lk__word_number}},
     take_grant},
    {"open", 1, {TICKET}, take_open},
    {"revoked", 1, {FENCE}, take_revoked},
};

/* The number of a claim of this client. */
static bool claim_read(const lk_client *client, const char *id, uint64_t *ret)
{
    *ret = lk__numbered_read(id, client->id);
    return *ret > 0;
}

/* Reads the numbers, and the name behind them. */
static bool
numbers_fill(message *m, const message_form *form, char *const *words)
{
    for (size_t i = 0; i < form->count; i++) {
        char *at = (char *)m + form->numbers[i].at;

        if (!form->numbers[i].read(words[i], form->numbers[i].most,
                                   (uint64_t *)(void *)at))
            return false;
    }
    m->name = words[form->count];
    return true;
}

/* Takes the words behind the first one. The end of a range of fences is how many
   there are above its begin. */
static bool fill(message *m, const message_form *form, const lk_client *client,
                 char *const *words)
{
    uint64_t db;

    m->family = words[1];
    m->nonce = words[3];
    if (!lk__word_count(words[0], INT32_MAX, &db) ||
        db != client->settings.db || !claim_read(client, words[2], &m->claim) ||
        !numbers_fill(m, form, words + 4))
        return false;
    m->top_fence += m->fence;
    return m->top_fence <= LK__NUMBER_MAX;
}

/* Takes the words apart and sees whom they concern. */
static bool take_form(lk__node *node, const message_form *form, char *text)
{
    message m = {.family = NULL};
    char *words[6 + NUMBERS];
    size_t count = 6 + form->count;

    if (lk__words_split(text, count, words) != count ||
        !fill(&m, form, node->client, words + 1))
        return false;
    form->take(node, &m);
    return true;
}

static bool take(lk__node *node, char *text)
{
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        const message_form *form = &forms[i];
        size_t size = strlen(form->word);

        if (strncmp(text, form->word, size) != 0 || text[size] != ' ')
            continue;
        return take_form(node, form, text);
    }
    return false;
}

/* However many there are, the log has one in a second. */
static void garbage_log(lk_client *client)
{
    uint64_t now = lk__client_now(client);

    if (now < client->work->next_garbage)
        return;
    client->work->next_garbage = now + SECOND;
    lk__client_log(client, LK_LOG_WARN,
                   "a message of the inbox is not understood");
}

void lk__inbox_take(lk__node *node, const char *bytes, size_t size)
{
    char *text = lk__strndup(bytes, size);

    if (text == NULL || strlen(text) != size || !take(node, text))
        garbage_log(node->client);
    lk__free(text);
}
