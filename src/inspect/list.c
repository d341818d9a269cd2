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

#include "base/error.h"
#include "base/mem.h"
#include "base/names.h"
#include "handle/handle.h"
#include "inspect/kinds.h"
#include "inspect/lister.h"
#include "server/reply.h"

enum {
    SCAN_COUNT = 300, /* keys that the server looks at in one step */
    LIMIT = 1000000
};

/* What each of the lister's scans looks for; the leases of Redisson's semaphores
   only where others' names are wanted, too. */
enum scan_type { SCAN_HASHES, SCAN_RECORDS, SCAN_LEASES };

static struct lk__lister *lister_of(lk__probe *probe)
{
    return (struct lk__lister *)(void *)probe;
}

/* ---- reading the key space ---------------------------------------------------------- */

static void scan_send(struct lk__lister *lister, struct lk__scan *scan)
{
    lk__arg args[8] = {lk__arg_text("SCAN"),  lk__arg_text(scan->cursor),
                       lk__arg_text("MATCH"), lk__arg_text(scan->match),
                       lk__arg_text("COUNT"), lk__arg_number(SCAN_COUNT),
                       lk__arg_text("TYPE"),  lk__arg_text(scan->type)};

    lk__probe_send(&lister->probe, &scan->probing, 8, args);
}

/* A key of one type is no trace that keys of another type leave. */
static bool is_trace_of(enum scan_type type, lk__trace trace)
{
    switch (type) {
    case SCAN_RECORDS:
        return trace == LK__TRACE_RECORD;
    case SCAN_LEASES:
        return trace == LK__TRACE_TIMEOUT;
    case SCAN_HASHES:
    default:
        return trace != LK__TRACE_TIMEOUT && trace != LK__TRACE_RECORD &&
               trace != LK__TRACE_NONE;
    }
}

static void
key_add(struct lk__lister *lister, const redisReply *key, enum scan_type type)
{
    const char *text = key->str;
    size_t size = (size_t)key->len;
    lk__trace trace = lk__trace_of(key->str, (size_t)key->len, &text, &size);
    lk__lister_name *name;
    bool is_full;

    if (type == SCAN_HASHES &&
        trace == LK__TRACE_TIMEOUT) { /* a lock called so */
        trace = LK__TRACE_NAME;
        text = key->str;
        size = (size_t)key->len;
    }
    if (!is_trace_of(type, trace))
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
    name->has_record |= trace == LK__TRACE_RECORD;
    name->has_timeout |= trace == LK__TRACE_TIMEOUT;
    name->has_hash |= trace == LK__TRACE_NAME || lister->options.ours != 0;
}

/* The pattern that keys were found by says less than that of names. */
static void names_sift(struct lk__lister *lister)
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
    struct lk__scan *scan = (struct lk__scan *)(void *)probing;
    struct lk__lister *lister = lister_of(probing->probe);
    const redisReply *keys = lk__reply_at(reply, 1);
    lk_status status = lk__reply_status(reply);

    if (status != LK_OK || keys == NULL || keys->type != REDIS_REPLY_ARRAY) {
        lk__probe_end(&lister->probe, status != LK_OK ? status : LK_EPROTO,
                      lk__reply_words(reply));
        return;
    }
    for (size_t i = 0; i < keys->elements; i++) {
        if (keys->element[i]->type == REDIS_REPLY_STRING)
            key_add(lister, keys->element[i],
                    (enum scan_type)(scan - lister->scans));
    }
    snprintf(scan->cursor, sizeof(scan->cursor), "%s",
             lk__reply_text_at(reply, 0));
    if (strcmp(scan->cursor, "0") != 0 && !lister->names->listing.truncated) {
        scan_send(lister, scan);
    } else if (--lister->scans_left == 0) {
        names_sift(lister);
        lk__lister_read(lister);
    }
}

static void time_take(lk__probing *probing, const redisReply *reply)
{
    struct lk__lister *lister = lister_of(probing->probe);

    lister->server_ms = strtoull(lk__reply_text_at(reply, 0), NULL, 10) * 1000 +
                        strtoull(lk__reply_text_at(reply, 1), NULL, 10) / 1000;
}

static void begin(lk__probe *probe)
{
    struct lk__lister *lister = lister_of(probe);
    lk__arg args[1] = {lk__arg_text("TIME")};

    lister->time.take = time_take;
    lk__probe_send(probe, &lister->time, 1, args);
    for (size_t i = 0; i < lister->scans_left; i++)
        scan_send(lister, &lister->scans[i]);
}

/* ---- the call ------------------------------------------------------------------ */

static void cleanup(lk__probe *probe)
{
    struct lk__lister *lister = lister_of(probe);

    for (size_t i = 0; i < LK__LISTER_SLOTS; i++) {
        lk__free(lister->slots[i].claim);
        lk__free(lister->slots[i].mark);
    }
    lk__names_free(lister->names);
    lk__free(lister->pattern);
    for (size_t i = 0; i < LK__LISTER_SCANS; i++)
        lk__free(lister->scans[i].match);
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

/* False: no memory. */
static bool scans_fill(struct lk__lister *lister, const char *pattern)
{
    const struct {
        const char *type, *before, *after;
    } forms[LK__LISTER_SCANS] =
        {[SCAN_HASHES] = {"hash", lister->options.ours ? "latchkey:" : "", ""},
         [SCAN_RECORDS] = {"string", "latchkey:", ":r"},
         [SCAN_LEASES] = {"zset", "", ":timeout"}};
    bool is_complete = true;

    for (size_t i = 0; i < LK__LISTER_SCANS; i++) {
        struct lk__scan *scan = &lister->scans[i];

        scan->match = match_of(pattern != NULL ? pattern : "", forms[i].before,
                               forms[i].after);
        scan->type = forms[i].type;
        scan->probing.take = scan_take;
        snprintf(scan->cursor, sizeof(scan->cursor), "0");
        is_complete = is_complete && scan->match != NULL;
    }
    return is_complete;
}

static lk_status lister_fill(struct lk__lister *lister)
{
    const char *pattern = lister->options.pattern;

    lister->names = lk__names_new();
    if (pattern != NULL)
        lister->pattern = lk__strdup(pattern);
    lister->options.pattern = NULL; /* the caller's */
    lister->scans_left =
        lister->options.ours != 0 ? SCAN_LEASES : LK__LISTER_SCANS;
    return lister->names != NULL && scans_fill(lister, pattern) &&
                   (pattern == NULL || lister->pattern != NULL)
               ? LK_OK
               : LK_ENOMEM;
}

static lk_status lister_new(struct lk__lister **ret_lister, int64_t wait_ms,
                            const lk_list_options *options)
{
    lk_list_options copy;
    lk_status status = lk__options_copy(&copy, sizeof(copy), options);
    struct lk__lister *lister;

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

static lk_status
lister_result(struct lk__lister *lister, lk_listing **ret_listing)
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
    struct lk__lister *lister;
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
    struct lk__lister *lister = lister_of(probe);
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
    struct lk__lister *lister;
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
