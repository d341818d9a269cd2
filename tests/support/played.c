/* SPDX-License-Identifier: MIT */
#include "support/played.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/script.h"
#include "engine/client.h"
#include "flight_table.h"
#include "handle/open.h"
#include "latch_table.h"
#include "lock_table.h"
#include "redlock_table.h"
#include "siglock_table.h"
#include "support/check.h"
#include "support/played_cluster.h"

enum { LEASE_MS = 30000, SPARE = 63, SENTINEL_PORT = 26379, READY_MS = 1000 };

const char played_silence[] = "";
const char played_end[] = "the end";

/* Those of a touch and of a close are told apart by what they ask; see
   script_asked(). */
static const struct {
    const lk__script *text;
    played_script script;
} scripts[] = {
    {&lk__lock_acquire_script, PLAYED_ACQUIRE},
    {&lk__lock_touch_script, PLAYED_TOUCH},
    {&lk__lock_keep_script, PLAYED_CONFIRM},
    {&lk__lock_import_script, PLAYED_IMPORT},
    {&lk__lock_renew_script, PLAYED_RENEW},
    {&lk__lock_close_script, PLAYED_RELEASE},
    {&lk__lock_revoke_script, PLAYED_REVOKE},
    {&lk__lock_forget_script, PLAYED_FORGET},
    {&lk__lock_see_script, PLAYED_INFO},
    {&lk__siglock_see_script, PLAYED_INFO},
    {&lk__lock_term_script, PLAYED_OBSERVE},
    {&lk__redlock_acquire_script, PLAYED_TOKEN_ACQUIRE},
    {&lk__redlock_keep_script, PLAYED_TOKEN_RENEW},
    {&lk__redlock_close_script, PLAYED_TOKEN_RELEASE},
    {&lk__flight_join_script, PLAYED_JOIN},
    {&lk__flight_land_script, PLAYED_LAND},
    {&lk__latch_acquire_script, PLAYED_LATCH_WAIT},
    {&lk__latch_touch_script, PLAYED_LATCH_LOOK},
    {&lk__latch_close_script, PLAYED_LATCH_LEAVE},
    {&lk__siglock_acquire_script, PLAYED_SIG_ACQUIRE},
    {&lk__siglock_close_script, PLAYED_SIG_CLOSE},
};

/* ---- scripts -------------------------------------------------------------- */

/* A command as it came. */
typedef struct command {
    int argc;
    const char **argv;
    const size_t *sizes;
} command;

static played_script script_of(const command *c)
{
    for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++) {
        const lk__script *s = scripts[i].text;

        if (strcmp(c->argv[1], s->sha1) == 0 ||
            (c->sizes[1] == s->size &&
             memcmp(c->argv[1], s->body, s->size) == 0))
            return scripts[i].script;
    }
    fail_msg("an unknown script");
    return PLAYED_SCRIPTS;
}

static uint64_t number(const char *text)
{
    return strtoull(text, NULL, 10);
}

/* The i-th argument behind the keys. */
static const char *arg(const command *c, int i)
{
    int at = 3 + (int)number(c->argv[2]) + i;

    assert_true(at < c->argc);
    return c->argv[at];
}

