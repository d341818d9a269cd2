/* SPDX-License-Identifier: MIT */

/* Sessions: what comes in, what goes out, and what has to wait. */

#include <stdlib.h>
#include <string.h>

#include "server/inside.h"

static void link_session(sim_server *server, sim_session *session)
{
    session->prev = server->last;
    *(server->last == NULL ? &server->first : &server->last->next) = session;
    server->last = session;
}

static void unlink_session(sim_session *session)
{
    sim_server *server = session->server;

    *(session->prev == NULL ? &server->first : &session->prev->next) =
        session->next;
    *(session->next == NULL ? &server->last : &session->next->prev) =
        session->prev;
}

static void refuse_session(sim_session *session)
{
    sim_buffer_print(&session->server->own,
                     "-ERR max number of clients reached\r\n");
    sim_session_say(session, &session->server->own);
    sim_session_end(session);
}

sim_session *
sim_session_new(sim_server *server, const sim_ears *ears, void *data)
{
    sim_session *session = sim_alloc(sizeof(*session));

    session->server = server;
    session->ears = ears;
    session->data = data;
    session->id = ++server->last_id;
    session->user = server->default_user;
    session->is_authenticated = sim_user_needs_no_password(session->user);
    session->queue_end = &session->queue;
    link_session(server, session);
    server->own.size = 0;
    if (server->refusal == SIM_REFUSES_CLIENTS)
        refuse_session(session);
    return session;
}

static void forget_block(sim_session *session)
{
    if (session->block != SIM_FREE)
        session->server->blocked_count--;
    session->block = SIM_FREE;
    free(session->popping);
    session->popping = NULL;
}

static void forget_queue(sim_session *session)
{
    sim_waiting *next;

    for (sim_waiting *at = session->queue; at != NULL; at = next) {
        next = at->next;
        free(at);
    }
    session->queue = NULL;
    session->queue_end = &session->queue;
}

static void forget(sim_session *session)
{
    if (session->is_due)
        session->server->due_count--;
    session->is_due = false;
    sim_session_unsubscribe_all(session);
    forget_block(session);
    forget_queue(session);
}

void sim_session_free(sim_session *session)
{
    forget(session);
    unlink_session(session);
    free(session->name);
    free(session);
}

void sim_session_end(sim_session *session)
{
    if (session->has_ended)
        return;
    forget(session);
    session->has_ended = true;
    session->ears->end(session->data);
}

bool sim_session_has_ended(const sim_session *session)
{
    return session->has_ended;
}

uint64_t sim_session_id(const sim_session *session)
{
    return session->id;
}

sim_session *sim_session_by_id(const sim_server *server, uint64_t id)
{
    for (sim_session *at = server->first; at != NULL; at = at->next) {
        if (at->id == id && !at->has_ended)
            return at;
    }
    return NULL;
}

void *sim_server_ear(const sim_server *server, uint64_t id)
{
    const sim_session *session = sim_session_by_id(server, id);

    return session == NULL ? NULL : session->data;
}

void sim_session_say(sim_session *session, sim_buffer *buffer)
{
    if (!session->has_ended && buffer->size > 0)
        session->ears->send(session->data, buffer->bytes, buffer->size);
}

/* ---- blocks ------------------------------------------------------------- */

static sim_waiting *waiting_new(int argc, const sim_str *argv)
{
    size_t size = sizeof(sim_waiting) + (size_t)argc * sizeof(sim_str);
    sim_waiting *waiting;
    char *to;

    for (int i = 0; i < argc; i++)
        size += argv[i].size + 1;
    waiting = sim_alloc(size);
    waiting->argc = argc;
    to = (char *)(waiting->argv + argc);
    for (int i = 0; i < argc; i++) {
        if (argv[i].size > 0)
            memcpy(to, argv[i].bytes, argv[i].size);
        waiting->argv[i] = (sim_str){to, argv[i].size};
        to += argv[i].size + 1;
    }
    return waiting;
}

void sim_session_block(sim_call *call, sim_block block, int64_t until_ms)
{
    sim_session *session = call->session;

    session->block = block;
    session->block_until_ms = until_ms;
    session->block_order = ++call->server->last_block;
    session->popping = waiting_new(call->argc, call->argv);
    call->server->blocked_count++;
}

/* It may go on: what waits is run when the server has nothing else to do. */
static void set_free(sim_session *session)
{
    forget_block(session);
    session->is_due = true;
    session->server->due_count++;
}

