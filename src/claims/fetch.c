/* SPDX-License-Identifier: MIT */

/* Values of any slots; see fetch.h. */

#include "claims/fetch.h"

#include "base/mem.h"
#include "claims/record.h"

#define MS UINT64_C(1000000)

/* The question for one of them. */
struct one {
    lk__ask ask; /* first */
    lk__fetch *fetch;
    char *value; /* NULL: it has not come, or there is none */
};

struct lk__fetch {
    lk__ask *parent; /* not looked at when all are over */
    size_t count, left;
    struct one *ones[];
};

/* The parent's alarm ends its call, as nothing may do that ends within. */
static void one_over(lk__fetch *fetch)
{
    lk__ask *parent = fetch->parent;
    lk_client *client = parent->call.client;

    if (--fetch->left > 0 || !parent->listed)
        return;
    parent->until = lk__client_now(client);
    lk__alarm_set(&client->alarms, &parent->alarm, parent->until);
}

static void on_ended(lk__ask *ask)
{
    one_over(((struct one *)(void *)ask)->fetch);
}

static lk_status take(lk__ask *ask, const redisReply *reply, bool *ret_more)
{
    *ret_more = false;
    if (reply->type == REDIS_REPLY_STRING)
        ((struct one *)(void *)ask)->value = lk__strdup(reply->str);
    return LK_OK;
}

static void cleanup(lk__ask *ask)
{
    lk__free(((struct one *)(void *)ask)->value);
}

/* NULL: no memory. */
static struct one *one_new(lk__fetch *fetch, const char *key)
{
    const lk__arg args[2] = {lk__arg_text("GET"), lk__arg_text(key)};
    struct one *one =
        (struct one *)(void *)lk__ask_new(sizeof(*one),
                                          fetch->parent->call.client, NULL,
                                          NULL);

    if (one == NULL)
        return NULL;
    one->fetch = fetch;
    one->ask.reads = true;
    one->ask.take = take;
    one->ask.cleanup = cleanup;
    one->ask.ended = on_ended;
    if (lk__ask_command(&one->ask, 2, args) == LK_OK)
        return one;
    lk__ask_release(&one->ask);
    return NULL;
}

lk__fetch *lk__fetch_begin(lk__ask *ask, size_t count,
                           void (*key)(void *data, size_t i, char *ret_key),
                           void *data)
{
    size_t most = count < LK__FETCH_MOST ? count : LK__FETCH_MOST;
    lk__fetch *fetch = lk__alloc(sizeof(*fetch) + most * sizeof(struct one *));
    uint64_t now = lk__client_now(ask->call.client);
    uint64_t until = now + LK__FETCH_MS * MS;
    char text[LK__RECORD_KEY_SIZE];

    if (fetch == NULL)
        return NULL;
    fetch->parent = ask;
    for (; fetch->count < most; fetch->count++) {
        key(data, fetch->count, text);
        fetch->ones[fetch->count] = one_new(fetch, text);
        if (fetch->ones[fetch->count] == NULL) {
            lk__fetch_free(fetch);
            return NULL;
        }
    }
    ask->pauses = true;
    fetch->left = fetch->count + 1;
    for (size_t i = 0; i < fetch->count; i++)
        lk__ask_begin_by(&fetch->ones[i]->ask, until);
    one_over(fetch);
    return fetch;
}

char *lk__fetch_take(lk__fetch *fetch, size_t i)
{
    char *value = i < fetch->count ? fetch->ones[i]->value : NULL;

    if (value != NULL)
        fetch->ones[i]->value = NULL;
    return value;
}

void lk__fetch_free(lk__fetch *fetch)
{
    if (fetch == NULL)
        return;
    for (size_t i = 0; i < fetch->count; i++) {
        lk__ask_drop(&fetch->ones[i]->ask);
        lk__ask_release(&fetch->ones[i]->ask);
    }
    lk__free(fetch);
}
