/* SPDX-License-Identifier: MIT */

/* Messages of the inbox: split into words, and handed to the claim they name. */

#include "core/inbox.h"

#include <stdlib.h>
#include <string.h>

#include "core/client.h"
#include "core/mem.h"
#include "core/node.h"
#include "core/place.h"
#include "core/words.h"

enum { WORDS = 8 };

/* The number of a claim of this client, or 0. */
static uint64_t claim_number(const lk_client *client, const char *id)
{
    size_t size = strlen(client->id);

    if (strncmp(id, client->id, size) != 0 || id[size] != ':')
        return 0;
    return strtoull(id + size + 1, NULL, 10);
}

/*
 * Nobody knows the claim any more: its leave was lost, or the server came back
 * with an older state. Given back at once, it does not wait for its lease.
 */
static void pass_on(lk_client *client, char **words)
{
    const lk__kind *kind = lk__kind_find(client, words[1]);
    uint64_t number = claim_number(client, words[2]);
    lk__place *place;

    client->stats.grants_void++;
    if (kind == NULL || kind->release == NULL || number == 0)
        return; /* of such a kind nothing is ever granted so */
    place = lk__place_get(client, kind, words[7]);
    if (place == NULL)
        return;
    lk__claim_give_back(place, number, strtoull(words[4], NULL, 10));
    lk__place_unref(place);
}

static void take_grant(lk_client *client, char **words)
{
    lk__claim *claim = lk__claim_find(client, claim_number(client, words[2]));

    if (claim == NULL)
        pass_on(client, words);
    else
        lk__claim_grant(claim, strtoull(words[3], NULL, 10),
                        strtoull(words[4], NULL, 10),
                        strtoull(words[5], NULL, 10),
                        strtoull(words[6], NULL, 10));
}

/* There is room for us and for others. */
static void take_open(lk_client *client, char **words)
{
    lk__claim *claim = lk__claim_find(client, claim_number(client, words[2]));

    if (claim != NULL)
        lk__claim_opened(claim);
}

static void take_revoked(lk_client *client, char **words)
{
    lk__claim *claim = lk__claim_find(client, claim_number(client, words[2]));

    if (claim != NULL && claim->state == LK__CLAIM_HELD &&
        claim->fence == strtoull(words[3], NULL, 10))
        lk__claim_lose(claim, LK_LOSS_REVOKED);
}

/* Each message, how many words it has, and who takes them. */
static const struct {
    const char *word;
    size_t words;
    void (*take)(lk_client *client, char **words);
} messages[] = {{"grant", 8, take_grant},
                {"open", 5, take_open},
                {"revoked", 5, take_revoked}};

static bool take(lk_client *client, char *text)
{
    char *words[WORDS];

    for (size_t i = 0; i < sizeof(messages) / sizeof(messages[0]); i++) {
        size_t size = strlen(messages[i].word);

        if (strncmp(text, messages[i].word, size) != 0 || text[size] != ' ')
            continue;
        if (lk__words_split(text, messages[i].words, words) !=
            messages[i].words)
            return false;
        messages[i].take(client, words);
        return true;
    }
    return false;
}

void lk__inbox_take(lk__node *node, const char *bytes, size_t size)
{
    char *text = lk__strndup(bytes, size);

    if (text == NULL || !take(node->client, text))
        lk__client_log(node->client, LK_LOG_WARN,
                       "a message of the inbox is not understood");
    lk__free(text);
}
