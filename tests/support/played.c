/* SPDX-License-Identifier: MIT */
#include "support/played.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "engine/client.h"
#include "handle/open.h"
#include "support/check.h"
#include "support/played_cluster.h"
#include "support/played_inside.h"

enum { SENTINEL_PORT = 26379, READY_MS = 1000 };

const char played_silence[] = "";
const char played_end[] = "the end";

/* ---- the server ----------------------------------------------------------- */

void played_say(fake_link *link, const char *format, ...)
{
    char text[512];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    fake_say(link, text);
}

static void
answer_subscribe(played *p, fake_link *link, const played_command *c)
{
    p->inbox_link = link;
    if (p->subscribe_answer != NULL)
        fake_say(link, p->subscribe_answer);
    else
        played_say(link, "*3\r\n$9\r\nsubscribe\r\n$%zu\r\n%s\r\n:1\r\n",
                   c->sizes[1], c->argv[1]);
}

static void answer_kill(played *p, fake_link *link, const played_command *c)
{
    p->kills++;
    p->killed_id = strtoull(c->argv[3], NULL, 10);
    fake_say(link, p->kill_answer != NULL ? p->kill_answer : ":1\r\n");
}

static void answer_tracking(played *p, fake_link *link, const played_command *c)
{
    bool begins = strcasecmp(c->argv[1], "TRACKING") == 0;

    p->trackings += begins;
    p->cachings += !begins;
    if (begins)
        p->tracking_id = strtoull(c->argv[4], NULL, 10);
    fake_say(link, p->tracking_answer != NULL ? p->tracking_answer : "+OK\r\n");
}

static void answer_client(played *p, fake_link *link, const played_command *c)
{
    if (strcasecmp(c->argv[1], "ID") == 0 && p->id_answer != NULL)
        fake_say(link, p->id_answer);
    else if (strcasecmp(c->argv[1], "SETNAME") == 0 && p->name_answer != NULL)
        fake_say(link, p->name_answer);
    else if (strcasecmp(c->argv[1], "ID") == 0)
        played_say(link, ":%u\r\n", link->number + 1);
    else if (strcasecmp(c->argv[1], "KILL") == 0)
        answer_kill(p, link, c);
    else if (strcasecmp(c->argv[1], "TRACKING") == 0 ||
             strcasecmp(c->argv[1], "CACHING") == 0)
        answer_tracking(p, link, c);
    else
        played_say(link, "+OK\r\n");
}

static void answer_info(const played *p, fake_link *link)
{
    if (p->info_answer != NULL)
        fake_say(link, p->info_answer);
    else
        played_say(link, "$%zu\r\nrun_id:%s\r\n",
                   strlen("run_id:") + strlen(p->run_id), p->run_id);
}

static void answer_time(const played *p, fake_link *link)
{
    char seconds[24], us[24];
    int64_t now = (int64_t)(fake_world_now(p->world) / 1000) + p->set_us;

    (void)snprintf(seconds, sizeof(seconds), "%" PRId64, now / 1000000);
    (void)snprintf(us, sizeof(us), "%" PRId64, now % 1000000);
    played_say(link, "*2\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n", strlen(seconds),
               seconds, strlen(us), us);
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
    return link->address.port == SENTINEL_PORT;
}

/* It has named this master for long. */
static void
answer_sentinel(const played *p, fake_link *link, const played_command *c)
{
    const char *host = p->named != NULL ? p->named : "server";
    const bool is_master = c->argc > 1 && strcasecmp(c->argv[1], "MASTER") == 0;

    if (strcasecmp(c->argv[0], "SUBSCRIBE") == 0)
        fake_say(link, "*3\r\n$9\r\nsubscribe\r\n$14\r\n+switch-master\r\n"
                       ":1\r\n");
    else if (is_master)
        played_say(
            link,
            "*8\r\n$2\r\nip\r\n$%zu\r\n%s\r\n$4\r\nport\r\n$4\r\n6379\r\n"
            "$13\r\nrole-reported\r\n$6\r\nmaster\r\n"
            "$18\r\nrole-reported-time\r\n$6\r\n100000\r\n",
            strlen(host), host);
    else if (strcasecmp(c->argv[0], "SENTINEL") == 0)
        played_say(link, "*2\r\n$%zu\r\n%s\r\n$4\r\n6379\r\n", strlen(host),
                   host);
    else
        fake_say(link, "+OK\r\n");
}

static void answer_delifeq(played *p, fake_link *link)
{
    p->delifeqs++;
    p->delifeq_link = link->number;
    if (p->delifeq_answer == played_end)
        fake_end(link);
    else
        fake_say(link, p->delifeq_answer != NULL
                           ? p->delifeq_answer
                           : "-ERR unknown command 'DELIFEQ'\r\n");
}

/* NOLINTNEXTLINE(readability-function-cognitive-complexity): one list */
static void on_command(void *data, fake_link *link, int argc, const char **argv,
                       const size_t *sizes)
{
    const played_command c = {argc, argv, sizes};
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
        played_answer_script(p, link, &c);
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
        played_say(link, "$%zu\r\n%s\r\n", strlen(lock_record), lock_record);
    } else if (strcmp(word, "EXISTS") == 0 && p->exists_answer != NULL) {
        fake_say(link, p->exists_answer);
    } else if (strcmp(word, "DELIFEQ") == 0) {
        answer_delifeq(p, link);
    } else if (strcmp(word, "SCAN") == 0 && p->scan_answer != NULL) {
        fake_say(link, p->scan_answer);
    } else if (strcmp(word, "XREVRANGE") == 0 && p->range_answer != NULL) {
        fake_say(link, p->range_answer);
    } else if (strcmp(word, "EXISTS") == 0) {
        played_say(link, ":%d\r\n", p->is_held ? 1 : 0);
    } else {
        played_say(link, "+OK\r\n");
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
    assert_status(lk__client_open_in(&p->client, &p->world->process.base, url,
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
    p->world->path->ns[SIM_THERE] = request_ms * FAKE_MS;
    p->world->path->ns[SIM_BACK] = reply_ms * FAKE_MS;
}

void played_publish(played *p, const char *text)
{
    played_publish_on(p, p->inbox, text);
}

void played_publish_on(played *p, const char *channel, const char *text)
{
    assert_non_null(p->inbox_link);
    played_say(p->inbox_link,
               "*3\r\n$7\r\nmessage\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n",
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
        played_say(p->inbox_link, "*1\r\n$%zu\r\n%s\r\n", strlen(key), key);
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
    played_waiter_remove(p, p->owner);
    (void)snprintf(text, sizeof(text),
                   "grant 0 lock %s %s %" PRIu64 " %" PRIu64 " %d %" PRIu64
                   " n",
                   p->owner, p->nonce, ticket, fence, PLAYED_SPARE_FENCES,
                   lease_ms);
    played_publish(p, text);
}

void played_break(played *p)
{
    unsigned number = 0;
    fake_link *link;

    while ((link = fake_world_link(p->world, number++)) != NULL)
        if (!is_sentinel(link))
            fake_break(link);
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
