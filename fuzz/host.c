/* SPDX-License-Identifier: MIT */

#include "host.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "engine/client.h"
#include "handle/open.h"

enum {
    ANSWER_SIZE = 4096,
    COMMANDS_MAX = 600,
    DEPTH_MAX = 4,
    LEASE_MS = 30000
};

/* An answer as it is made. What does not fit is left out. */
typedef struct answer {
    size_t size;
    char bytes[ANSWER_SIZE];
} answer;

static void put_bytes(answer *a, const char *bytes, size_t size)
{
    if (size > ANSWER_SIZE - a->size)
        size = ANSWER_SIZE - a->size;
    if (size > 0)
        memcpy(a->bytes + a->size, bytes, size);
    a->size += size;
}

__attribute__((format(printf, 2, 3))) static void
put(answer *a, const char *format, ...)
{
    char text[512];
    va_list args;
    int size;

    va_start(args, format);
    size = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    put_bytes(a, text, size < (int)sizeof(text) ? (size_t)size : 0);
}

static void put_bulk(answer *a, const char *bytes, size_t size)
{
    put(a, "$%zu\r\n", size);
    put_bytes(a, bytes, size);
    put(a, "\r\n");
}

/* ---- the command ------------------------------------------------------------ */

typedef struct command {
    int argc;
    const char **argv;
    const size_t *sizes;
    const char *script; /* its name; NULL: it is none that is known */
    int keys;
} command;

static bool is_script(const command *c)
{
    return strncmp(c->argv[0], "EVAL", 4) == 0 && c->argc > 2;
}

static void script_find(command *c)
{
    c->script = NULL;
    c->keys = 0;
    if (!is_script(c))
        return;
    c->keys = (int)strtol(c->argv[2], NULL, 10);
    for (size_t i = 0; i < lk__script_count; i++) {
        const lk__script *s = all_scripts[i];

        if (strcmp(c->argv[1], s->sha1) == 0 ||
            (c->sizes[1] == s->size &&
             memcmp(c->argv[1], s->body, s->size) == 0))
            c->script = s->name;
    }
}

/* The i-th argument behind the keys; "" if there is none. */
static const char *argument(const command *c, int i)
{
    int at = 3 + c->keys + i;

    return is_script(c) && at < c->argc ? c->argv[at] : "";
}

static void note(host *h, const command *c)
{
    if (strncmp(argument(c, 0), h->client->id, LK__CLIENT_ID_SIZE) == 0)
        (void)snprintf(h->owner, sizeof(h->owner), "%s", argument(c, 0));
}

static void note_channel(host *h, fake_link *link, const char *channel)
{
    h->inbox_link = link;
    if (strncmp(channel, "latchkey:in:", 12) == 0)
        (void)snprintf(h->inbox, sizeof(h->inbox), "%s", channel);
    else if (h->channel_count < HOST_CHANNELS)
        (void)snprintf(h->channels[h->channel_count++], sizeof(h->channels[0]),
                       "%s", channel);
}

/* ---- proper answers ----------------------------------------------------------- */

static void numbers(answer *a, size_t count, ...)
{
    va_list args;

    put(a, "*%zu\r\n", count);
    va_start(args, count);
    for (size_t i = 0; i < count; i++)
        put(a, ":%" PRId64 "\r\n", va_arg(args, int64_t));
    va_end(args);
}

#define N(number) ((int64_t)(number))

typedef enum when { ALWAYS, IF_QUEUES, IF_INFO } when;

/*
 * What each script says as lua/FAMILY/FAMILY.table has it, word by word: a number, or
 *
 *   F  a new fence       T  a new ticket     L  the lease
 *   K  a list: the ticket of each member that was asked about
 *   E  a list of nothing       m  a mode     $text
 *
 * The first that fits counts: as long as the input has them queue, and if what is asked
 * for is the information of a name.
 */
