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

void twisted_wrong(twisted *t, const char *what, lk_status status)
{
    if (t->wrong[0] == '\0')
        (void)snprintf(t->wrong, sizeof(t->wrong), "%s: %s: %.150s", what,
                       lk_status_name(status), lk_last_error());
}

static twisted *twisted_of(const lk__link *link)
{
    return (twisted *)(void *)((char *)link->peer - offsetof(twisted, liar));
}

/* ---- the answers ------------------------------------------------------------------ */

extern const lk__script *const all_scripts[];

static bool is_text(const char *text, const char *bytes, size_t size)
{
    return strlen(text) == size && memcmp(text, bytes, size) == 0;
}

/* Its name; NULL: it is no script that is known. */
static const char *script_of(int argc, const char **argv, const size_t *sizes)
{
    if (argc < 3 || sizes[0] < 4 || strncasecmp(argv[0], "EVAL", 4) != 0)
        return NULL;
    for (unsigned i = 0; i < lk__script_count; i++) {
        const lk__script *s = all_scripts[i];

        if (is_text(s->sha1, argv[1], sizes[1]) ||
            is_text(s->body, argv[1], sizes[1]))
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

static void say_twisted(lk__link *link, const twisted_plan *plan, sim_str said)
{
    size_t size;
    char *bytes;

    if (plan->answer != NULL) {
        sim_link_reply(link, plan->answer, strlen(plan->answer));
        return;
    }
    bytes = twist_answer(said.bytes, said.size, plan->how, &size);
    sim_link_reply(link, bytes, size);
    free(bytes);
    if (plan->how.way != TWIST_CUT)
        return;
    sim_link_end(link);
    sim_link_lose(link, SIM_THERE);
}

static void note(twisted *t, const char *script, unsigned places)
{
    if (t->call_count < TWISTED_CALLS)
        t->calls[t->call_count++] = (twisted_call){script, places};
}

/* A script that is not known yet is asked for again, and that one counts. */
static bool is_answer(sim_str said)
{
    return said.size > 0 && strncmp(said.bytes, "-NOSCRIPT", 9) != 0;
}

static void say_answer(lk__link *link, const char *script)
{
    twisted *t = twisted_of(link);
    sim_str said = sim_buffer_str(&t->said);

    if (is_answer(said))
        note(t, script, twist_places(said.bytes, said.size));
    if (is_answer(said) && is_due(t, &t->plan, script)) {
        t->has_lied |= t->plan.answer != NULL || twist_may_lie(t->plan.how.way);
        say_twisted(link, &t->plan, said);
    } else if (is_answer(said) && is_due(t, &t->also, script)) {
        say_twisted(link, &t->also, said);
    } else if (said.size > 0) {
        sim_link_reply(link, said.bytes, said.size);
    }
}

/* ---- the first client's streams ------------------------------------------------------ */

static void on_send(void *data, const char *bytes, size_t size)
{
    lk__link *link = data;
    twisted *t = twisted_of(link);

    if (t->taken == link)
        sim_buffer_add(&t->said, (sim_str){bytes, size});
    else
        sim_link_reply(link, bytes, size);
}

static void on_end(void *data)
{
    sim_link_end(data);
}

static int liar_open(sim_peer *peer, lk__link *link)
{
    static const sim_ears ears = {on_send, on_end};

    (void)peer;
    link->session = sim_session_new(twisted_of(link)->host.server, &ears, link);
    return 0;
}

static void
command_run(void *data, int argc, const char **argv, const size_t *sizes)
{
    lk__link *link = data;
    twisted *t = twisted_of(link);
    const char *script = script_of(argc, argv, sizes);

    if (++t->commands > COMMANDS_MOST) {
        twisted_wrong(t, "it never comes to its end", LK_OK);
        return;
    }
    t->said.size = 0;
    t->taken = script != NULL ? link : NULL;
    sim_session_command(link->session, argc, argv, sizes);
    t->taken = NULL;
    if (script != NULL)
        say_answer(link, script);
}

static void
liar_read(sim_peer *peer, lk__link *link, const char *bytes, size_t size)
{
    (void)peer;
    sim_inlet_read(&link->inlet, bytes, size, command_run, link);
    sim_host_touched(&twisted_of(link)->host);
}

static void liar_close(sim_peer *peer, lk__link *link)
{
    (void)peer;
    sim_session_free(link->session);
}

/* ---- life ------------------------------------------------------------------------- */

static void must(bool is_so, const char *what)
{
    if (is_so)
        return;
    (void)fprintf(stderr, "twisted: %s: %s\n", what, lk_last_error());
    abort();
}

static void client_open(twisted *t, sim_process *process, unsigned number,
                        sim_peer *const *peers, lk_client **ret_client)
{
    sim_process_init(process, &t->schedule, "client", number, number, peers);
    process->clock.base = SIM_S;
    process->paths[0] = (sim_path){.ns = {SIM_MS, SIM_MS}};
    must(lk__client_open_in(ret_client, &process->base, "redis://server",
                            NULL) == LK_OK,
         "no client");
    must(lk_client_wait_ready(*ret_client, READY_MS) == LK_OK, "not ready");
}

void twisted_open(twisted *t, sim_engine *engine)
{
    static const sim_peer_class class = {liar_open, liar_read, liar_close};

    *t = (twisted){.call_count = 0};
    sim_schedule_init(&t->schedule, NULL);
    sim_host_init(&t->host, &t->schedule, engine, 0, 1);
    t->liar = (sim_peer){&class, &t->schedule, 0, 0};
    t->peers[0] = &t->liar;
    t->honest_peers[0] = &t->host.peer;
    client_open(t, &t->process, 1, t->peers, &t->client);
    client_open(t, &t->honest_process, 2, t->honest_peers, &t->honest);
}

void twisted_run_ms(twisted *t, uint64_t ms)
{
    sim_run_until(&t->schedule, t->schedule.now + ms * SIM_MS);
}

void twisted_end(twisted *t)
{
    (void)lk_client_shutdown(t->client, SHUTDOWN_MS);
    twisted_run_ms(t, SETTLED_MS);
    if (t->begun != t->ended)
        twisted_wrong(t, "a call has not ended once", LK_OK);
    lk_client_free(t->client);
    t->client = NULL;
    for (const lk__link *link = t->process.links; link != NULL;
         link = link->next) {
        if (!link->closed)
            twisted_wrong(t, "a stream is left open", LK_OK);
    }
    twisted_run_ms(t, ALL_ENDED_MS);
}

void twisted_close(twisted *t)
{
    lk_client_free(t->client);
    lk_client_free(t->honest);
    sim_process_done(&t->process);
    sim_process_done(&t->honest_process);
    sim_host_done(&t->host);
    sim_schedule_done(&t->schedule);
    sim_buffer_done(&t->said);
}
