/* SPDX-License-Identifier: MIT */

/* Greetings. All steps are sent at once and answered in their order. */

#include "server/greet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/client.h"
#include "server/login.h"
#include "server/reply.h"

#define SECOND   INT64_C(1000000000)
#define AGE_MOST INT64_C(3000000000) /* seconds */

enum {
    STEP_AUTH,
    STEP_SELECT,
    STEP_NAME,
    STEP_ID,
    STEP_INFO,
    STEP_ROLE,
    STEP_SHARDS,
    STEP_PING,
    STEP_LAST
};

static void
on_greeting(lk__request *request, lk_status status, const redisReply *reply);

static void
say(lk__greeting *greeting, int step, size_t count, const lk__arg *args)
{
    lk__greeting_step *at = &greeting->steps[step];

    at->greeting = greeting;
    at->request.on_reply = on_greeting;
    if (lk__conn_send(greeting->conn, &at->request, count, args) != LK_OK)
        lk__conn_break(greeting->conn, LK_ENOMEM, "no memory for the greeting");
}

static void say_auth(lk__greeting *greeting, const lk__settings *settings)
{
    lk__arg args[3] = {lk__arg_text("AUTH")};
    size_t count = 1;

    if (settings->user != NULL)
        args[count++] = lk__arg_text(settings->user);
    args[count++] = lk__arg_text(settings->password);
    say(greeting, STEP_AUTH, count, args);
}

void lk__greet(lk__greeting *greeting)
{
    const lk__settings *settings = &greeting->conn->client->settings;
    lk__arg name[3] = {lk__arg_text("CLIENT"), lk__arg_text("SETNAME"),
                       lk__arg_text(settings->name)};
    lk__arg id[2] = {lk__arg_text("CLIENT"), lk__arg_text("ID")};
    lk__arg info[2] = {lk__arg_text("INFO"), lk__arg_text("server")};
    lk__arg role[2] = {lk__arg_text("INFO"), lk__arg_text("replication")};
    lk__arg shards = lk__arg_text("SSUBSCRIBE");
    lk__arg ping = lk__arg_text("PING");
    lk__arg select[2] = {lk__arg_text("SELECT"),
                         lk__arg_number((int64_t)settings->db)};

    if (settings->password != NULL)
        say_auth(greeting, settings);
    if (settings->db != 0)
        say(greeting, STEP_SELECT, 2, select);
    say(greeting, STEP_NAME, 3, name);
    say(greeting, STEP_ID, 2, id);
    say(greeting, STEP_INFO, 2, info);
    say(greeting, STEP_ROLE, 2, role);
    if (settings->seed_count > 0)
        say(greeting, STEP_SHARDS, 1, &shards);
    say(greeting, STEP_PING, 1, &ping);
}

void lk__greet_last(lk__greeting *greeting, size_t count, const lk__arg *args)
{
    say(greeting, STEP_LAST, count, args);
}

void lk__greet_refuse(const lk__greeting *greeting, lk_status status,
                      const redisReply *reply)
{
    lk__conn_break(greeting->conn, status,
                   reply->type == REDIS_REPLY_ERROR ? reply->str
                                                    : "an unexpected reply");
}

bool lk__run_ids_same(const char *a, const char *b)
{
    return a[0] != '\0' && strcmp(a, b) == 0;
}

bool lk__run_ids_differ(const char *a, const char *b)
{
    return a[0] != '\0' && b[0] != '\0' && strcmp(a, b) != 0;
}

/* What stands behind this key and its colon at the start of a line; NULL: there
   is no such line. A value may have the same text in it. */
