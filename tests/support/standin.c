/* SPDX-License-Identifier: MIT */
#include "support/standin.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <hiredis/hiredis.h>

#include "support/check.h"
#include "support/standin_scripts.h"
#include "support/wait.h"

enum {
    ANSWER_MS = 10000, /* scaled */
    NAME_MAX_SIZE = 128,
    KEY_SIZE = NAME_MAX_SIZE + 96,
    /* Redisson's defaults. */
    WATCHDOG_MS = 30000,
    FAIR_WAIT_MS = 300000,
    LATCH_MS = 16000,
    SPIN_MOST_MS = 128
};

struct standin {
    standin *next; /* of this process */
    standin_kind kind;
    char path[108];
    char owner[64];
    char lock[NAME_MAX_SIZE];
    char token[KEY_SIZE], queue[KEY_SIZE], timeouts[KEY_SIZE];
    char channel[KEY_SIZE];  /* that it tells */
    char ear[KEY_SIZE + 72]; /* that it listens on */
    char shas[STANDIN_STEPS][41];
    redisContext *commands, *messages; /* messages: NULL before the first */
    unsigned owed;                     /* answers that nobody waits for */
    long long lease_ms, watchdog_ms;
    long long tenure_ms; /* of a place in the fair queue */
    unsigned seed;       /* of its pauses */
    uint64_t latches;
};

static standin *all;

/* ---- connections ---- */

static _Noreturn void broken(const char *what, const char *why)
{
    fail_msg("stand-in: %s: %s", what, why);
    abort(); /* fail_msg() does not return, which its header does not say */
}

static redisContext *dial(const char *path)
{
    unsigned ms = wait_scaled_ms(ANSWER_MS);
    struct timeval limit = {.tv_sec = ms / 1000,
                            .tv_usec = (suseconds_t)(ms % 1000) * 1000};
    redisContext *context = redisConnectUnixWithTimeout(path, limit);

    if (context == NULL || context->err != 0 ||
        redisSetTimeout(context, limit) != REDIS_OK)
        broken(path, context != NULL ? context->errstr : "no memory");
    return context;
}

static redisReply *reply_get(redisContext *context, const char *what)
{
    void *reply = NULL;

    if (redisGetReply(context, &reply) != REDIS_OK)
        broken(what, context->errstr);
    if (((redisReply *)reply)->type == REDIS_REPLY_ERROR)
        broken(what, ((redisReply *)reply)->str);
    return reply;
}

/* Sends a command whose answer comes before that of the next one. */
static void send_only(standin *s, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (redisvAppendCommand(s->commands, format, args) != REDIS_OK)
        broken(format, s->commands->errstr);
    va_end(args);
    s->owed++;
}

/* A reply that is no error; freed by freeReplyObject(). */
static redisReply *command(standin *s, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    if (redisvAppendCommand(s->commands, format, args) != REDIS_OK)
        broken(format, s->commands->errstr);
    va_end(args);
    for (; s->owed > 0; s->owed--)
        freeReplyObject(reply_get(s->commands, format));
    return reply_get(s->commands, format);
}

/* An integer, or the one given for nil. Frees the reply. */
static long long take_integer(redisReply *reply, long long nil)
{
    long long integer = nil;

    if (reply->type == REDIS_REPLY_INTEGER)
        integer = reply->integer;
    else if (reply->type != REDIS_REPLY_NIL)
        broken("a script", "its answer is no integer");
    freeReplyObject(reply);
    return integer;
}

/* ---- life ---- */

/* Redisson's rule for the companions of a name. */
static void companion(char *ret_key, const char *prefix, const char *name)
{
    bool is_tagged = strchr(name, '{') != NULL;

    (void)snprintf(ret_key, KEY_SIZE, is_tagged ? "%s:%s" : "%s:{%s}", prefix,
                   name);
}

static void owner_make(standin *s)
{
    FILE *file = fopen("/proc/sys/kernel/random/uuid", "re");
    char uuid[37] = "";

    if (file == NULL || fscanf(file, "%36s", uuid) != 1)
        broken("uuid", "none to be had");
    (void)fclose(file);
    (void)snprintf(s->owner, sizeof(s->owner), "%s:%d", uuid, 41);
    s->seed = (unsigned)strtoul(uuid, NULL, 16);
}

static void scripts_load(standin *s)
{
    for (size_t i = 0; i < STANDIN_STEPS; i++) {
        redisReply *reply = command(s, "SCRIPT LOAD %s", standin_scripts[i]);

        (void)snprintf(s->shas[i], sizeof(s->shas[i]), "%s", reply->str);
        freeReplyObject(reply);
    }
}

