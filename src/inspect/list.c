/* SPDX-License-Identifier: MIT */

/*
 * Which names are in use. First the key space is read with SCAN, in two passes
 * at once: the hashes, which are locks of whatever library and the records of
 * all kinds of ours, and the leases of semaphores. Then each name that was
 * found is read, a few names at a time: with so few commands under way the
 * server serves others in between.
 */

#include <latchkey/inspect.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/handle.h"
#include "core/mem.h"
#include "core/names.h"
#include "core/reply.h"
#include "inspect/kinds.h"
#include "inspect/listing.h"

enum {
    SCAN_COUNT = 300, /* keys that the server looks at in one step */
    SLOTS = 32,       /* names that are read at once */
    SLOT_ASKS = 4,    /* commands of one name under way */
    FLUSH_EVERY = 8,  /* names whose questions go out together */
    LIMIT = 1000000
};

struct lister;

/* One name that is being read. */
struct slot {
    struct lister *lister;
    lk__lister_name *name;
    unsigned pending;
    bool again;  /* its second round of questions is under way */
    bool many;   /* its hash has more fields than were looked at */
    char *claim; /* whom the record is about */
    lk_kind hash_kind, record_kind;
    struct slot_ask {
        lk__probing probing; /* first */
        struct slot *slot;
        void (*take)(struct slot *slot, const redisReply *reply);
    } asks[SLOT_ASKS];
};

struct scan {
    lk__probing probing; /* first */
    const char *type;
    char *match;
    char cursor[24];
};

struct lister {
    lk__probe probe; /* first */
    lk_list_options options;
    char *pattern; /* of names; NULL: all */
    lk__names *names;
    struct scan scans[2];
    unsigned scans_left;
    lk__probing time;
    uint64_t server_ms;
    size_t next; /* name to be read */
    struct slot slots[SLOTS];
    lk_list_cb cb;
    void *data;
};

static struct lister *lister_of(lk__probe *probe)
{
    return (struct lister *)(void *)probe;
}

/* ---- reading a name ------------------------------------------------------------ */

static void slot_step(struct slot *slot);

static void slot_take(lk__probing *probing, const redisReply *reply)
{
    struct slot_ask *ask = (struct slot_ask *)(void *)probing;
    struct slot *slot = ask->slot;

    if (reply->type != REDIS_REPLY_ERROR)
        ask->take(slot, reply);
    if (--slot->pending == 0)
        slot_step(slot);
}

/* Asks a command about a key of the name; up to two words follow the key. */
static void slot_ask(struct slot *slot, const char *command, const char *form,
                     size_t count, const char *const *words,
                     void (*take)(struct slot *slot, const redisReply *reply))
{
    struct slot_ask *ask = &slot->asks[slot->pending++];
    char *key = lk__name_form(form, slot->name->name);
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

static void take_waiters(struct slot *slot, const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_INTEGER && reply->integer > 0)
        slot->name->entry.waiter_count += (uint64_t)reply->integer;
}

static void take_lease(struct slot *slot, const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_INTEGER && reply->integer != -2)
        slot->name->party.lease_ms = reply->integer;
}

static void take_value(struct slot *slot, const redisReply *reply)
{
    if (reply->type != REDIS_REPLY_STRING)
        return;
    slot->name->entry.has_value = true;
    slot->name->entry.value = strtoll(reply->str, NULL, 10);
}

static void take_permits(struct slot *slot, const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_INTEGER)
        slot->name->entry.holder_count = (uint64_t)reply->integer;
}

/* Of all fields but the mode. */
static void take_length(struct slot *slot, const redisReply *reply)
{
    bool has_mode = slot->hash_kind == LK_KIND_RWLOCK;

    if (reply->type == REDIS_REPLY_INTEGER && reply->integer > has_mode)
        slot->name->entry.holder_count = (uint64_t)(reply->integer - has_mode);
}

static void take_fields(struct slot *slot, const redisReply *reply)
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

/* Kept until the holder is known: the hash is the truth. */
static void take_record(struct slot *slot, const redisReply *reply)
{
    lk__lister_name *name = slot->name;
    uint64_t since = (uint64_t)strtoull(lk__reply_text_at(reply, 4), NULL, 10);
    uint64_t now = slot->lister->server_ms;

    if (lk__reply_text_at(reply, 0)[0] == '\0')
        return; /* it is gone */
    name->entry.ours = true;
    slot->record_kind = lk__kind_of_record(lk__reply_text_at(reply, 1));
    slot->claim = lk__strdup(lk__reply_text_at(reply, 2));
    name->reason = lk__strdup(lk__reply_text_at(reply, 5));
    name->party.fence = strtoull(lk__reply_text_at(reply, 3), NULL, 10);
    name->party.since_ms = since != 0 && now > since ? now - since : 0;
    if (slot->claim == NULL || name->reason == NULL)
        lk__probe_end(&slot->lister->probe, LK_ENOMEM, NULL);
}