void sim_session_unblock(sim_session *session, sim_end_of_block why)
{
    sim_buffer *own = &session->server->own;
    const char *words = "*-1\r\n";

    own->size = 0;
    if (why == SIM_BY_ERROR)
        words = "-UNBLOCKED client unblocked via CLIENT UNBLOCK\r\n";
    else if (why == SIM_BY_ROLE)
        words = "-UNBLOCKED force unblock from blocking operation, instance "
                "state changed (master -> replica?)\r\n";
    if (why == SIM_BY_TIME && session->block == SIM_BLOCKED_WAIT)
        sim_buffer_print(own, ":%u\r\n", session->server->followers);
    else
        sim_buffer_add(own, sim_str_of(words));
    set_free(session);
    sim_session_say(session, own);
    if (why == SIM_BY_ROLE)
        sim_session_end(session);
}

/* The one that has been blocked longest of those behind after. */
static sim_session *next_blocked(const sim_server *server, uint64_t after)
{
    sim_session *found = NULL;

    for (sim_session *at = server->first; at != NULL; at = at->next) {
        if (at->block != SIM_FREE && at->block_order > after &&
            (found == NULL || at->block_order < found->block_order))
            found = at;
    }
    return found;
}

/* A list has got something: whoever has waited longest for it gets it. */
static void serve_list(sim_server *server, unsigned db, sim_str key)
{
    sim_session *at;
    uint64_t after = 0;

    while (server->blocked_count > 0 &&
           (at = next_blocked(server, after)) != NULL) {
        after = at->block_order;
        server->own.size = 0;
        if (sim_list_serve(at, db, key)) {
            set_free(at);
            sim_session_say(at, &server->own);
        }
    }
}

static void serve_lists(sim_server *server)
{
    for (unsigned db = 0; db < SIM_DATABASES; db++) {
        sim_map *ready = &server->ready[db];

        while (ready->first != NULL) {
            serve_list(server, db, sim_entry_key(ready->first));
            sim_map_remove(ready, ready->first);
        }
    }
}

/* ---- commands ----------------------------------------------------------- */

static void run(sim_session *session, int argc, const sim_str *argv)
{
    sim_server *server = session->server;
    sim_call call = {.server = server,
                     .session = session,
                     .argc = argc,
                     .argv = argv,
                     .db = session->db,
                     .reply = &server->reply};

    server->commands++;
    server->now_us = server->now(server->data);
    server->reply.size = 0;
    sim_call_gate(&call);
    if (session->block == SIM_FREE)
        sim_session_say(session, &server->reply);
    if (session->closes)
        sim_session_end(session);
}

/* The first session that is free and has something waiting. */
static sim_session *next_due(const sim_server *server)
{
    for (sim_session *at = server->first; at != NULL; at = at->next) {
        if (at->is_due)
            return at;
    }
    return NULL;
}

static void run_waiting(sim_session *session)
{
    while (session->queue != NULL && session->block == SIM_FREE) {
        sim_waiting *waiting = session->queue;

        session->queue = waiting->next;
        if (session->queue == NULL)
            session->queue_end = &session->queue;
        run(session, waiting->argc, waiting->argv);
        free(waiting);
    }
}

/* What a command has set free: lists have elements, sessions may go on. */
static void settle(sim_server *server)
{
    sim_session *due;

    if (server->blocked_count > 0)
        serve_lists(server);
    while (server->due_count > 0 && (due = next_due(server)) != NULL) {
        due->is_due = false;
        server->due_count--;
        run_waiting(due);
        serve_lists(server);
    }
}

void sim_session_ask(sim_session *session, int argc, const sim_str *argv)
{
    if (session->has_ended || argc == 0)
        return;
    if (session->block != SIM_FREE) {
        *session->queue_end = waiting_new(argc, argv);
        session->queue_end = &(*session->queue_end)->next;
        return;
    }
    run(session, argc, argv);
    settle(session->server);
}

void sim_session_command(sim_session *session, int argc, const char **argv,
                         const size_t *sizes)
{
    enum { FEW = 32 };
    sim_str few[FEW] = {{NULL, 0}};
    sim_str *args =
        argc <= FEW ? few : sim_alloc((size_t)argc * sizeof(sim_str));

    for (int i = 0; i < argc; i++)
        args[i] = (sim_str){argv[i], sizes[i]};
    sim_session_ask(session, argc, args);
    if (args != few)
        free(args);
}

/* ---- time --------------------------------------------------------------- */

uint64_t sim_server_due(const sim_server *server)
{
    uint64_t due = UINT64_MAX;

    for (const sim_session *at = server->first;
         server->blocked_count > 0 && at != NULL; at = at->next) {
        uint64_t until = (uint64_t)at->block_until_ms * 1000;

        if (at->block != SIM_FREE && until != 0 && until < due)
            due = until;
    }
    return due;
}

void sim_server_tick(sim_server *server)
{
    int64_t now = sim_server_now_ms(server);
    sim_session *at;
    uint64_t after = 0;

    while (server->blocked_count > 0 &&
           (at = next_blocked(server, after)) != NULL) {
        after = at->block_order;
        if (at->block_until_ms != 0 && at->block_until_ms <= now)
            sim_session_unblock(at, SIM_BY_TIME);
    }
    settle(server);
}