static const char *field_of(const redisReply *reply, const char *key)
{
    size_t size = strlen(key);

    for (const char *line = reply->str; line != NULL;) {
        if (strncmp(line, key, size) == 0)
            return line + size;
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
    return NULL;
}

/* That value; "" if there is none. */
static void note_field(char id[48], const redisReply *reply, const char *key)
{
    const char *at = field_of(reply, key);
    size_t length = at == NULL ? 0 : strcspn(at, "\r\n");

    snprintf(id, 48, "%.*s", (int)length, at == NULL ? "" : at);
}

/*
 * The server counts whole seconds of its wall clock, so that one less is sure
 * if that clock is. One that was set forward makes it older; but not older than
 * what this client saw of the process before it.
 */
static void note_birth(lk__greeting *greeting, const redisReply *reply)
{
    const char *at = field_of(reply, "uptime_in_seconds:");
    int64_t now = (int64_t)lk__client_now(greeting->conn->client);
    long long age;

    greeting->born_at = INT64_MAX;
    if (at == NULL)
        return;
    /* Below 0 where that clock was set back. */
    age = strtoll(at, NULL, 10);
    age = age > AGE_MOST ? AGE_MOST : age;
    greeting->born_at = age > 1 ? now - (age - 1) * SECOND : now;
    if (greeting->since != 0 && greeting->born_at < (int64_t)greeting->since)
        greeting->born_at = (int64_t)greeting->since;
}

static void note_info(lk__greeting *greeting, const redisReply *reply)
{
    char before[sizeof(greeting->run_id)];

    memcpy(before, greeting->run_id, sizeof(before));
    note_field(greeting->run_id, reply, "run_id:");
    if (lk__run_ids_differ(before, greeting->run_id))
        greeting->since = greeting->heard_at;
    note_birth(greeting, reply);
}

static void check_role(lk__greeting *greeting, const redisReply *reply)
{
    char role[48], before[48];

    note_field(role, reply, "role:");
    note_field(greeting->replid, reply, "master_replid:");
    note_field(before, reply, "master_replid2:");
    greeting->has_led =
        before[0] != '\0' && strspn(before, "0") == strlen(before);
    if (strcmp(role, "slave") == 0)
        lk__conn_break(greeting->conn, LK_EREADONLY, "the server is a replica");
}

/* A server that knows the command misses its channels, whatever rights there
   are. */
static void note_shards(lk__greeting *greeting, const redisReply *reply)
{
    greeting->has_shards =
        reply->type == REDIS_REPLY_ERROR &&
        strstr(reply->str, "wrong number of arguments") != NULL;
}

/* Whether this is how a step is answered that is not refused. One that does not
   say in words what it is may be a replica. */
static bool is_answer(int step, const redisReply *reply)
{
    if (step == STEP_INFO || step == STEP_ROLE)
        return lk__reply_is_lines(reply);
    return reply->type == REDIS_REPLY_STATUS;
}

/* Said to whoever connects, whatever is asked. */
static bool is_full(const redisReply *reply)
{
    return reply->type == REDIS_REPLY_ERROR &&
           strstr(reply->str, "max number of clients reached") != NULL;
}

static void refuse(const lk__greeting *greeting, int step, lk_status status,
                   const redisReply *reply)
{
    lk__conn *conn = greeting->conn;

    if (step == STEP_AUTH)
        lk__conn_break(conn, status,
                       lk__login_words(reply, conn->client->settings.password));
    else
        lk__greet_refuse(greeting, status, reply);
}

static void
on_greeting(lk__request *request, lk_status status, const redisReply *reply)
{
    const lk__greeting_step *at = (const lk__greeting_step *)(void *)request;
    lk__greeting *greeting = at->greeting;
    int step = (int)(at - greeting->steps);
    lk_status refused;

    if (status != LK_OK)
        return;
    refused = lk__reply_status(reply);
    if (is_full(reply))
        lk__conn_break(greeting->conn, LK_EOFFLINE,
                       "the server has reached its limit of clients");
    else if (step == STEP_LAST)
        greeting->last(greeting->conn, refused, reply);
    else if (step == STEP_ID)
        greeting->id = reply->type == REDIS_REPLY_INTEGER ? reply->integer : 0;
    else if (step == STEP_SHARDS)
        note_shards(greeting, reply);
    else if (refused != LK_OK && step != STEP_NAME)
        refuse(greeting, step, refused, reply);
    else if (refused == LK_OK && !is_answer(step, reply))
        lk__greet_refuse(greeting, LK_EPROTO, reply);
    else if (step == STEP_INFO)
        note_info(greeting, reply);
    else if (step == STEP_ROLE)
        check_role(greeting, reply);
    else if (step == STEP_PING)
        greeting->done(greeting->conn);
}