static void say(fake_link *link, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void say(fake_link *link, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fake_say(link, text);
}

/* ---- who waits ------------------------------------------------------------- */

static played_waiter *waiter_find(played *p, const char *owner)
{
    for (size_t i = 0; i < p->waiter_count; i++) {
        if (strcmp(p->waiters[i].owner, owner) == 0)
            return &p->waiters[i];
    }
    return NULL;
}

/* 0: it does not wait. */
static uint64_t ticket_of(played *p, const char *owner)
{
    const played_waiter *waiter = waiter_find(p, owner);

    return waiter != NULL ? waiter->ticket : 0;
}

/* A claim that waits keeps its ticket. */
static uint64_t ticket_give(played *p, const char *owner)
{
    played_waiter *waiter = waiter_find(p, owner);

    if (waiter == NULL) {
        assert_true(p->waiter_count < PLAYED_WAITERS);
        waiter = &p->waiters[p->waiter_count++];
        (void)snprintf(waiter->owner, sizeof(waiter->owner), "%s", owner);
        (void)snprintf(waiter->nonce, sizeof(waiter->nonce), "%s", p->nonce);
        waiter->ticket = ++p->ticket;
    }
    return waiter->ticket;
}

static void waiter_remove(played *p, const char *owner)
{
    played_waiter *waiter = waiter_find(p, owner);

    if (waiter != NULL)
        *waiter = p->waiters[--p->waiter_count];
}

/* ---- the model's answers --------------------------------------------------- */

/* The arguments, as lua/lock/lock.table has them. */
enum {
    ACQUIRE_CLAIM = 0,
    ACQUIRE_LEASE = 1,
    ACQUIRE_HOW = 2,
    ACQUIRE_OWN = 5,
    TOUCH_MEMBERS = 6,
    KEEP_LEASE = 2,
    KEEP_RESERVE = 4,
    CLOSE_WHY = 0,
    CLOSE_CLAIM = 1,
    CLOSE_STONE = 8,
    IMPORT_LEASE = 2
};

static int arg_count(const command *c)
{
    return c->argc - 3 - (int)number(c->argv[2]);
}

/* A touch of one is a look, of none it goes on handing over. */
static played_script script_asked(const command *c)
{
    played_script script = script_of(c);

    if (script == PLAYED_TOUCH && arg_count(c) == TOUCH_MEMBERS)
        return PLAYED_PASS;
    if (script == PLAYED_TOUCH && arg_count(c) == TOUCH_MEMBERS + 1)
        return PLAYED_RECHECK;
    if (script == PLAYED_RELEASE && arg(c, CLOSE_WHY)[0] == 'l')
        return PLAYED_LEAVE;
    if (script == PLAYED_RELEASE && arg(c, CLOSE_WHY)[0] == 'f')
        return PLAYED_FORCE;
    return script;
}

/* Of the member that an argument is: its claim and its lease. */
static void member_read(const command *c, int i, char claim[80], char lease[24])
{
    lk__member_text member;
    lk__text text = {arg(c, i), strlen(arg(c, i))};

    assert_true(lk__packed_read(&lk__member_text_packed, text, &member));
    (void)snprintf(claim, 80, "%.*s", (int)member.claim.size,
                   member.claim.bytes);
    (void)snprintf(lease, 24, "%" PRId64, member.lease);
}

static void answer_acquire(played *p, fake_link *link, const command *c)
{
    if (p->is_held && arg(c, ACQUIRE_HOW)[0] != 'q') {
        say(link, "*2\r\n:3\r\n:%d\r\n", LEASE_MS);
    } else if (p->is_held) {
        say(link, "*4\r\n:2\r\n:%d\r\n:%" PRIu64 "\r\n:0\r\n", LEASE_MS,
            ticket_give(p, arg(c, ACQUIRE_CLAIM)));
    } else {
        say(link, "*4\r\n:1\r\n:%" PRIu64 "\r\n:%s\r\n:%d\r\n", p->fence,
            arg(c, ACQUIRE_LEASE), SPARE);
        p->fence += 1000000;
        p->is_held = true;
    }
}

static void answer_recheck(played *p, fake_link *link, const command *c)
{
    char claim[80], lease[24];

    member_read(c, TOUCH_MEMBERS, claim, lease);
    if (p->is_held) {
        say(link,
            "*7\r\n:2\r\n:%d\r\n:0\r\n:0\r\n:0\r\n*1\r\n:%" PRIu64 "\r\n*0\r\n",
            LEASE_MS, ticket_of(p, claim));
        return;
    }
    say(link,
        "*7\r\n:2\r\n:%s\r\n:0\r\n:0\r\n:0\r\n*1\r\n:0\r\n*4\r\n:1\r\n"
        ":%" PRIu64 "\r\n:%s\r\n:%d\r\n",
        lease, p->fence, lease, SPARE);
    waiter_remove(p, claim);
    p->fence += 1000000;
    p->is_held = true;
}

static void answer_touch(played *p, fake_link *link, const command *c)
{
    int count = arg_count(c) - TOUCH_MEMBERS;
    char claim[80], lease[24];

    say(link, "*7\r\n:2\r\n:%d\r\n:0\r\n:0\r\n:0\r\n*%d\r\n", LEASE_MS, count);
    for (int i = 0; i < count; i++) {
        member_read(c, TOUCH_MEMBERS + i, claim, lease);
        say(link, ":%" PRIu64 "\r\n", ticket_of(p, claim));
    }
    say(link, "*0\r\n");
}

static void answer_leave(played *p, fake_link *link, const command *c)
{
    waiter_remove(p, arg(c, CLOSE_CLAIM));
    p->tombstone_ms =
        arg_count(c) > CLOSE_STONE ? number(arg(c, CLOSE_STONE)) : 0;
    say(link, "*4\r\n:1\r\n:1\r\n:0\r\n:0\r\n");
}

static void answer_latch(fake_link *link, played_script script)
{
    fake_say(link, script == PLAYED_LATCH_LEAVE
                       ? "*2\r\n:1\r\n:1\r\n"
                       : PLAYED_ARMED("1000", "0123456789abcdef"));
}

/* Of a siglock that others hold. */
static void answer_siglock(fake_link *link, played_script script)
{
    say(link, script == PLAYED_SIG_CLOSE ? "*2\r\n:1\r\n:1\r\n"
                                         : "*2\r\n:2\r\n:30000\r\n");
}

static void answer_token(fake_link *link, played_script script)
{
    say(link,
        script == PLAYED_TOKEN_RELEASE ? "*2\r\n:1\r\n:1\r\n" : "*1\r\n:1\r\n");
}

static void answer_operator(fake_link *link, played_script script)
{
    if (script == PLAYED_REVOKE)
        say(link, "*3\r\n:1\r\n:%d\r\n:1\r\n", LEASE_MS);
    else if (script == PLAYED_FORGET)
        say(link, "*1\r\n:2\r\n");
    else
        say(link, "*4\r\n:1\r\n:0\r\n*0\r\n*0\r\n");
}

static void
answer_model(played *p, fake_link *link, played_script script, const command *c)
{
    switch (script) {
    case PLAYED_ACQUIRE:
        answer_acquire(p, link, c);
        break;
    case PLAYED_RECHECK:
        answer_recheck(p, link, c);
        break;
    case PLAYED_TOUCH:
    case PLAYED_PASS:
        answer_touch(p, link, c);
        break;
    case PLAYED_CONFIRM:
        say(link, "*4\r\n:1\r\n:%s\r\n:%d\r\n:%s\r\n", arg(c, KEEP_LEASE),
            p->waits ? 1 : 0, arg(c, KEEP_RESERVE));
        break;
    case PLAYED_IMPORT:
        say(link, "*4\r\n:1\r\n:%" PRIu64 "\r\n:%s\r\n:%d\r\n", p->fence,
            arg(c, IMPORT_LEASE), SPARE);
        break;
    case PLAYED_RENEW:
        say(link, "*2\r\n:1\r\n*0\r\n");
        break;
    case PLAYED_RELEASE:
    case PLAYED_FORCE:
        p->is_held = false;
        say(link, "*4\r\n:1\r\n:2\r\n:0\r\n:0\r\n");
        break;
    case PLAYED_LEAVE:
        answer_leave(p, link, c);
        break;
    case PLAYED_REVOKE:
    case PLAYED_FORGET:
    case PLAYED_INFO:
        answer_operator(link, script);
        break;
    case PLAYED_OBSERVE:
        say(link, "*3\r\n:1\r\n:%d\r\n:%" PRIu64 "\r\n", LEASE_MS, p->term);
        break;
    case PLAYED_TOKEN_ACQUIRE:
    case PLAYED_TOKEN_RENEW:
    case PLAYED_TOKEN_RELEASE:
        answer_token(link, script);
        break;
    case PLAYED_LAND:
    case PLAYED_JOIN:
        say(link, "*1\r\n:%d\r\n", script == PLAYED_LAND ? 1 : 3);
        break;
    case PLAYED_LATCH_WAIT:
    case PLAYED_LATCH_LOOK:
    case PLAYED_LATCH_LEAVE:
        answer_latch(link, script);
        break;
    case PLAYED_SIG_ACQUIRE:
    case PLAYED_SIG_CLOSE:
        answer_siglock(link, script);
        break;
    case PLAYED_SCRIPTS:
        break;
    }
}

static void note(played *p, played_script script, const command *c)
{
    p->counts[script]++;
    p->times[script] = fake_world_now(p->world);
    if (script != PLAYED_ACQUIRE)
        return;
    (void)snprintf(p->owner, sizeof(p->owner), "%s", arg(c, ACQUIRE_CLAIM));
    (void)snprintf(p->inbox, sizeof(p->inbox), "latchkey:in::%.36s", p->owner);
    (void)snprintf(p->nonce, sizeof(p->nonce), "%.16s",
                   arg(c, ACQUIRE_OWN) + strlen(p->owner) + 1);
}

static void answer_script(played *p, fake_link *link, const command *c)
{
    played_script script = script_asked(c);

    note(p, script, c);
    p->links[script] = fake_link_number(link);
    if (p->answers[script] == played_silence)
        p->silent = link;
    if (p->silent == link)
        return;
    if (p->answers[script] == played_end)
        fake_end(link);
    else if (p->answers[script] == NULL)
        answer_model(p, link, script, c);
    else
        fake_say(link, p->answers[script]);
}

/* ---- the rest of the server ------------------------------------------------ */

static void answer_subscribe(played *p, fake_link *link, const command *c)
{
    p->inbox_link = link;
    say(link, "*3\r\n$9\r\nsubscribe\r\n$%zu\r\n%s\r\n:1\r\n", c->sizes[1],
        c->argv[1]);
}

static void answer_kill(played *p, fake_link *link, const command *c)
{
    p->kills++;
    p->killed_id = number(c->argv[3]);
    fake_say(link, p->kill_answer != NULL ? p->kill_answer : "+OK\r\n");
}

static void answer_tracking(played *p, fake_link *link, const command *c)
{
    bool begins = strcasecmp(c->argv[1], "TRACKING") == 0;

    p->trackings += begins;
    p->cachings += !begins;
    if (begins)
        p->tracking_id = number(c->argv[4]);
    fake_say(link, p->tracking_answer != NULL ? p->tracking_answer : "+OK\r\n");
}

static void answer_client(played *p, fake_link *link, const command *c)
{
    if (strcasecmp(c->argv[1], "ID") == 0 && p->id_answer != NULL)
        fake_say(link, p->id_answer);
    else if (strcasecmp(c->argv[1], "SETNAME") == 0 && p->name_answer != NULL)
        fake_say(link, p->name_answer);
    else if (strcasecmp(c->argv[1], "ID") == 0)
        say(link, ":%u\r\n", fake_link_number(link) + 1);
    else if (strcasecmp(c->argv[1], "KILL") == 0)
        answer_kill(p, link, c);
    else if (strcasecmp(c->argv[1], "TRACKING") == 0 ||
             strcasecmp(c->argv[1], "CACHING") == 0)
        answer_tracking(p, link, c);
    else
        say(link, "+OK\r\n");
}

static void answer_info(const played *p, fake_link *link)
{
    if (p->info_answer != NULL)
        fake_say(link, p->info_answer);
    else
        say(link, "$%zu\r\nrun_id:%s\r\n",
            strlen("run_id:") + strlen(p->run_id), p->run_id);
}

static void answer_time(const played *p, fake_link *link)
{
    char seconds[24], us[24];
    int64_t now = (int64_t)(fake_world_now(p->world) / 1000) + p->set_us;

    (void)snprintf(seconds, sizeof(seconds), "%" PRId64, now / 1000000);
    (void)snprintf(us, sizeof(us), "%" PRId64, now % 1000000);
    say(link, "*2\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n", strlen(seconds), seconds,
        strlen(us), us);
}

/* Of a lock that nobody has. */
static const char lock_record[] = "2l 0 0 0 - - - 0 - - - 0 0 - - ";

static bool is_record(const char *key)
{
    size_t size = strlen(key);

    return size > 2 && strcmp(key + size - 2, ":r") == 0;
}

static bool is_sentinel(const fake_link *link)
{
    return fake_link_address(link)->port == SENTINEL_PORT;
}

/* It has named this master for long. */
static void answer_sentinel(const played *p, fake_link *link, const command *c)
{
    const char *host = p->named != NULL ? p->named : "server";
    const bool is_master = c->argc > 1 && strcasecmp(c->argv[1], "MASTER") == 0;

    if (strcasecmp(c->argv[0], "SUBSCRIBE") == 0)
        fake_say(link, "*3\r\n$9\r\nsubscribe\r\n$14\r\n+switch-master\r\n"
                       ":1\r\n");
    else if (is_master)
        say(link,
            "*8\r\n$2\r\nip\r\n$%zu\r\n%s\r\n$4\r\nport\r\n$4\r\n6379\r\n"
            "$13\r\nrole-reported\r\n$6\r\nmaster\r\n"
            "$18\r\nrole-reported-time\r\n$6\r\n100000\r\n",
            strlen(host), host);
    else if (strcasecmp(c->argv[0], "SENTINEL") == 0)
        say(link, "*2\r\n$%zu\r\n%s\r\n$4\r\n6379\r\n", strlen(host), host);
    else
        fake_say(link, "+OK\r\n");
}

/* NOLINTNEXTLINE(readability-function-cognitive-complexity): one list */
static void on_command(void *data, fake_link *link, int argc, const char **argv,
                       const size_t *sizes)
{
    const command c = {argc, argv, sizes};
    played *p = data;
    const char *word = argv[0];

    if (p->nodes != NULL && played_node_command(p, link, argc, argv))
        return;
    if ((p->is_mute && !is_sentinel(link)) ||
        (p->silent == link && strncmp(word, "EVAL", 4) != 0))
        return;
    if (is_sentinel(link)) {
        answer_sentinel(p, link, &c);
    } else if (strncmp(word, "EVAL", 4) == 0 && strcmp(argv[2], "0") != 0) {
        answer_script(p, link, &c);
    } else if (strcmp(word, "SUBSCRIBE") == 0) {
        answer_subscribe(p, link, &c);
    } else if (strcmp(word, "CLIENT") == 0) {
        answer_client(p, link, &c);
    } else if (strcmp(word, "TIME") == 0 && p->tells_time) {
        answer_time(p, link);
    } else if (strcmp(word, "BLPOP") == 0) {
        p->pop_link = link;
    } else if (strcmp(word, "INFO") == 0) {
        answer_info(p, link);
    } else if (strcmp(word, "PING") == 0) {
        p->pings++;
        fake_say(link, p->ping_answer != NULL ? p->ping_answer : "+PONG\r\n");
    } else if (strcmp(word, "GET") == 0 && is_record(argv[1])) {
        say(link, "$%zu\r\n%s\r\n", strlen(lock_record), lock_record);
    } else if (strcmp(word, "EXISTS") == 0 && p->exists_answer != NULL) {
        fake_say(link, p->exists_answer);
    } else if (strcmp(word, "SCAN") == 0 && p->scan_answer != NULL) {
        fake_say(link, p->scan_answer);
    } else if (strcmp(word, "XREVRANGE") == 0 && p->range_answer != NULL) {
        fake_say(link, p->range_answer);
    } else if (strcmp(word, "EXISTS") == 0) {
        say(link, ":%d\r\n", p->is_held ? 1 : 0);
    } else {
        say(link, "+OK\r\n");
    }
}

static int on_connect(void *data, fake_link *link)
{
    played *p = data;

    if (is_sentinel(link))
        return 0;
    if (p->nodes != NULL)
        return played_node_connect(p, link);
    p->connects++;
    p->connected_at = fake_world_now(p->world);
    return p->connect_answer;
}

static const fake_server server = {.on_connect = on_connect,
                                   .on_command = on_command};

/* ---- for the test ---------------------------------------------------------- */

static played *open_at(const char *url, uint64_t seed,
                       const lk_client_options *options, size_t masters)
{
    played *p = calloc(1, sizeof(*p));

    assert_non_null(p);
    if (masters > 0) {
        p->node_count = masters + PLAYED_SPARE;
        p->nodes = played_nodes_new(masters, p->node_count);
    }
    p->fence = 1000;
    (void)snprintf(p->run_id, sizeof(p->run_id), "abcdef");
    p->world = fake_world_new(seed, &server, p);
    *fake_world_settings(p->world) = (fake_settings){.connect_ns = FAKE_MS,
                                                     .request_ns = FAKE_MS,
                                                     .reply_ns = FAKE_MS};
    assert_status(lk__client_open_in(&p->client, fake_world_base(p->world), url,
                                     options),
                  LK_OK);
    assert_status(lk_lock_new(&p->lock, p->client, "n", NULL), LK_OK);
    assert_status(lk_client_wait_ready(p->client, READY_MS), LK_OK);
    return p;
}

played *played_new(uint64_t seed, const lk_client_options *options)
{
    return open_at("redis://server", seed, options, 0);
}

played *played_new_group(uint64_t seed, const lk_client_options *options)
{
    return open_at("redis+sentinel://s0,s1,s2/m", seed, options, 0);
}

played *played_new_cluster(uint64_t seed, const lk_client_options *options,
                           size_t masters, const char *hosts)
{
    char url[64];

    (void)snprintf(url, sizeof(url), "redis+cluster://%s",
                   hosts != NULL ? hosts : "n0,n1,n2");
    return open_at(url, seed, options, masters);
}

void played_free(played *p)
{
    if (p == NULL)
        return;
    lk_lock_free(p->lock);
    lk_client_free(p->client);
    fake_world_free(p->world);
    free(p->nodes);
    free(p);
}

void played_run_ms(played *p, uint64_t ms)
{
    fake_world_run_for(p->world, ms * FAKE_MS);
}

uint64_t played_now_ms(const played *p)
{
    return (fake_world_now(p->world) - FAKE_START) / FAKE_MS;
}

void played_ways(played *p, uint64_t request_ms, uint64_t reply_ms)
{
    fake_world_settings(p->world)->request_ns = request_ms * FAKE_MS;
    fake_world_settings(p->world)->reply_ns = reply_ms * FAKE_MS;
}

void played_publish(played *p, const char *text)
{
    played_publish_on(p, p->inbox, text);
}

void played_publish_on(played *p, const char *channel, const char *text)
{
    assert_non_null(p->inbox_link);
    say(p->inbox_link, "*3\r\n$7\r\nmessage\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n",
        strlen(channel), channel, strlen(text), text);
}

void played_invalidate(played *p, const char *key)
{
    assert_non_null(p->inbox_link);
    fake_say(p->inbox_link,
             "*3\r\n$7\r\nmessage\r\n$20\r\n__redis__:invalidate\r\n");
    if (key == NULL)
        fake_say(p->inbox_link, "$-1\r\n");
    else
        say(p->inbox_link, "*1\r\n$%zu\r\n%s\r\n", strlen(key), key);
}

void played_signal(played *p)
{
    assert_non_null(p->pop_link);
    fake_say(p->pop_link, "*2\r\n$13\r\nlock-signal:n\r\n$1\r\n1\r\n");
    p->pop_link = NULL;
}

void played_grant(played *p, uint64_t ticket, uint64_t fence, uint64_t lease_ms)
{
    char text[320];

    p->is_held = true;
    waiter_remove(p, p->owner);
    (void)snprintf(text, sizeof(text),
                   "grant 0 lock %s %s %" PRIu64 " %" PRIu64 " %d %" PRIu64
                   " n",
                   p->owner, p->nonce, ticket, fence, SPARE, lease_ms);
    played_publish(p, text);
}

void played_break(played *p)
{
    unsigned number = 0;
    fake_link *link;

    while ((link = fake_world_link(p->world, number++)) != NULL)
        if (!is_sentinel(link))
            fake_break(link, -ECONNRESET);
}

lk_client_stats played_stats(played *p)
{
    lk_client_stats stats = {.size = sizeof(stats)};

    assert_status(lk_client_stats_get(p->client, &stats), LK_OK);
    return stats;
}

unsigned played_renewals(const played *p)
{
    return p->counts[PLAYED_RENEW] + p->counts[PLAYED_CONFIRM];
}

uint64_t played_renewed_at(const played *p)
{
    return p->times[PLAYED_RENEW] > p->times[PLAYED_CONFIRM]
               ? p->times[PLAYED_RENEW]
               : p->times[PLAYED_CONFIRM];
}

unsigned played_renewed_over(const played *p)
{
    return p->times[PLAYED_RENEW] > p->times[PLAYED_CONFIRM]
               ? p->links[PLAYED_RENEW]
               : p->links[PLAYED_CONFIRM];
}

void played_renew_so(played *p, const char *answer)
{
    p->answers[PLAYED_RENEW] = answer;
    p->answers[PLAYED_CONFIRM] = answer;
}