standin *standin_new(standin_kind kind, const char *path, const char *name)
{
    standin *s = calloc(1, sizeof(*s));

    if (s == NULL)
        broken(name, "no memory");
    s->next = all;
    all = s;
    s->kind = kind;
    s->watchdog_ms = WATCHDOG_MS;
    s->tenure_ms = FAIR_WAIT_MS;
    (void)snprintf(s->path, sizeof(s->path), "%s", path);
    (void)snprintf(s->lock, sizeof(s->lock), "%s", name);
    owner_make(s);
    companion(s->token, "redisson_lock_token", name);
    companion(s->queue, "redisson_lock_queue", name);
    companion(s->timeouts, "redisson_lock_timeout", name);
    companion(s->channel, "redisson_lock__channel", name);
    (void)snprintf(s->ear, sizeof(s->ear), "%s%s%s", s->channel,
                   kind == STANDIN_FAIR ? ":" : "",
                   kind == STANDIN_FAIR ? s->owner : "");
    s->commands = dial(path);
    scripts_load(s);
    return s;
}

void standin_free(standin *s)
{
    standin **at = &all;

    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    if (s->commands != NULL)
        redisFree(s->commands);
    if (s->messages != NULL)
        redisFree(s->messages);
    free(s);
}

void standins_free(void)
{
    while (all != NULL)
        standin_free(all);
}

const char *standin_owner(const standin *s)
{
    return s->owner;
}

void standin_set_lease(standin *s, long long lease_ms)
{
    s->lease_ms = lease_ms;
}

void standin_set_watchdog(standin *s, long long timeout_ms)
{
    s->watchdog_ms = timeout_ms;
}

/* ---- scripts ---- */