static const struct {
    const char *name;
    when when;
    const char *words;
} forms[] = {
    {"lock_acquire", IF_QUEUES, "2 L T 0"},
    {"lock_acquire", ALWAYS, "1 F L 63"},
    {"lock_close", ALWAYS, "1 2 0 0"},
    {"lock_touch", ALWAYS, "2 L 0 0 0 K E"},
    {"lock_keep", ALWAYS, "1 L 0 63"},
    {"lock_renew", ALWAYS, "1 E"},
    {"lock_see", ALWAYS, "1 0 E E"},
    {"lock_import", ALWAYS, "1 F L 63"},
    {"lock_revoke", ALWAYS, "1 L 1"},
    {"lock_forget", ALWAYS, "2"},
    {"lock_term", ALWAYS, "1 L 5"},
    {"rwlock_acquire", IF_QUEUES, "2 L T 0"},
    {"rwlock_acquire", ALWAYS, "1 F L"},
    {"rwlock_close", ALWAYS, "1 2 0 0"},
    {"rwlock_touch", ALWAYS, "2 L 0 0 0 K E"},
    {"rwlock_keep", ALWAYS, "1 L 0 0"},
    {"rwlock_renew", ALWAYS, "1 E"},
    {"rwlock_downgrade", ALWAYS, "1 L 0 0"},
    {"rwlock_state", ALWAYS, "1 0"},
    {"rwlock_revoke", ALWAYS, "1 L 1"},
    {"rwlock_force", ALWAYS, "1 2 0 0"},
    {"rwlock_import", ALWAYS, "1 F L m"},
    {"rwlock_see", ALWAYS, "1 0 E E"},
    {"rwlock_forget", ALWAYS, "2"},
    {"semaphore_acquire", IF_QUEUES, "2 L T 0"},
    {"semaphore_acquire", ALWAYS, "1 F L"},
    {"semaphore_close", ALWAYS, "1 2 0 0"},
    {"semaphore_touch", ALWAYS, "2 L 0 0 0 K E"},
    {"semaphore_keep", ALWAYS, "1 L 0"},
    {"semaphore_renew", ALWAYS, "1 E"},
    {"semaphore_resize", ALWAYS, "1 0 0"},
    {"semaphore_see", IF_INFO, "3 5 E E"},
    {"semaphore_see", ALWAYS, "1 5 4"},
    {"semaphore_import", ALWAYS, "1 F L 1"},
    {"semaphore_revoke", ALWAYS, "1 L 1"},
    {"semaphore_forget", ALWAYS, "2"},
    {"plain_semaphore_acquire", IF_QUEUES, "2 L T 0"},
    {"plain_semaphore_acquire", ALWAYS, "1"},
    {"plain_semaphore_touch", ALWAYS, "3 L 0 0 0 0 K"},
    {"plain_semaphore_close", ALWAYS, "1 0 0 0"},
    {"plain_semaphore_change", ALWAYS, "1 1 0 0"},
    {"plain_semaphore_see", IF_INFO, "3 5 E E"},
    {"plain_semaphore_see", ALWAYS, "1 4"},
    {"plain_semaphore_forget", ALWAYS, "2"},
    {"latch_acquire", IF_QUEUES, "2 L 5 $n 0 0"},
    {"latch_acquire", ALWAYS, "1 5 1 0"},
    {"latch_touch", IF_QUEUES, "2 L 5 $n 0 0"},
    {"latch_touch", ALWAYS, "1 5 1 0"},
    {"latch_close", ALWAYS, "1 1"},
    {"latch_change", ALWAYS, "1 0"},
    {"latch_see", IF_INFO, "3 5 E E"},
    {"latch_see", ALWAYS, "1 $5"},
    {"latch_forget", ALWAYS, "2"},
    {"siglock_acquire", ALWAYS, "1 L"},
    {"siglock_close", ALWAYS, "1 1"},
    {"siglock_renew", ALWAYS, "1 E"},
    {"siglock_see", ALWAYS, "1 0 E E"},
    {"siglock_import", ALWAYS, "1 L"},
    {"siglock_revoke", ALWAYS, "1 L 1"},
    {"redlock_acquire", ALWAYS, "1"},
    {"redlock_keep", ALWAYS, "1"},
    {"redlock_close", ALWAYS, "1 1 1"},
    {"flight_join", ALWAYS, "3"},
    {"flight_land", ALWAYS, "1"},
    {"flight_leave", ALWAYS, "1"},
    {"cell_read", ALWAYS, "1 7 $value"},
    {"cell_write", ALWAYS, "1 8"},
    {"cell_delete", ALWAYS, "1 7"},
};

