/* SPDX-License-Identifier: MIT */

/*
 * Reading names: a few short commands for each, a few names at a time. With so
 * few under way the server serves others in between.
 */

#include "inspect/lister.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/names.h"
#include "inspect/kinds.h"
#include "lock_table.h"
#include "rwlock_table.h"
#include "server/reply.h"

enum { FLUSH_EVERY = 16 }; /* names whose questions go out together */

/* ---- reading a name ------------------------------------------------------------ */

static void slot_step(struct lk__slot *slot);

static void slot_take(lk__probing *probing, const redisReply *reply)
{
    struct lk__slot_ask *ask = (struct lk__slot_ask *)(void *)probing;
    struct lk__slot *slot = ask->slot;

    if (reply->type != REDIS_REPLY_ERROR)
        ask->take(slot, reply);
    if (--slot->pending == 0)
        slot_step(slot);
}

/* Asks a command about a key of the name; up to two words follow the key. */
static void
slot_ask(struct lk__slot *slot, const char *command, const char *form,
         size_t count, const char *const *words,
         void (*take)(struct lk__slot *slot, const redisReply *reply))
{
    struct lk__slot_ask *ask = &slot->asks[slot->pending++];
    bool is_side = form[0] == ':' && form[2] == '\0';
    char *key = is_side ? lk__key_make(form, slot->name->name)
                        : lk__name_form(form, slot->name->name);
    lk__arg args[8] = {lk__arg_text(command)};

    if (key == NULL) {
        slot->pending--;
        lk__probe_end(&slot->lister->probe, LK_ENOMEM, NULL);
        return;
    }
    args[1] = lk__arg_text(key);
    for (size_t i = 0; i < count; i++)
        args[i + 2] = lk__arg_text(words[i]);
    ask->slot = slot;
    ask->take = take;
    ask->probing.take = slot_take;
    lk__probe_send(&slot->lister->probe, &ask->probing, count + 2, args);
    lk__free(key);
}

static void take_waiters(struct lk__slot *slot, const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_INTEGER && reply->integer > 0)
        slot->name->entry.waiter_count += (uint64_t)reply->integer;
}

static void take_lease(struct lk__slot *slot, const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_INTEGER && reply->integer != -2)
        slot->name->party.lease_ms = reply->integer;
}

static void take_value(struct lk__slot *slot, const redisReply *reply)
{
    if (reply->type != REDIS_REPLY_STRING)
        return;
    slot->name->entry.has_value = true;
    slot->name->entry.value = strtoll(reply->str, NULL, 10);
}

static void take_permits(struct lk__slot *slot, const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_INTEGER)
        slot->name->entry.holder_count = (uint64_t)reply->integer;
}

/* Of all fields but the mode. */
static void take_length(struct lk__slot *slot, const redisReply *reply)
{
    bool has_mode = slot->hash_kind == LK_KIND_RWLOCK;

    if (reply->type == REDIS_REPLY_INTEGER && reply->integer > has_mode)
        slot->name->entry.holder_count = (uint64_t)(reply->integer - has_mode);
}

static void take_fields(struct lk__slot *slot, const redisReply *reply)
{
    lk__lister_name *name = slot->name;
    lk__fields fields;

    lk__fields_read(&fields, lk__reply_at(reply, 1));
    slot->hash_kind = fields.kind;
    slot->many = strcmp(lk__reply_text_at(reply, 0), "0") != 0;
    if (fields.owner == NULL)
        return;
    name->entry.holder_count = fields.count;
    name->party.mode = fields.mode;
    name->party.count = fields.entries;
    lk__free(name->owner);
    name->owner = lk__strndup(fields.owner, fields.owner_size);
    if (name->owner == NULL)
        lk__probe_end(&slot->lister->probe, LK_ENOMEM, NULL);
}

/* It is the holder that the record is about. */
static void take_holder(struct lk__slot *slot, const redisReply *reply)
{
    lk__lister_name *name = slot->name;

    if (reply->type != REDIS_REPLY_STRING)
        return;
    slot->hash_kind = LK_KIND_LOCK;
    name->entry.holder_count = 1;
    name->party.count = strtoull(reply->str, NULL, 10);
    name->owner = lk__strdup(slot->claim);
    if (name->owner == NULL)
        lk__probe_end(&slot->lister->probe, LK_ENOMEM, NULL);
}

