/* SPDX-License-Identifier: MIT */
#include "support/script.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/names.h"
#include "base/slot.h"
#include "support/check.h"
#include "support/node.h"

enum { MAX_ARGS = 600, TEXT_SIZE = 65536 };

/* ---- text of replies ---- */

typedef struct page {
    char *bytes;
    size_t used;
} page;

static page text_new(void)
{
    page t = {.bytes = malloc(TEXT_SIZE)};

    assert_non_null(t.bytes);
    t.bytes[0] = '\0';
    return t;
}

static void text_add(page *t, const char *bytes, size_t size)
{
    assert_true(t->used + size < TEXT_SIZE);
    memcpy(t->bytes + t->used, bytes, size);
    t->used += size;
    t->bytes[t->used] = '\0';
}

static void text_add_string(page *t, const char *string)
{
    text_add(t, string, strlen(string));
}

/* What an error says, behind where a script was, which Redis 6 puts first:
   "ERR Error running script (call to f_0a): @user_script:1: @user_script: 1: -" */
static const char *error_words(const char *text)
{
    static const char running[] = "ERR Error running script";
    static const char place[] = "@user_script:";
    const char *at = text;

    if (strncmp(at, running, sizeof(running) - 1) == 0)
        at = strstr(at, place);
    assert_non_null(at);
    while (strncmp(at, place, sizeof(place) - 1) == 0) {
        at += sizeof(place) - 1;
        at += strspn(at, " 0123456789");
        at += strspn(at, ": ");
    }
    return *at == '-' ? at + 1 : at;
}

/* Servers have two ways to say it. */
static bool is_denied(const char *words)
{
    return strstr(words, "user executing the script can't ") != NULL ||
           strstr(words, "ACL failure in script: ") != NULL;
}

static void text_add_error(page *t, const char *text)
{
    const char *words = error_words(text);

    text_add_string(t, is_denied(words) ? "!DENIED " : "!");
    text_add_string(t, words);
}

static void text_add_leaf(page *t, const redisReply *reply)
{
    char number[24];

    if (reply->type == REDIS_REPLY_INTEGER) {
        snprintf(number, sizeof(number), "%lld", reply->integer);
        text_add_string(t, number);
    } else if (reply->type == REDIS_REPLY_NIL) {
        text_add_string(t, "nil");
    } else if (reply->type == REDIS_REPLY_ERROR) {
        text_add_error(t, reply->str);
    } else {
        if (reply->len == 0)
            text_add_string(t, "\"\"");
        text_add(t, reply->str, (size_t)reply->len);
    }
}

static void text_add_list(page *t, const redisReply *list, int depth)
{
    for (size_t i = 0; i < list->elements; i++) {
        const redisReply *item = list->element[i];

        if (i > 0)
            text_add_string(t, " ");
        if (item->type != REDIS_REPLY_ARRAY) {
            text_add_leaf(t, item);
            continue;
        }
        assert_true(depth < 4);
        text_add_string(t, "(");
        text_add_list(t, item, depth + 1);
        text_add_string(t, ")");
    }
}

static char *text_of(const redisReply *reply)
{
    page t = text_new();

    if (reply->type == REDIS_REPLY_ARRAY)
        text_add_list(&t, reply, 0);
    else
        text_add_leaf(&t, reply);
    return t.bytes;
}

static void text_keep(char **slot, char *fresh)
{
    free(*slot);
    *slot = fresh;
}

static char *text_copy(const char *text)
{
    char *copy = strdup(text);

    assert_non_null(copy);
    return copy;
}

/* ---- fixture ---- */

static server *the_server;
static bool is_owned[LK__SLOTS]; /* by a node */

static bool is_node(void)
{
    return getenv("LK_TEST_CLUSTER") != NULL;
}

static bool own_slot_of(const char *name)
{
    unsigned slot = lk__slot_of(name, strlen(name));

    if (!is_node() || is_owned[slot])
        return true;
    is_owned[slot] = true;
    return node_own(the_server, slot, slot);
}

static server *start_node(void)
{
    static const char *const args[] = {"--cluster-require-full-coverage", "no",
                                       NULL};

    the_server = server_start_node(args);
    if (the_server != NULL && own_slot_of("n") && node_wait_ok(the_server))
        return the_server;
    server_stop(the_server);
    return NULL;
}

bool script_server_shards(void)
{
    return node_says(the_server, "SSUBSCRIBE", "wrong number of arguments");
}

int script_start_server(void **state)
{
    (void)state;
    the_server = is_node() ? start_node() : server_start(NULL);
    return the_server != NULL ? 0 : -1;
}

int script_stop_server(void **state)
{
    (void)state;
    server_stop(the_server);
    return 0;
}