/* The members are what follows the arguments that each family has before them. */
static void put_tickets(const host *h, answer *a, const command *c)
{
    int before = strcmp(c->script, "semaphore_touch") == 0 ? 5 : 6;
    int count = c->argc - 3 - c->keys - before;

    put(a, "*%d\r\n", count < 0 ? 0 : count);
    for (int i = 0; i < count; i++)
        put(a, ":%" PRId64 "\r\n", h->ticket);
}

static void
put_word(host *h, answer *a, const command *c, const char *word, size_t size)
{
    if (*word == 'F')
        put(a, ":%" PRId64 "\r\n", h->fence += 1000000);
    else if (*word == 'T')
        put(a, ":%" PRId64 "\r\n", ++h->ticket);
    else if (*word == 'L')
        put(a, ":%d\r\n", LEASE_MS);
    else if (*word == 'K')
        put_tickets(h, a, c);
    else if (*word == 'E')
        put(a, "*0\r\n");
    else if (*word == 'm')
        put_bulk(a, &"ruw"[h->fence / 1000000 % 3], 1);
    else if (*word == '$')
        put_bulk(a, word + 1, size - 1);
    else
        put(a, ":%.*s\r\n", (int)size, word);
}

static void put_words(host *h, answer *a, const command *c, const char *words)
{
    unsigned count = 1;

    for (const char *at = words; *at != '\0'; at++)
        count += *at == ' ';
    put(a, "*%u\r\n", count);
    while (*words != '\0') {
        size_t size = strcspn(words, " ");

        put_word(h, a, c, words, size);
        words += size + strspn(words + size, " ");
    }
}

static bool fits(const host *h, const command *c, size_t i)
{
    return strcmp(c->script, forms[i].name) == 0 &&
           (forms[i].when != IF_QUEUES || h->queues) &&
           (forms[i].when != IF_INFO || strcmp(argument(c, 0), "i") == 0);
}

/* A script without a form would be fuzzed with less than it says. */
static void answer_script(host *h, answer *a, const command *c)
{
    size_t i = 0;

    while (i < sizeof(forms) / sizeof(forms[0]) && !fits(h, c, i))
        i++;
    if (i == sizeof(forms) / sizeof(forms[0]))
        input_fail(c->script);
    else
        put_words(h, a, c, forms[i].words);
}

static void answer_other(answer *a, const command *c)
{
    const char *word = c->argv[0];
    const char *second = c->argc > 1 ? c->argv[1] : "";

    if (strcasecmp(word, "CLIENT") == 0 && strcasecmp(second, "ID") == 0)
        put(a, ":7\r\n");
    else if (strcasecmp(word, "CLIENT") == 0 && strcasecmp(second, "KILL") == 0)
        put(a, ":1\r\n");
    else if (strcasecmp(word, "INFO") == 0)
        put_bulk(a, "run_id:abcdef", 13);
    else if (strcasecmp(word, "PING") == 0)
        put(a, "+PONG\r\n");
    else if (strcasecmp(word, "SUBSCRIBE") == 0)
        put(a, "*3\r\n$9\r\nsubscribe\r\n$%zu\r\n%s\r\n:1\r\n", c->sizes[1],
            second);
    else if (strcasecmp(word, "EXISTS") == 0 || strcasecmp(word, "WAIT") == 0)
        put(a, ":1\r\n");
    else if (strcasecmp(word, "TIME") == 0)
        put(a, "*2\r\n$10\r\n1700000000\r\n$6\r\n123456\r\n");
    else
        put(a, "+OK\r\n");
}

