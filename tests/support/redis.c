/* SPDX-License-Identifier: MIT */
#include "support/redis.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "support/check.h"
#include "support/wait.h"

enum {
    ANSWER_MS = 120000, /* scaled */
    WHY_SIZE = 128
};

struct redis {
    char *path;
    pid_t home; /* who made it; a child of it must not run cmocka's ways */
    pid_t user; /* who opened the connection */
    redisContext *context;
    pthread_mutex_t mutex;
    void (*tell)(void *data); /* NULL: nothing else is known */
    void *data;
};

redis *redis_new(const char *path)
{
    redis *r = calloc(1, sizeof(*r));

    if (r == NULL)
        return NULL;
    r->path = strdup(path);
    r->home = getpid();
    if (r->path == NULL || pthread_mutex_init(&r->mutex, NULL) != 0) {
        free(r->path);
        free(r);
        return NULL;
    }
    return r;
}

void redis_free(redis *r)
{
    if (r == NULL)
        return;
    redis_drop(r);
    (void)pthread_mutex_destroy(&r->mutex);
    free(r->path);
    free(r);
}

void redis_on_break(redis *r, void (*tell)(void *data), void *data)
{
    r->tell = tell;
    r->data = data;
}

/* ---- the connection ---- */

static void disconnect(redis *r)
{
    if (r->context != NULL)
        redisFree(r->context);
    r->context = NULL;
}

static bool connect_now(redis *r)
{
    unsigned ms = wait_scaled_ms(ANSWER_MS);
    struct timeval limit = {.tv_sec = ms / 1000,
                            .tv_usec = (suseconds_t)(ms % 1000) * 1000};

    /* A child's copy of the descriptor is closed; the parent's lives on. */
    if (r->context != NULL && (r->context->err != 0 || r->user != getpid()))
        disconnect(r);
    if (r->context != NULL)
        return true;
    r->context = redisConnectUnixWithTimeout(r->path, limit);
    if (r->context == NULL)
        return false;
    r->user = getpid();
    return r->context->err == 0 &&
           redisSetTimeout(r->context, limit) == REDIS_OK;
}

void redis_drop(redis *r)
{
    (void)pthread_mutex_lock(&r->mutex);
    disconnect(r);
    (void)pthread_mutex_unlock(&r->mutex);
}

/* ---- commands ---- */

/*
 * hiredis writes so that a broken connection raises SIGPIPE. The program's own
 * way with that signal is left alone, since it is part of what is tested.
 */
static redisReply *
run_quietly(redisContext *context, const char *format, va_list args)
{
    sigset_t pipe;
    sigset_t before;
    redisReply *reply;

    (void)sigemptyset(&pipe);
    (void)sigaddset(&pipe, SIGPIPE);
    (void)pthread_sigmask(SIG_BLOCK, &pipe, &before);
    reply = redisvCommand(context, format, args);
    if (reply == NULL && sigismember(&before, SIGPIPE) == 0)
        (void)sigtimedwait(&pipe, NULL, &(struct timespec){0});
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return reply;
}

/* Says in why, of that size, why there is no reply. */
static redisReply *
ask(redis *r, const char *format, va_list args, char *why, size_t size)
{
    redisReply *reply = NULL;

    (void)snprintf(why, size, "cannot connect");
    (void)pthread_mutex_lock(&r->mutex);
    if (connect_now(r))
        reply = run_quietly(r->context, format, args);
    if (reply == NULL) {
        if (r->context != NULL)
            (void)snprintf(why, size, "%s", r->context->errstr);
        disconnect(r);
    }
    (void)pthread_mutex_unlock(&r->mutex);
    return reply;
}

redisReply *redis_vask(redis *r, const char *format, va_list args)
{
    char why[WHY_SIZE];

    return ask(r, format, args, why, sizeof(why));
}

static redisReply *ask_for(redis *r, const char *format, ...)
{
    redisReply *reply;
    va_list args;

    va_start(args, format);
    reply = redis_vask(r, format, args);
    va_end(args);
    return reply;
}

bool redis_ping(redis *r)
{
    redisReply *reply = ask_for(r, "PING");
    bool is_pong = reply != NULL && reply->type == REDIS_REPLY_STATUS;

    freeReplyObject(reply);
    if (!is_pong)
        redis_drop(r);
    return is_pong;
}

/* Ends the test, or the worker process that it started. */
static _Noreturn void broken(const redis *r, const char *what, const char *why)
{
    if (getpid() == r->home)
        fail_msg("redis: %s: %s", what, why);
    (void)fprintf(stderr, "redis: %s: %s\n", what, why);
    abort(); /* fail_msg() does not return, which its header does not say */
}

redisReply *redis_vcommand(redis *r, const char *format, va_list args)
{
    char why[WHY_SIZE];
    redisReply *reply = ask(r, format, args, why, sizeof(why));

    if (reply == NULL && r->tell != NULL)
        r->tell(r->data);
    if (reply == NULL)
        broken(r, format, why);
    return reply;
}

/* Frees the reply and fails. */
static _Noreturn void
unexpected(const redis *r, const char *format, redisReply *reply)
{
    char why[WHY_SIZE];

    (void)snprintf(why, sizeof(why), "reply of type %d: %s", reply->type,
                   reply->str != NULL ? reply->str : "");
    freeReplyObject(reply);
    broken(r, format, why);
}

long long redis_vinteger(redis *r, const char *format, va_list args)
{
    redisReply *reply = redis_vcommand(r, format, args);
    long long integer = reply->integer;

    if (reply->type != REDIS_REPLY_INTEGER)
        unexpected(r, format, reply);
    freeReplyObject(reply);
    return integer;
}

char *redis_vstring(redis *r, const char *format, va_list args)
{
    redisReply *reply = redis_vcommand(r, format, args);
    char *string = NULL;

    if (reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_STATUS)
        string = strdup(reply->str);
    else if (reply->type != REDIS_REPLY_NIL)
        unexpected(r, format, reply);
    freeReplyObject(reply);
    return string;
}