static redisContext *connect_to(const server *s)
{
    redisContext *context = redisConnectUnix(server_socket(s));

    assert_non_null(context);
    assert_int_equal(context->err, 0);
    return context;
}

static const script_layout lock_layout = {
    .count = KEY_LOCK + 1,
    .keys = {[KEY_LOCK] = ""},
    .channel = "redisson_lock__channel",
};

static char *key_make(const char *form, const char *name)
{
    bool is_tagged = strchr(name, '{') != NULL;
    char key[512];

    if (form[0] == '\0')
        snprintf(key, sizeof(key), "%s", name);
    else if (form[strlen(form) - 1] == '*')
        snprintf(key, sizeof(key), "%.*s%s", (int)strlen(form) - 1, form, name);
    else if (form[strlen(form) - 1] == '}')
        snprintf(key, sizeof(key), "%.*s%s}", (int)strlen(form) - 1, form,
                 name);
    else if (form[0] == ':' && form[2] == '\0')
        lk__key_write(form, name, key, sizeof(key));
    else if (form[0] != ':')
        snprintf(key, sizeof(key), is_tagged ? "%s:%s" : "%s:{%s}", form, name);
    else
        snprintf(key, sizeof(key), is_tagged ? "%s%s" : "{%s}%s", name, form);
    return text_copy(key);
}

static void keys_free(script_fixture *f)
{
    for (size_t i = 0; i < SCRIPT_KEYS; i++)
        text_keep(&f->keys[i], NULL);
    text_keep(&f->channel, NULL);
}

static void keys_make(script_fixture *f)
{
    keys_free(f);
    for (size_t i = 0; i < f->layout->count; i++)
        f->keys[i] = key_make(f->layout->keys[i], f->name);
    f->channel = key_make(f->layout->channel, f->name);
}

void script_set_name(script_fixture *f, const char *name)
{
    text_keep(&f->name, text_copy(name));
    keys_make(f);
    assert_true(own_slot_of(name));
}

void script_set_layout(script_fixture *f, const script_layout *layout)
{
    f->layout = layout;
    keys_make(f);
}

int script_setup(void **state)
{
    script_fixture *f = calloc(1, sizeof(*f));

    if (f == NULL)
        return -1;
    f->server = the_server;
    f->interop = "0";
    server_flush(the_server);
    f->runner = connect_to(the_server);
    f->plain = connect_to(the_server);
    f->layout = &lock_layout;
    script_set_name(f, "n");
    *state = f;
    return 0;
}

int script_teardown(void **state)
{
    script_fixture *f = *state;

    script_fill_memory(f, false);
    keys_free(f);
    free(f->name);
    redisFree(f->runner);
    redisFree(f->plain);
    if (f->inboxes != NULL)
        redisFree(f->inboxes);
    if (f->answer != NULL)
        freeReplyObject(f->answer);
    free(f->answer_text);
    free(f->redis_text);
    free(f->heard_text);
    free(f);
    return 0;
}

/* ---- running ---- */

const char *script_run_keys(script_fixture *f, const lk__script *script,
                            const char *const *keys, size_t key_count,
                            const char *const *args)
{
    const char *argv[MAX_ARGS] = {"EVAL"};
    char count[24], *body = NULL;
    int argc = 3;

    snprintf(count, sizeof(count), "%zu", key_count);
    assert_true(asprintf(&body, "%s%s", f->stamp, script->body) > 0);
    argv[1] = body;
    argv[2] = count;
    for (size_t i = 0; i < key_count && argc < MAX_ARGS; i++)
        argv[argc++] = keys[i];
    for (size_t i = 0; args[i] != NULL && argc < MAX_ARGS; i++)
        argv[argc++] = args[i];
    assert_true(argc < MAX_ARGS);

    if (f->answer != NULL)
        freeReplyObject(f->answer);
    f->answer = redisCommandArgv(f->runner, argc, argv, NULL);
    free(body);
    assert_non_null(f->answer);
    text_keep(&f->answer_text, text_of(f->answer));
    return f->answer_text;
}

long long script_item(const script_fixture *f, size_t index)
{
    assert_int_equal(f->answer->type, REDIS_REPLY_ARRAY);
    assert_true(index < f->answer->elements);
    assert_int_equal(f->answer->element[index]->type, REDIS_REPLY_INTEGER);
    return f->answer->element[index]->integer;
}

static const char *
redis_vtext(script_fixture *f, const char *format, va_list args)
{
    redisReply *reply = redisvCommand(f->plain, format, args);

    assert_non_null(reply);
    text_keep(&f->redis_text, text_of(reply));
    freeReplyObject(reply);
    return f->redis_text;
}

const char *script_redis(script_fixture *f, const char *format, ...)
{
    va_list args;
    const char *answer;

    va_start(args, format);
    answer = redis_vtext(f, format, args);
    va_end(args);
    return answer;
}