static void answer_proper(host *h, answer *a, const command *c)
{
    if (c->script != NULL)
        answer_script(h, a, c);
    else
        answer_other(a, c);
}

/* ---- answers of the input's making -------------------------------------------- */

static void put_item(host *h, answer *a, const command *c, unsigned depth);

static void put_array(host *h, answer *a, const command *c, unsigned depth)
{
    unsigned count = input_below(&h->in, 12);

    put(a, "*%u\r\n", count);
    for (unsigned i = 0; i < count; i++)
        put_item(h, a, c, depth);
}

static void put_text(host *h, answer *a)
{
    size_t size;
    const char *bytes = input_bytes(&h->in, &size);

    put_bulk(a, bytes, size);
}

/* Something that the client has said itself. */
static void put_echo(host *h, answer *a, const command *c)
{
    const char *text = argument(c, (int)input_below(&h->in, 10));

    if (strspn(text, "0123456789") == strlen(text) && text[0] != '\0')
        put(a, ":%s\r\n", text);
    else
        put_bulk(a, text, strlen(text));
}

static void put_item(host *h, answer *a, const command *c, unsigned depth)
{
    switch (input_below(&h->in, 12)) {
    case 0:
        put(a, "$-1\r\n");
        break;
    case 1:
    case 2:
        put_text(h, a);
        break;
    case 3:
        put_echo(h, a, c);
        break;
    case 4:
        put(a, "-ERR within\r\n");
        break;
    case 5:
        put(a, "+%d\r\n", (int)input_byte(&h->in));
        break;
    case 6:
        if (depth < DEPTH_MAX)
            put_array(h, a, c, depth + 1);
        else
            put(a, "*-1\r\n");
        break;
    case 7:
        put(a, ":%" PRId64 "\r\n", h->ticket);
        break;
    case 8:
        put(a, ":%" PRId64 "\r\n", h->fence);
        break;
    default:
        put(a, ":%" PRId64 "\r\n", input_number(&h->in));
        break;
    }
}

static void put_error(host *h, answer *a)
{
    static const char *const errors[] =
        {"LKVOID it was given up",
         "NOSCRIPT No matching script.",
         "BUSY Redis is busy",
         "LOADING Redis is loading",
         "READONLY You can't write",
         "OOM command not allowed",
         "NOPERM no permissions",
         "ERR The user executing the script can't run this",
         "MOVED 1 127.0.0.1:1",
         "TRYAGAIN",
         "NOREPLICAS",
         "MISCONF",
         "WRONGTYPE Operation",
         "NOAUTH Authentication required",
         "",
         "ERR max number of clients reached"};

    put(a, "-%s\r\n", errors[input_below(&h->in, 16)]);
}

/* What is said behind what was promised. */
static void put_raw(host *h, answer *a)
{
    size_t size;
    const char *bytes = input_bytes(&h->in, &size);

    put_bytes(a, bytes, size);
}

static void put_message(host *h, answer *a)
{
    char *text = input_text(&h->in);

    put(a, "*3\r\n$7\r\nmessage\r\n");
    put_bulk(a, h->inbox, strlen(h->inbox));
    put_bulk(a, text, strlen(text));
    free(text);
}

/* The key space as a look at it finds it. */
static void put_scan(host *h, answer *a, const command *c)
{
    unsigned count = 2 * input_below(&h->in, 5);

    put(a, "*2\r\n$1\r\n0\r\n*%u\r\n", count);
    for (unsigned i = 0; i < count; i++)
        put_item(h, a, c, DEPTH_MAX);
}

enum { ENDS = 1, BREAKS, IS_MUTE };