/* What the keys that were seen ask for. */
static void ask_first(struct slot *slot)
{
    static const char *const record[] = {"v",     "kind",  "claim",
                                         "fence", "since", "reason"};
    static const char *const scan[] = {"0", "COUNT", "16"};
    const lk__lister_name *name = slot->name;

    if (name->has_state)
        slot_ask(slot, "HMGET", "latchkey:state", 6, record, take_record);
    if (name->has_hash)
        slot_ask(slot, "HSCAN", "", 3, scan, take_fields);
    if (name->has_hash)
        slot_ask(slot, "PTTL", "", 0, NULL, take_lease);
    if (name->has_tickets)
        slot_ask(slot, "ZCARD", "latchkey:queue", 0, NULL, take_waiters);
}

/* What the kind asks for. */
static void ask_second(struct slot *slot)
{
    const lk__lister_name *name = slot->name;
    lk_kind kind = name->entry.kind;

    if (kind == LK_KIND_RWLOCK && name->has_tickets) {
        slot_ask(slot, "ZCARD", "latchkey:readers", 0, NULL, take_waiters);
        slot_ask(slot, "ZCARD", "latchkey:upgraders", 0, NULL, take_waiters);
        slot_ask(slot, "ZCARD", "latchkey:upgrades", 0, NULL, take_waiters);
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
    if (kind == LK_KIND_LATCH && name->has_tickets)
        slot_ask(slot, "ZCARD", "latchkey:waiting", 0, NULL, take_waiters);
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

static void client_ask(struct lister *lister, lk__lister_client *client)
{
    char key[64];
    lk__arg args[2] = {lk__arg_text("GET")};

    lk__record_key(key, sizeof(key), client->uuid);
    args[1] = lk__arg_text(key);
    client->probing.take = client_take;
    lk__probe_send(&lister->probe, &client->probing, 2, args);
}

/* The record tells of the holder only if it is about the holder. */
static void holder_settle(struct slot *slot)
{
    lk__lister_name *name = slot->name;
    bool is_new = false;

    if (slot->claim == NULL || strcmp(slot->claim, name->owner) != 0) {
        lk__free(name->reason);
        name->reason = NULL;
        name->party.fence = name->party.since_ms = 0;
    }
    name->client = lk__names_client(slot->lister->names, name->owner, &is_new);
    if (name->client == NULL)
        lk__probe_end(&slot->lister->probe, LK_ENOMEM, NULL);
    else if (is_new)
        client_ask(slot->lister, name->client);
}

static void settle(struct slot *slot)
{
    lk__lister_name *name = slot->name;
    const lk_entry *entry = &name->entry;

    if (name->owner != NULL)
        holder_settle(slot);
    name->is_used = entry->kind != LK_KIND_NONE &&
                    (entry->holder_count > 0 || entry->waiter_count > 0 ||
                     entry->has_value || slot->lister->options.idle != 0);
    lk__free(slot->claim);
    slot->claim = NULL;
}

/* A hash that is there is the truth; else the record; else the leases. */
static lk_kind kind_of(const struct slot *slot)
{
    if (slot->hash_kind != LK_KIND_NONE)
        return slot->hash_kind;
    if (slot->record_kind != LK_KIND_NONE || slot->name->entry.ours)
        return slot->record_kind;
    return slot->name->has_timeout ? LK_KIND_SEMAPHORE : LK_KIND_NONE;
}

static bool slot_next(struct slot *slot)
{
    struct lister *lister = slot->lister;

    if (lister->next >= lister->names->count)
        return false;
    slot->name = lister->names->all[lister->next++];
    slot->again = slot->many = false;
    slot->hash_kind = slot->record_kind = LK_KIND_NONE;
    slot->name->party.mode = "";
    ask_first(slot);
    if (lister->next % FLUSH_EVERY == 0)
        lk__probe_flush(&lister->probe);
    return true;
}

/* All of its questions were answered. */
static void slot_step(struct slot *slot)
{
    while (slot->pending == 0 && !slot->lister->probe.call.done) {
        if (slot->name != NULL && !slot->again) {
            slot->again = true;
            slot->name->entry.kind = kind_of(slot);
            ask_second(slot);
            continue;
        }
        if (slot->name != NULL)
            settle(slot);
        slot->name = NULL;
        if (!slot_next(slot))
            return;
    }
}

/* ---- reading the key space ---------------------------------------------------------- */

static void scan_send(struct lister *lister, struct scan *scan)
{
    lk__arg args[8] = {lk__arg_text("SCAN"),  lk__arg_text(scan->cursor),
                       lk__arg_text("MATCH"), lk__arg_text(scan->match),
                       lk__arg_text("COUNT"), lk__arg_number(SCAN_COUNT),
                       lk__arg_text("TYPE"),  lk__arg_text(scan->type)};

    lk__probe_send(&lister->probe, &scan->probing, 8, args);
}

static void key_add(struct lister *lister, const redisReply *key, bool is_hash)
{
    const char *text = key->str;
    size_t size = (size_t)key->len;
    lk__trace trace = lk__trace_of(key->str, (size_t)key->len, &text, &size);
    lk__lister_name *name;
    bool is_full;

    if (is_hash && trace == LK__TRACE_TIMEOUT) { /* a lock called so */
        trace = LK__TRACE_NAME;
        text = key->str;
        size = (size_t)key->len;
    }
    if (trace == LK__TRACE_NONE || is_hash == (trace == LK__TRACE_TIMEOUT))
        return;
    if (trace == LK__TRACE_NAME && lister->options.ours != 0)
        return;
    name = lk__names_get(lister->names, text, size, lister->options.limit,
                         &is_full);
    if (is_full)
        lister->names->listing.truncated = true;
    else if (name == NULL)
        lk__probe_end(&lister->probe, LK_ENOMEM, NULL);
    if (name == NULL)
        return;
    name->has_state |= trace == LK__TRACE_STATE;
    name->has_tickets |= trace == LK__TRACE_TICKETS;
    name->has_timeout |= trace == LK__TRACE_TIMEOUT;
    name->has_hash |= trace == LK__TRACE_NAME;
}

/* The pattern that keys were found by says less than that of names. */
static void names_sift(struct lister *lister)
{
    lk__names *names = lister->names;
    size_t kept = 0;

    for (size_t i = 0; i < names->count; i++) {
        lk__lister_name *name = names->all[i];

        if (lister->pattern == NULL || lk__glob(lister->pattern, name->name)) {
            names->all[kept++] = name;
        } else {
            lk__table_remove(&names->by_name, &name->link);
            lk__free(name);
        }
    }
    names->count = kept;
}

static void scan_take(lk__probing *probing, const redisReply *reply)
{
    struct scan *scan = (struct scan *)(void *)probing;
    struct lister *lister = lister_of(probing->probe);
    const redisReply *keys = lk__reply_at(reply, 1);
    lk_status status = lk__reply_status(reply);

    if (status != LK_OK || keys == NULL || keys->type != REDIS_REPLY_ARRAY) {
        lk__probe_end(&lister->probe, status != LK_OK ? status : LK_EPROTO,
                      status != LK_OK ? reply->str : NULL);
        return;
    }
    for (size_t i = 0; i < keys->elements; i++) {
        if (keys->element[i]->type == REDIS_REPLY_STRING)
            key_add(lister, keys->element[i], scan == &lister->scans[0]);
    }
    snprintf(scan->cursor, sizeof(scan->cursor), "%s",
             lk__reply_text_at(reply, 0));
    if (strcmp(scan->cursor, "0") != 0 && !lister->names->listing.truncated) {
        scan_send(lister, scan);
    } else if (--lister->scans_left == 0) {
        names_sift(lister);
        for (size_t i = 0; i < SLOTS; i++)
            slot_step(&lister->slots[i]);
    }
}

static void time_take(lk__probing *probing, const redisReply *reply)
{
    struct lister *lister = lister_of(probing->probe);

    lister->server_ms = strtoull(lk__reply_text_at(reply, 0), NULL, 10) * 1000 +
                        strtoull(lk__reply_text_at(reply, 1), NULL, 10) / 1000;
}

static void begin(lk__probe *probe)
{
    struct lister *lister = lister_of(probe);
    lk__arg args[1] = {lk__arg_text("TIME")};

    lister->time.take = time_take;
    lk__probe_send(probe, &lister->time, 1, args);
    for (size_t i = 0; i < 2; i++)
        scan_send(lister, &lister->scans[i]);
}

/* ---- the call ------------------------------------------------------------------ */

static void cleanup(lk__probe *probe)
{
    struct lister *lister = lister_of(probe);

    for (size_t i = 0; i < SLOTS; i++)
        lk__free(lister->slots[i].claim);
    lk__names_free(lister->names);
    lk__free(lister->pattern);
    lk__free(lister->scans[0].match);
    lk__free(lister->scans[1].match);
}

/* Matches every key that tells of a name of the pattern, and some more. */
static char *
match_of(const char *pattern, const char *before, const char *after)
{
    size_t size = strlen(before) + strlen(pattern) + strlen(after) + 3;
    char *match = lk__alloc(size);

    if (match != NULL)
        snprintf(match, size, "%s*%s*%s", before, pattern, after);
    return match;
}

static lk_status lister_fill(struct lister *lister)
{
    const char *pattern = lister->options.pattern;

    lister->names = lk__names_new();
    if (pattern != NULL)
        lister->pattern = lk__strdup(pattern);
    lister->options.pattern = NULL; /* the caller's */
    lister->scans[0].match =
        match_of(pattern != NULL ? pattern : "",
                 lister->options.ours ? "latchkey:" : "", "");
    lister->scans[1].match =
        match_of(pattern != NULL ? pattern : "", "", ":timeout");
    lister->scans[0].type = "hash";
    lister->scans[1].type = "zset";
    lister->scans_left = 2;
    for (size_t i = 0; i < 2; i++) {
        lister->scans[i].probing.take = scan_take;
        snprintf(lister->scans[i].cursor, sizeof(lister->scans[i].cursor), "0");
    }
    for (size_t i = 0; i < SLOTS; i++)
        lister->slots[i].lister = lister;
    return lister->names != NULL && lister->scans[0].match != NULL &&
                   lister->scans[1].match != NULL &&
                   (pattern == NULL || lister->pattern != NULL)
               ? LK_OK
               : LK_ENOMEM;
}

static lk_status lister_new(struct lister **ret_lister, int64_t wait_ms,
                            const lk_list_options *options)
{
    lk_list_options copy;
    lk_status status = lk__handle_options(&copy, sizeof(copy), options);
    struct lister *lister;

    if (status == LK_OK && wait_ms == 0)
        status = lk__fail(LK_EINVAL, "a list takes time: wait_ms is 0");
    if (status != LK_OK)
        return status;
    if (copy.limit == 0)
        copy.limit = LIMIT;
    lister = lk__alloc(sizeof(*lister));
    if (lister == NULL)
        return LK_ENOMEM;
    lister->options = copy;
    lister->probe.begin = begin;
    lister->probe.cleanup = cleanup;
    status = lister_fill(lister);
    if (status != LK_OK)
        lk__probe_release(&lister->probe);
    else
        *ret_lister = lister;
    return status;
}

static lk_status lister_result(struct lister *lister, lk_listing **ret_listing)
{
    lk_status status = lk__names_finish(lister->names);

    if (status == LK_OK) {
        *ret_listing = &lister->names->listing;
        lister->names = NULL;
    }
    return status;
}

lk_status lk_list(lk_client *client, int64_t wait_ms,
                  const lk_list_options *options, lk_listing **ret_listing)
{
    struct lister *lister;
    lk_status status;

    if (ret_listing == NULL)
        return lk__fail(LK_EINVAL, "ret_listing is NULL");
    status = lister_new(&lister, wait_ms, options);
    if (status != LK_OK)
        return status;
    status = lk__probe_run(&lister->probe, client, wait_ms);
    if (status == LK_OK)
        status = lister_result(lister, ret_listing);
    lk__probe_release(&lister->probe);
    return status;
}

static void deliver(lk__probe *probe)
{
    struct lister *lister = lister_of(probe);
    lk_listing *listing = NULL;
    lk_status status = probe->call.status;

    if (status == LK_OK)
        status = lister_result(lister, &listing);
    lister->cb(status, listing, lister->data);
}

lk_status lk_list_async(lk_client *client, int64_t wait_ms,
                        const lk_list_options *options, lk_list_cb cb,
                        void *data)
{
    struct lister *lister;
    lk_status status;

    if (cb == NULL)
        return lk__fail(LK_EINVAL, "the callback is NULL");
    status = lister_new(&lister, wait_ms, options);
    if (status != LK_OK)
        return status;
    lister->probe.deliver = deliver;
    lister->cb = cb;
    lister->data = data;
    return lk__probe_run_async(&lister->probe, client, wait_ms);
}