long long script_number(script_fixture *f, const char *format, ...)
{
    va_list args;
    const char *answer;

    va_start(args, format);
    answer = redis_vtext(f, format, args);
    va_end(args);
    return strtoll(answer, NULL, 10);
}

long long script_now_ms(script_fixture *f)
{
    char *rest;
    long long seconds = strtoll(script_redis(f, "TIME"), &rest, 10);

    return seconds * 1000 + strtoll(rest, NULL, 10) / 1000;
}

/* ---- listening ---- */

/* Reads until the reply of this kind; messages before it are noted. */
static void inboxes_read(script_fixture *f, const char *kind, page *messages)
{
    bool is_done = false;

    while (!is_done) {
        redisReply *reply = NULL;

        assert_int_equal(redisGetReply(f->inboxes, (void **)&reply), REDIS_OK);
        assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
        is_done = strcmp(reply->element[0]->str, kind) == 0;
        if (!is_done && messages != NULL) {
            text_add_string(messages, reply->element[1]->str);
            text_add_string(messages, " ");
            text_add(messages, reply->element[2]->str,
                     (size_t)reply->element[2]->len);
            text_add_string(messages, "\n");
        }
        freeReplyObject(reply);
    }
}

void script_listen(script_fixture *f, const char *channel)
{
    if (f->inboxes == NULL)
        f->inboxes = connect_to(f->server);
    if (channel[0] == '+') {
        redisAppendCommand(f->inboxes, "SSUBSCRIBE %s", channel + 1);
        inboxes_read(f, "ssubscribe", NULL);
    } else {
        redisAppendCommand(f->inboxes, "SUBSCRIBE %s", channel);
        inboxes_read(f, "subscribe", NULL);
    }
}

void script_deafen(script_fixture *f, const char *channel)
{
    redisAppendCommand(f->inboxes, "UNSUBSCRIBE %s", channel);
    inboxes_read(f, "unsubscribe", NULL);
}

const char *script_heard(script_fixture *f)
{
    page messages = text_new();

    assert_non_null(f->inboxes);
    /* The answer comes behind everything published before it. */
    redisAppendCommand(f->inboxes, "PING");
    inboxes_read(f, "pong", &messages);
    text_keep(&f->heard_text, messages.bytes);
    return f->heard_text;
}

/* ---- faults ---- */

void script_deny(script_fixture *f, const char *command)
{
    const char *user = command != NULL ? "restricted" : "default";
    redisReply *reply;

    if (command != NULL)
        assert_like(script_redis(f,
                                 "ACL SETUSER restricted reset on >x ~* &* "
                                 "+@all -%s",
                                 command),
                    "OK");
    reply = redisCommand(f->runner, "AUTH %s x", user);
    assert_non_null(reply);
    assert_int_equal(reply->type, REDIS_REPLY_STATUS);
    freeReplyObject(reply);
}

void script_start_over(script_fixture *f)
{
    script_deny(f, NULL);
    server_flush(f->server);
}

void script_fill_memory(script_fixture *f, bool is_full)
{
    assert_like(script_redis(f, "CONFIG SET maxmemory %s", is_full ? "1" : "0"),
                "OK");
}

/* For the script behind it no time passes: it is `now`. R is redis itself. */
#define FROZEN                                                                 \
    "local redis = setmetatable({call = function(name, ...) "                  \
    "if name == 'TIME' then return now end "                                   \
    "return R.call(name, ...) end}, {__index = R}) "

void script_at(script_fixture *f, long long ms)
{
    snprintf(f->stamp, sizeof(f->stamp),
             "local R, now = redis, redis.call('TIME') "
             "now[2] = %lld " FROZEN,
             ms * 1000);
}

void script_expire(script_fixture *f)
{
    assert_like(script_redis(f, "DEL %s", f->keys[KEY_LOCK]), "1");
}

/* Nobody is met there; the node is known for a while all the same. */
bool script_move(script_fixture *f)
{
    unsigned slot = lk__slot_of(f->name, strlen(f->name));
    char id[48] = "";
    const char *line;

    if (!is_node())
        return false;
    assert_like(script_redis(f, "CLUSTER MEET 127.0.0.1 1"), "OK");
    line = strstr(script_redis(f, "CLUSTER NODES"), " handshake");
    assert_non_null(line);
    while (line > f->redis_text && line[-1] != '\n')
        line--;
    snprintf(id, sizeof(id), "%.40s", line);
    assert_like(script_redis(f, "CLUSTER SETSLOT %u MIGRATING %s", slot, id),
                "OK");
    return true;
}

void script_stop_moving(script_fixture *f)
{
    assert_like(script_redis(f, "CLUSTER SETSLOT %u STABLE",
                             lk__slot_of(f->name, strlen(f->name))),
                "OK");
}