/* From a time of the server's clock to when the list was begun. */
static uint64_t span_since(const struct lk__lister *lister, uint64_t since)
{
    uint64_t now = lister->server_ms;

    return since != 0 && now > since ? now - since : 0;
}

static bool is_revoked(lk__text flag)
{
    return flag.size == 1 && flag.bytes[0] == 'v';
}

/* Kept until the holder is known: the hash is the truth. */
static void take_record(struct lk__slot *slot, const redisReply *reply)
{
    lk__lister_name *name = slot->name;
    lk__record_text record;

    if (reply->type != REDIS_REPLY_STRING ||
        !lk__packed_read(&lk__record_text_packed,
                         (lk__text){reply->str, reply->len}, &record))
        return;
    slot->record_kind = lk__kind_of_layout(record.layout);
    name->entry.ours = slot->record_kind != LK_KIND_NONE;
    slot->claim = lk__strndup(record.claim.bytes, record.claim.size);
    name->reason = lk__strndup(record.reason.bytes, record.reason.size);
    name->party.revoked = is_revoked(record.flag);
    name->party.fence = (uint64_t)record.fence;
    name->party.since_ms = span_since(slot->lister, (uint64_t)record.since);
    if (slot->claim == NULL || name->reason == NULL)
        lk__probe_end(&slot->lister->probe, LK_ENOMEM, NULL);
}

static void take_reader(struct lk__slot *slot, const redisReply *reply)
{
    if (reply->type != REDIS_REPLY_STRING)
        return;
    slot->mark = lk__strdup(reply->str);
    if (slot->mark == NULL)
        lk__probe_end(&slot->lister->probe, LK_ENOMEM, NULL);
}

static void ask_record(struct lk__slot *slot)
{
    /* From the first band to the claims that are void. */
    static const char *const waiters[] = {"0", "(2533274790395904"};

    if (slot->name->has_record) {
        slot_ask(slot, "GET", ":r", 0, NULL, take_record);
        slot_ask(slot, "ZCOUNT", ":q", 2, waiters, take_waiters);
    }
}

/* Of a lock it is enough to ask whether the one on record still holds. */
static void ask_holder(struct lk__slot *slot)
{
    const char *claim = slot->claim;

    if (!slot->name->has_hash)
        return;
    slot_ask(slot, "PTTL", "", 0, NULL, take_lease);
    if (slot->record_kind == LK_KIND_LOCK && claim != NULL && claim[0] != '\0')
        slot_ask(slot, "HGET", "", 1, &claim, take_holder);
}

static void ask_fields(struct lk__slot *slot)
{
    static const char *const scan[] = {"0", "COUNT", "16"};

    if (slot->name->has_hash && slot->hash_kind == LK_KIND_NONE)
        slot_ask(slot, "HSCAN", "", 3, scan, take_fields);
}

/* A hash that is there is the truth; else the record; else the leases. */
static lk_kind kind_of(const struct lk__slot *slot)
{
    if (slot->hash_kind != LK_KIND_NONE)
        return slot->hash_kind;
    if (slot->record_kind != LK_KIND_NONE || slot->name->entry.ours)
        return slot->record_kind;
    return slot->name->has_timeout ? LK_KIND_SEMAPHORE : LK_KIND_NONE;
}

/* What the kind asks for. */
static void ask_rest(struct lk__slot *slot)
{
    lk__lister_name *name = slot->name;
    lk_kind kind = kind_of(slot);

    name->entry.kind = kind;
    if (kind == LK_KIND_RWLOCK && name->owner != NULL &&
        strcmp(name->party.mode, "read") == 0) {
        const char *reader = name->owner;

        slot_ask(slot, "HGET", ":h", 1, &reader, take_reader);
    }
    if (kind == LK_KIND_LOCK && name->has_hash && !name->entry.ours)
        slot_ask(slot, "LLEN", "redisson_lock_queue", 0, NULL, take_waiters);
    if (slot->many)
        slot_ask(slot, "HLEN", "", 0, NULL, take_length);
    if (kind == LK_KIND_SEMAPHORE)
        slot_ask(slot, "ZCARD", ":timeout", 0, NULL, take_permits);
    if (kind == LK_KIND_SEMAPHORE || kind == LK_KIND_PLAIN_SEMAPHORE ||
        kind == LK_KIND_LATCH)
        slot_ask(slot, "GET", "", 0, NULL, take_value);
}

