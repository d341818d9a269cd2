/* SPDX-License-Identifier: MIT */
#include "support/twisted.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/script.h"
#include "engine/client.h"
#include "handle/open.h"

enum {
    READY_MS = 1000,
    SHUTDOWN_MS = 1000,
    SETTLED_MS = 5000,
    ALL_ENDED_MS = 200000, /* every lease, of the void as well */
    COMMANDS_MOST = 3000   /* more: it never comes to its end */
};

static const uint64_t epoch_us = UINT64_C(1700000000000000);

void twisted_wrong(twisted *t, const char *what, lk_status status)
{
    if (t->wrong[0] == '\0')
        (void)snprintf(t->wrong, sizeof(t->wrong), "%s: %s: %.150s", what,
                       lk_status_name(status), lk_last_error());
}

/* ---- the server ------------------------------------------------------------------- */

static uint64_t server_now(void *data)
{
    const twisted *t = data;
    uint64_t passed = fake_world_now(t->world) - FAKE_START +
                      fake_world_now(t->honest_world) - FAKE_START;

    return epoch_us + passed / 1000;
}

static void tick(void *data)
{
    twisted *t = data;

    if (t->server != NULL)
        sim_server_tick(t->server);
}

/* Blocks end by the time of the client that is tested. */
static void tick_when_due(twisted *t)
{
    uint64_t due = sim_server_due(t->server), now = server_now(t);

    if (due == UINT64_MAX)
        return;
    due = due > now ? (due - now) * 1000 : 0;
    fake_world_at(t->world, fake_world_now(t->world) + due + FAKE_MS, tick, t);
}

static void on_send(void *data, const char *bytes, size_t size)
{
    twisted_link *l = data;
    char *said;

    if (!l->is_taken) {
        fake_reply(l->link, bytes, size);
        return;
    }
    said = realloc(l->said, l->said_size + size);
    if (said == NULL)
        abort();
    memcpy(said + l->said_size, bytes, size);
    l->said = said;
    l->said_size += size;
}

static void on_end(void *data)
{
    fake_end(((twisted_link *)data)->link);
}

static const sim_ears ears = {on_send, on_end};

/* ---- the answers ------------------------------------------------------------------ */

extern const lk__script *const all_scripts[];

/* Its name; NULL: it is no script that is known. */
static const char *script_of(int argc, const char **argv, const size_t *sizes)
{
    if (argc < 3 || strncasecmp(argv[0], "EVAL", 4) != 0)
        return NULL;
    for (unsigned i = 0; i < lk__script_count; i++) {
        const lk__script *s = all_scripts[i];

        if (strcmp(argv[1], s->sha1) == 0 ||
            (sizes[1] == s->size && memcmp(argv[1], s->body, s->size) == 0))
            return s->name;
    }
    return NULL;
}

static unsigned runs_of(const twisted *t, const char *script)
{
    unsigned runs = 0;

    for (unsigned i = 0; i < t->call_count; i++)
        runs += strcmp(t->calls[i].script, script) == 0;
    return runs;
}

static bool
is_due(const twisted *t, const twisted_plan *plan, const char *script)
{
    return plan->script != NULL && strcmp(plan->script, script) == 0 &&
           plan->number == runs_of(t, script);
}

static void say_twisted(twisted_link *l, const twisted_plan *plan)
{
    size_t size;
    char *bytes;

    if (plan->answer != NULL) {
        fake_reply(l->link, plan->answer, strlen(plan->answer));
        return;
    }
    bytes = twist_answer(l->said, l->said_size, plan->how, &size);
    fake_reply(l->link, bytes, size);
    if (plan->how.way == TWIST_CUT)
        fake_end(l->link);
    free(bytes);
}

static void note(twisted *t, const char *script, unsigned places)
{
    if (t->call_count < TWISTED_CALLS)
        t->calls[t->call_count++] = (twisted_call){script, places};
}

/* A script that is not known yet is asked for again, and that one counts. */
static bool is_answer(const twisted_link *l)
{
    return l->said_size > 0 && strncmp(l->said, "-NOSCRIPT", 9) != 0;
}

static void say_answer(twisted_link *l, const char *script)
{
    twisted *t = l->of;

    if (is_answer(l))
        note(t, script, twist_places(l->said, l->said_size));
    if (is_answer(l) && is_due(t, &t->plan, script)) {
        t->has_lied |= t->plan.answer != NULL || twist_may_lie(t->plan.how.way);
        say_twisted(l, &t->plan);
    } else if (is_answer(l) && is_due(t, &t->also, script)) {
        say_twisted(l, &t->also);
    } else if (l->said_size > 0) {
        fake_reply(l->link, l->said, l->said_size);
    }
    free(l->said);
    l->said = NULL;
    l->said_size = 0;
}