/* How the stream ends with it; 0: it goes on. */
static int compose(host *h, answer *a, const command *c)
{
    int64_t code;

    switch (input_below(&h->in, 18)) {
    case 4:
        put(a, "*4\r\n:2\r\n:%" PRId64 "\r\n", input_number(&h->in));
        put(a, ":%" PRId64 "\r\n:0\r\n", input_number(&h->in));
        break;
    case 5:
        code = input_number(&h->in);
        numbers(a, 4, N(1), code, input_number(&h->in), N(input_byte(&h->in)));
        break;
    case 6:
        numbers(a, 2, N(input_below(&h->in, 10)), input_number(&h->in));
        break;
    case 7:
        numbers(a, 1, input_number(&h->in));
        break;
    case 8:
    case 9:
        put_array(h, a, c, 0);
        break;
    case 10:
        put_error(h, a);
        break;
    case 11:
        put_raw(h, a);
        break;
    case 12:
        return 1 + (int)input_below(&h->in, 3);
    case 13:
        answer_proper(h, a, c);
        a->size -=
            input_below(&h->in, (unsigned)(a->size < 255 ? a->size : 255));
        return ENDS;
    case 14:
        answer_proper(h, a, c);
        answer_proper(h, a, c);
        break;
    case 15:
        put_message(h, a);
        answer_proper(h, a, c);
        break;
    case 16:
        put_scan(h, a, c);
        break;
    case 17:
        put_item(h, a, c, 0);
        break;
    default:
        answer_proper(h, a, c);
        break;
    }
    return 0;
}

/* ---- the server --------------------------------------------------------------- */

/* A client believes to hold only what somebody has said 1 to, or granted by a
   message. */
static void note_grant(host *h, const answer *a)
{
    h->may_have_given |= memmem(a->bytes, a->size, ":1\r\n", 4) != NULL ||
                         memmem(a->bytes, a->size, "\n1\r\n", 4) != NULL;
}

static void answer_send(host *h, fake_link *link, const answer *a, int end)
{
    if (a->size > 0)
        fake_reply(link, a->bytes, a->size);
    if (end == ENDS)
        fake_end(link);
    else if (end == BREAKS)
        fake_break(link);
    else if (end == IS_MUTE)
        h->mute = link;
}

static void on_command(void *data, fake_link *link, int argc, const char **argv,
                       const size_t *sizes)
{
    host *h = data;
    command c = {.argc = argc, .argv = argv, .sizes = sizes};
    answer a;
    int end = 0;

    a.size = 0;
    if (h->mute == link || ++h->commands > COMMANDS_MAX)
        return;
    script_find(&c);
    note(h, &c);
    if (strcasecmp(argv[0], "SUBSCRIBE") == 0 && argc > 1)
        note_channel(h, link, argv[1]);
    if (h->is_proper || (!is_script(&c) && !h->is_rude))
        answer_proper(h, &a, &c);
    else if (h->in.left == 0)
        put(&a, "-ERR it is over\r\n");
    else
        end = compose(h, &a, &c);
    if (is_script(&c) || h->is_rude)
        note_grant(h, &a);
    answer_send(h, link, &a, end);
}

static const fake_server server = {.on_command = on_command};

/* ---- for the target ------------------------------------------------------------ */

void host_open(host *h, input in, const lk_client_options *options)
{
    *h = (host){.in = in, .fence = 1000, .ticket = 1};
    h->world = fake_world_new(1, &server, h);
    if (lk__client_open_in(&h->client, &h->world->process.base,
                           "redis://server", options) != LK_OK)
        input_fail("the client is not opened");
}

void host_run_ms(host *h, uint64_t ms)
{
    fake_world_run_for(h->world, ms * FAKE_MS);
}

void host_close(host *h)
{
    (void)lk_client_shutdown(h->client, 1000);
    host_run_ms(h, 100);
    lk_client_free(h->client);
    fake_world_free(h->world);
}

void host_publish(host *h, const char *channel, const char *text, size_t size)
{
    answer a;

    a.size = 0;
    if (h->inbox_link == NULL)
        return;
    h->may_have_given = true;
    put(&a, "*3\r\n$7\r\nmessage\r\n");
    put_bulk(&a, channel, strlen(channel));
    put_bulk(&a, text, size);
    fake_reply(h->inbox_link, a.bytes, a.size);
}
