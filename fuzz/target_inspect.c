/* SPDX-License-Identifier: MIT */

/*
 * Looks at a server full of keys of others: what keys, records and answers say
 * about names is made of the input.
 */

#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "claims/record.h"
#include "inspect/kinds.h"

/* ---- what talks to nobody ------------------------------------------------------ */

static void read_key(const char *text)
{
    const char *name = NULL;
    size_t size = 0, all = strlen(text);

    if (lk__trace_of(text, all, &name, &size) == LK__TRACE_NONE)
        return;
    if (name < text || name + size > text + all)
        input_fail("a name that is no part of its key");
}

static void read_record(input *in)
{
    char *text = input_text(in);
    lk__record record;

    (void)lk__kind_of_layout((lk__text){text, strlen(text)});
    lk__record_parse(&record, text);
    if (strlen(record.host) + strlen(record.pid) + strlen(record.command) +
            strlen(record.user) + strlen(record.name) >
        255)
        input_fail("a record says more than it has");
    (void)lk__record_waits_for(&record, (uint64_t)input_number(in));
    free(text);
}

static void match(input *in)
{
    char *pattern = input_text(in);
    char *text = input_text(in);

    /* Stars that follow each other take time without end. */
    if (strlen(pattern) < 24)
        (void)lk__glob(pattern, text);
    read_key(text);
    free(text);
    free(pattern);
}

/* ---- what asks ----------------------------------------------------------------- */

static void on_list(lk_status status, lk_listing *listing, void *data)
{
    calls_on_done(status, data);
    if (status != LK_OK)
        return;
    for (size_t i = 0; i < listing->count; i++) {
        const lk_entry *entry = listing->entries[i];

        if (entry->name[0] == '\0' || lk_kind_text(entry->kind)[0] == '\0')
            input_fail("an entry without a name or a kind");
    }
    lk_listing_free(listing);
}

static void on_who(lk_status status, lk_kind kind, lk_info *info, void *data)
{
    if (status == LK_OK && kind == LK_KIND_NONE)
        input_fail("a name of no kind");
    calls_on_info(status, info, data);
}

static void on_health(lk_status status, lk_health *health, void *data)
{
    calls_on_done(status, data);
    if (status == LK_OK)
        lk_health_free(health);
}

static lk_status ask(calls *c, unsigned what, unsigned bits)
{
    lk_client *client = c->h->client;
    const lk_list_options options = {LK_LIST_OPTIONS_INIT,
                                     .pattern = (bits & 1) != 0 ? "n*" : NULL,
                                     .idle = (bits & 2) != 0,
                                     .ours = (bits & 4) != 0,
                                     .limit = (bits & 8) != 0 ? 3 : 0};

    switch (what) {
    case 0:
        return lk_who_async(client, "n", on_who, c);
    case 1:
        return lk_revoke_async(client, "n", "x:1", calls_on_revoke, c);
    case 2:
        return lk_break_async(client, "n", "x:1", calls_on_done, c);
    case 3:
        return lk_forget_async(client, "n", calls_on_done, c);
    case 4:
        return lk_health_check_async(client, 3000, on_health, c);
    default:
        return lk_list_async(client, 3000, &options, on_list, c);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    input in = {.at = bytes, .left = size};
    unsigned what = input_below(&in, 9);
    unsigned bits = input_byte(&in);
    host h;
    calls c;

    if (what == 8)
        match(&in);
    if (what == 7)
        read_record(&in);
    if (what >= 7)
        return 0;
    host_open(&h, (input){NULL, 0}, NULL);
    host_run_ms(&h, 20);
    h.in = in;
    h.is_rude = true;
    calls_begin(&c, &h);
    calls_began(&c, ask(&c, what, bits));
    host_run_ms(&h, 4000);
    calls_end(&c);
    host_close(&h);
    return 0;
}