static long long wall_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_REALTIME, &now);
    return (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static long long lease_of(const standin *s)
{
    return s->lease_ms > 0 ? s->lease_ms : s->watchdog_ms;
}

/* The spin lock has nobody to tell. */
static const char *publish_of(const standin *s)
{
    return s->kind == STANDIN_SPIN ? "" : "PUBLISH";
}

static redisReply *fair_acquire(standin *s, bool may_queue)
{
    return command(s, "EVALSHA %s 3 %s %s %s %lld %s %lld %lld %d",
                   s->shas[STANDIN_FAIR_ACQUIRE], s->lock, s->queue,
                   s->timeouts, lease_of(s), s->owner, s->tenure_ms, wall_ms(),
                   may_queue ? 1 : 0);
}

static long long acquire(standin *s, bool may_queue)
{
    redisReply *reply;

    if (s->kind == STANDIN_FAIR)
        reply = fair_acquire(s, may_queue);
    else
        reply = command(s, "EVALSHA %s 2 %s %s %lld %s %d",
                        s->shas[STANDIN_ACQUIRE], s->lock, s->token,
                        lease_of(s), s->owner, s->kind == STANDIN_FENCED);
    return take_integer(reply, STANDIN_HAS_IT);
}

long long standin_acquire(standin *s)
{
    return acquire(s, true);
}

bool standin_try(standin *s)
{
    return acquire(s, false) == STANDIN_HAS_IT;
}

/* The latch makes a repeated unlock safe; its end is not waited for. */
int standin_unlock(standin *s)
{
    char latch[KEY_SIZE];
    char suffix[40];
    redisReply *reply;

    companion(latch, "redisson_unlock_latch", s->lock);
    (void)snprintf(suffix, sizeof(suffix), ":%.8s%024llx", s->owner,
                   (unsigned long long)++s->latches);
    (void)strncat(latch, suffix, sizeof(latch) - strlen(latch) - 1);
    if (s->kind == STANDIN_FAIR)
        reply = command(s, "EVALSHA %s 5 %s %s %s %s %s 0 %lld %s %lld %d",
                        s->shas[STANDIN_FAIR_RELEASE], s->lock, s->queue,
                        s->timeouts, s->channel, latch, lease_of(s), s->owner,
                        wall_ms(), LATCH_MS);
    else
        reply = command(s, "EVALSHA %s 3 %s %s %s 0 %lld %s %s %d",
                        s->shas[STANDIN_RELEASE], s->lock, s->channel, latch,
                        lease_of(s), s->owner, publish_of(s), LATCH_MS);
    send_only(s, "DEL %s", latch);
    return (int)take_integer(reply, -1);
}

bool standin_force_unlock(standin *s)
{
    redisReply *reply;

    if (s->kind == STANDIN_FAIR)
        reply = command(s, "EVALSHA %s 4 %s %s %s %s 0 %lld",
                        s->shas[STANDIN_FAIR_FORCE], s->lock, s->queue,
                        s->timeouts, s->channel, wall_ms());
    else
        reply = command(s, "EVALSHA %s 2 %s %s 0 %s", s->shas[STANDIN_FORCE],
                        s->lock, s->channel, publish_of(s));
    return take_integer(reply, 0) == 1;
}

long long standin_token(standin *s)
{
    redisReply *reply = command(s, "GET %s", s->token);
    long long token = reply->str != NULL ? strtoll(reply->str, NULL, 10) : 0;

    freeReplyObject(reply);
    return token;
}

void standin_give_up(standin *s)
{
    freeReplyObject(command(s, "EVALSHA %s 3 %s %s %s %s %lld",
                            s->shas[STANDIN_FAIR_GIVE_UP], s->lock, s->queue,
                            s->timeouts, s->owner, s->tenure_ms));
}

/* ---- messages ---- */

static void tell_messages(standin *s, const char *word)
{
    int done = 0;

    if (redisAppendCommand(s->messages, "%s %s", word, s->ear) != REDIS_OK)
        broken(word, s->messages->errstr);
    while (done == 0) {
        if (redisBufferWrite(s->messages, &done) != REDIS_OK)
            broken(word, s->messages->errstr);
    }
}

static bool is_push(const redisReply *reply, const char *word)
{
    return reply->type == REDIS_REPLY_ARRAY && reply->elements == 3 &&
           reply->element[0]->str != NULL &&
           strcmp(reply->element[0]->str, word) == 0;
}

void standin_subscribe(standin *s)
{
    bool stands = false;

    if (s->kind == STANDIN_SPIN)
        return;
    if (s->messages == NULL)
        s->messages = dial(s->path);
    tell_messages(s, "SUBSCRIBE");
    while (!stands) {
        redisReply *reply = reply_get(s->messages, "SUBSCRIBE");

        stands = is_push(reply, "subscribe");
        freeReplyObject(reply);
    }
}

/* What was heard and not taken goes by the next subscription. */
void standin_unsubscribe(standin *s)
{
    if (s->kind != STANDIN_SPIN)
        tell_messages(s, "UNSUBSCRIBE");
}

/* The next of what has come, or NULL. */
static redisReply *message_next(standin *s, int wait_ms)
{
    struct pollfd descriptor = {.fd = s->messages->fd, .events = POLLIN};
    void *reply = NULL;

    if (redisGetReplyFromReader(s->messages, &reply) != REDIS_OK)
        broken("messages", s->messages->errstr);
    if (reply != NULL || poll(&descriptor, 1, wait_ms) <= 0)
        return reply;
    if (redisBufferRead(s->messages) != REDIS_OK ||
        redisGetReplyFromReader(s->messages, &reply) != REDIS_OK)
        broken("messages", s->messages->errstr);
    return reply;
}

/* Redisson reads the text as a number, and 0 as: unlocked. */
static bool hears_until(standin *s, uint64_t until_ms)
{
    bool heard = false;

    while (!heard) {
        uint64_t now = wait_now_ms();
        redisReply *reply =
            message_next(s, now < until_ms ? (int)(until_ms - now) : 0);

        if (reply == NULL && now >= until_ms)
            return false;
        if (reply == NULL)
            continue;
        heard = is_push(reply, "message");
        if (heard && strcmp(reply->element[2]->str, "0") != 0)
            broken("message", reply->element[2]->str);
        freeReplyObject(reply);
    }
    return true;
}

bool standin_hears(standin *s, unsigned wait_ms)
{
    return hears_until(s, wait_now_ms() + wait_scaled_ms(wait_ms));
}

/* ---- waiting ---- */

enum { HOUR_MS = 3600000 };

static uint64_t sooner(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static bool lock_by_messages(standin *s, uint64_t until_ms)
{
    for (;;) {
        long long left = acquire(s, true);
        uint64_t now = wait_now_ms();

        if (left == STANDIN_HAS_IT)
            return true;
        if (now < until_ms)
            (void)hears_until(s, sooner(until_ms,
                                        now + (left < 0 ? HOUR_MS
                                                        : (uint64_t)left)));
        if (wait_now_ms() >= until_ms)
            return false;
    }
}

/* A pause is twice the last one and up to a millisecond more for each try. */
static bool lock_by_spinning(standin *s, uint64_t until_ms)
{
    uint64_t ms = 1;

    for (unsigned tries = 2; wait_now_ms() < until_ms; tries++) {
        (void)poll(NULL, 0, (int)ms);
        if (acquire(s, true) == STANDIN_HAS_IT)
            return true;
        ms = sooner(2 * ms + (unsigned)rand_r(&s->seed) % tries, SPIN_MOST_MS);
    }
    return false;
}

bool standin_lock(standin *s, long long wait_ms)
{
    uint64_t until =
        wait_ms < 0 ? UINT64_MAX : wait_now_ms() + (uint64_t)wait_ms;
    bool has_it;

    if (acquire(s, true) == STANDIN_HAS_IT)
        return true;
    if (s->kind == STANDIN_SPIN)
        return lock_by_spinning(s, until);
    standin_subscribe(s);
    has_it = lock_by_messages(s, until);
    standin_unsubscribe(s);
    if (!has_it && s->kind == STANDIN_FAIR)
        standin_give_up(s);
    return has_it;
}

/* ---- the watchdog ---- */

bool standin_renew(standin *s)
{
    return take_integer(command(s, "EVALSHA %s 1 %s %lld %s",
                                s->shas[STANDIN_RENEW], s->lock, s->watchdog_ms,
                                s->owner),
                        0) == 1;
}

void standin_keep(standin *s, unsigned ms)
{
    uint64_t until = wait_now_ms() + ms;
    uint64_t third = (uint64_t)s->watchdog_ms / 3;

    for (uint64_t now = wait_now_ms(); now < until; now = wait_now_ms()) {
        (void)poll(NULL, 0, (int)sooner(third, until - now));
        (void)standin_renew(s);
    }
}
