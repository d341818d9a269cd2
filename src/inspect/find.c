/* SPDX-License-Identifier: MIT */

/* What a name is: three short commands at once. */

#include "inspect/find.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/names.h"
#include "claims/node.h"
#include "inspect/kinds.h"
#include "inspect/probe.h"
#include "lock_table.h"
#include "server/reply.h"

enum { RECORD, FIELDS, LEASES, ASKS };

struct finder {
    lk__probe probe; /* first */
    char *keys[ASKS];
    lk__probing probings[ASKS];
    bool has_leases;
    char denied[160]; /* why the leases may not be looked at; "" */
    lk_kind record_kind, hash_kind;
    lk__find_cb cb;
    void *data;
};

static struct finder *finder_of(lk__probe *probe)
{
    return (struct finder *)(void *)probe;
}

static void take_record(struct finder *finder, const redisReply *reply)
{
    lk__record_text record;

    if (reply->type != REDIS_REPLY_STRING ||
        !lk__packed_read(&lk__record_text_packed,
                         (lk__text){reply->str, reply->len}, &record))
        return;
    finder->record_kind = lk__kind_of_layout(record.layout);
}

/* A hash of the name that is no hash is answered with an error. The leases are
   a semaphore's alone: one who may not see them may still use the other kinds. */
static void take(lk__probing *probing, const redisReply *reply)
{
    struct finder *finder = finder_of(probing->probe);
    lk_status status = lk__reply_status(reply);
    lk__fields fields;

    if (status == LK_EDENIED && probing == &finder->probings[LEASES]) {
        snprintf(finder->denied, sizeof(finder->denied), "%s", reply->str);
    } else if (status != LK_OK && status != LK_ETYPE) {
        lk__probe_end(&finder->probe, status, lk__reply_words(reply));
    } else if (status == LK_OK && probing == &finder->probings[RECORD]) {
        take_record(finder, reply);
    } else if (status == LK_OK && probing == &finder->probings[FIELDS]) {
        lk__fields_read(&fields, lk__reply_at(reply, 1));
        finder->hash_kind = fields.kind;
    } else if (reply->type == REDIS_REPLY_INTEGER) {
        finder->has_leases = reply->integer > 0;
    }
}

static void begin(lk__probe *probe)
{
    struct finder *finder = finder_of(probe);
    lk__arg record[2] = {lk__arg_text("GET"),
                         lk__arg_text(finder->keys[RECORD])};
    lk__arg fields[5] = {lk__arg_text("HSCAN"),
                         lk__arg_text(finder->keys[FIELDS]), lk__arg_text("0"),
                         lk__arg_text("COUNT"), lk__arg_text("16")};
    lk__arg leases[2] = {lk__arg_text("ZCARD"),
                         lk__arg_text(finder->keys[LEASES])};

    for (size_t i = 0; i < ASKS; i++)
        finder->probings[i].take = take;
    lk__probe_send(probe, &finder->probings[RECORD], 2, record);
    lk__probe_send(probe, &finder->probings[FIELDS], 5, fields);
    lk__probe_send(probe, &finder->probings[LEASES], 2, leases);
}

static void cleanup(lk__probe *probe)
{
    for (size_t i = 0; i < ASKS; i++)
        lk__free(finder_of(probe)->keys[i]);
}

/* As for a list of names: the hash is the truth, else the record. */
static lk_status finder_result(const struct finder *finder, lk_kind *ret_kind)
{
    char words[240];

    if (finder->hash_kind != LK_KIND_NONE)
        *ret_kind = finder->hash_kind;
    else if (finder->record_kind != LK_KIND_NONE)
        *ret_kind = finder->record_kind;
    else
        *ret_kind = finder->has_leases ? LK_KIND_SEMAPHORE : LK_KIND_NONE;
    if (*ret_kind == LK_KIND_NONE && finder->denied[0] != '\0') {
        lk__node_words(finder->probe.call.client->node, LK_EDENIED,
                       finder->denied, words, sizeof(words));
        return lk__fail(LK_EDENIED, "%s", words);
    }
    if (*ret_kind == LK_KIND_NONE)
        return lk__fail(LK_ENOTHELD, "nothing is known under this name");
    return LK_OK;
}

static lk_status finder_new(struct finder **ret_finder, const char *name)
{
    static const char *const forms[ASKS] = {[RECORD] = LK__RECORD_FORM,
                                            [FIELDS] = "N",
                                            [LEASES] = LK__TIMEOUT_FORM};
    lk_status status = lk__name_check(name);
    struct finder *finder;

    if (status != LK_OK)
        return status;
    finder = lk__alloc(sizeof(*finder));
    if (finder == NULL)
        return LK_ENOMEM;
    finder->probe.begin = begin;
    finder->probe.cleanup = cleanup;
    for (size_t i = 0; i < ASKS; i++) {
        finder->keys[i] = lk__key_make(forms[i], name);
        if (finder->keys[i] == NULL)
            status = LK_ENOMEM;
    }
    if (status == LK_OK)
        *ret_finder = finder;
    else
        lk__probe_release(&finder->probe);
    return status;
}

static int64_t patience(const lk_client *client)
{
    return (int64_t)client->settings.command_timeout_ms;
}

lk_status lk__find(lk_client *client, const char *name, lk_kind *ret_kind,
                   uint64_t *ret_until)
{
    struct finder *finder;
    lk_status status = lk__client_check(client);

    if (status == LK_OK)
        status = finder_new(&finder, name);
    if (status != LK_OK)
        return status;
    status = lk__probe_run(&finder->probe, client, patience(client));
    if (status == LK_OK)
        status = finder_result(finder, ret_kind);
    *ret_until = finder->probe.until;
    lk__probe_release(&finder->probe);
    return status;
}

static void deliver(lk__probe *probe)
{
    struct finder *finder = finder_of(probe);
    lk_status status = probe->call.status;
    lk_kind kind = LK_KIND_NONE;

    if (status == LK_OK)
        status = finder_result(finder, &kind);
    finder->cb(status, kind, probe->until, finder->data);
}

lk_status
lk__find_async(lk_client *client, const char *name, lk__find_cb cb, void *data)
{
    struct finder *finder;
    lk_status status = lk__client_check(client);

    if (status == LK_OK)
        status = finder_new(&finder, name);
    if (status != LK_OK)
        return status;
    finder->probe.deliver = deliver;
    finder->cb = cb;
    finder->data = data;
    return lk__probe_run_async(&finder->probe, client, patience(client));
}