/* ---- what became of a name --------------------------------------------------------- */

static void client_take(lk__probing *probing, const redisReply *reply)
{
    lk__lister_client *client = (lk__lister_client *)(void *)probing;

    if (reply->type != REDIS_REPLY_STRING)
        return;
    client->text = lk__strdup(reply->str);
    if (client->text != NULL)
        lk__record_parse(&client->record, client->text);
}

static void client_ask(struct lk__lister *lister, lk__lister_client *client)
{
    char key[LK__RECORD_KEY_SIZE];
    lk__arg args[2] = {lk__arg_text("GET")};

    lk__record_key(key, lister->probe.call.client, client->uuid);
    args[1] = lk__arg_text(key);
    client->probing.take = client_take;
    lk__probe_send(&lister->probe, &client->probing, 2, args);
}

/* The name's record is about the last writer: readers have one each. */
static void reader_settle(struct lk__slot *slot)
{
    lk__lister_name *name = slot->name;
    lk__reader_text reader;

    if (!lk__packed_read(&lk__reader_text_packed,
                         (lk__text){slot->mark, strlen(slot->mark)}, &reader))
        return;
    name->party.revoked = is_revoked(reader.flag);
    name->party.fence = (uint64_t)reader.fence;
    name->party.since_ms = span_since(slot->lister, (uint64_t)reader.since);
    name->party.mode = reader.mode.size == 1 && reader.mode.bytes[0] == 'u'
                           ? "upgradeable"
                           : "read";
    lk__free(name->reason);
    name->reason = lk__strndup(reader.reason.bytes, reader.reason.size);
    if (name->reason == NULL)
        lk__probe_end(&slot->lister->probe, LK_ENOMEM, NULL);
}

/* The record tells of the holder only if it is about the holder. */
static void holder_settle(struct lk__slot *slot)
{
    lk__lister_name *name = slot->name;
    bool is_new = false;

    if (slot->claim == NULL || strcmp(slot->claim, name->owner) != 0) {
        lk__free(name->reason);
        name->reason = NULL;
        name->party.fence = name->party.since_ms = 0;
        name->party.revoked = false;
    }
    if (slot->mark != NULL)
        reader_settle(slot);
    name->client = lk__names_client(slot->lister->names, name->owner, &is_new);
    if (name->client == NULL)
        lk__probe_end(&slot->lister->probe, LK_ENOMEM, NULL);
    else if (is_new)
        client_ask(slot->lister, name->client);
}

static void settle(struct lk__slot *slot)
{
    lk__lister_name *name = slot->name;
    const lk_entry *entry = &name->entry;

    if (name->owner != NULL)
        holder_settle(slot);
    name->is_used = entry->kind != LK_KIND_NONE &&
                    (entry->holder_count > 0 || entry->waiter_count > 0 ||
                     entry->has_value || slot->lister->options.idle != 0);
    lk__free(slot->claim);
    lk__free(slot->mark);
    slot->claim = slot->mark = NULL;
}

static bool slot_next(struct lk__slot *slot)
{
    struct lk__lister *lister = slot->lister;

    if (lister->next >= lister->names->count)
        return false;
    slot->name = lister->names->all[lister->next++];
    slot->round = 0;
    slot->many = false;
    slot->hash_kind = slot->record_kind = LK_KIND_NONE;
    slot->name->party.mode = "";
    ask_record(slot);
    if (lister->next % FLUSH_EVERY == 0)
        lk__probe_flush(&lister->probe);
    return true;
}

/* All questions of a round were answered. */
static void slot_step(struct lk__slot *slot)
{
    static void (*const rounds[])(
        struct lk__slot * slot) = {NULL, ask_holder, ask_fields, ask_rest};
    const int count = sizeof(rounds) / sizeof(rounds[0]);

    while (slot->pending == 0 && !slot->lister->probe.call.done) {
        if (slot->name != NULL && ++slot->round < count) {
            rounds[slot->round](slot);
            continue;
        }
        if (slot->name != NULL)
            settle(slot);
        slot->name = NULL;
        if (!slot_next(slot))
            return;
    }
}

void lk__lister_read(struct lk__lister *lister)
{
    for (size_t i = 0; i < LK__LISTER_SLOTS; i++) {
        lister->slots[i].lister = lister;
        slot_step(&lister->slots[i]);
    }
}