/* ---- its streams -------------------------------------------------------------------- */

static twisted_link *link_of(twisted *t, const fake_link *link)
{
    for (unsigned i = 0; i < t->link_count; i++) {
        if (t->links[i].link == link)
            return &t->links[i];
    }
    return NULL;
}

static int connect_as(twisted *t, fake_link *link, bool is_honest)
{
    twisted_link *l = &t->links[t->link_count];

    if (t->link_count == TWISTED_LINKS) {
        twisted_wrong(t, "too many connections", LK_OK);
        return FAKE_SILENT;
    }
    t->link_count++;
    *l = (twisted_link){.of = t, .is_honest = is_honest, .link = link};
    l->session = sim_session_new(t->server, &ears, l);
    return 0;
}

static int on_connect(void *data, fake_link *link)
{
    return connect_as(data, link, false);
}

static int on_honest_connect(void *data, fake_link *link)
{
    return connect_as(data, link, true);
}

static void on_command(void *data, fake_link *link, int argc, const char **argv,
                       const size_t *sizes)
{
    twisted *t = data;
    twisted_link *l = link_of(t, link);
    const char *script;

    if (l == NULL || l->session == NULL)
        return;
    if (++t->commands > COMMANDS_MOST) {
        twisted_wrong(t, "it never comes to its end", LK_OK);
        return;
    }
    script = l->is_honest ? NULL : script_of(argc, argv, sizes);
    l->is_taken = script != NULL;
    sim_session_command(l->session, argc, argv, sizes);
    l->is_taken = false;
    if (script != NULL)
        say_answer(l, script);
    tick_when_due(t);
}

static void on_close(void *data, fake_link *link)
{
    twisted_link *l = link_of(data, link);

    if (l != NULL && l->session != NULL) {
        sim_session_free(l->session);
        l->session = NULL;
    }
}

/* ---- life ------------------------------------------------------------------------- */

static void must(bool is_so, const char *what)
{
    if (is_so)
        return;
    (void)fprintf(stderr, "twisted: %s: %s\n", what, lk_last_error());
    abort();
}

static void client_open(fake_world *world, lk_client **ret_client)
{
    *fake_world_settings(world) = (fake_settings){.connect_ns = FAKE_MS,
                                                  .request_ns = FAKE_MS,
                                                  .reply_ns = FAKE_MS};
    must(lk__client_open_in(ret_client, fake_world_base(world),
                            "redis://server", NULL) == LK_OK,
         "no client");
    must(lk_client_wait_ready(*ret_client, READY_MS) == LK_OK, "not ready");
}

void twisted_open(twisted *t, sim_engine *engine)
{
    static const fake_server server = {on_connect, on_command, on_close};
    static const fake_server honest = {on_honest_connect, on_command, on_close};

    *t = (twisted){.call_count = 0};
    t->world = fake_world_new(1, &server, t);
    t->honest_world = fake_world_new(2, &honest, t);
    t->server = sim_server_new(engine, 1, server_now, t);
    client_open(t->world, &t->client);
    client_open(t->honest_world, &t->honest);
}

void twisted_run_ms(twisted *t, uint64_t ms)
{
    fake_world_run_for(t->world, ms * FAKE_MS);
}

void twisted_run_honest_ms(twisted *t, uint64_t ms)
{
    fake_world_run_for(t->honest_world, ms * FAKE_MS);
}

void twisted_end(twisted *t)
{
    (void)lk_client_shutdown(t->client, SHUTDOWN_MS);
    twisted_run_ms(t, SETTLED_MS);
    if (t->begun != t->ended)
        twisted_wrong(t, "a call has not ended once", LK_OK);
    lk_client_free(t->client);
    t->client = NULL;
    if (fake_world_link_count(t->world) != 0)
        twisted_wrong(t, "a stream is left open", LK_OK);
    twisted_run_ms(t, ALL_ENDED_MS);
}

void twisted_close(twisted *t)
{
    lk_client_free(t->client);
    lk_client_free(t->honest);
    for (unsigned i = 0; i < t->link_count; i++) {
        if (t->links[i].session != NULL)
            sim_session_free(t->links[i].session);
    }
    sim_server_free(t->server);
    t->server = NULL; /* what was to come has nobody to ask */
    fake_world_free(t->world);
    fake_world_free(t->honest_world);
}
