/* SPDX-License-Identifier: MIT */

/* `latchkey latch` and `latchkey barrier`: a gate for everybody. */

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/awaited.h"
#include "cli/cli.h"
#include "cli/connect.h"
#include "cli/json.h"
#include "cli/kind.h"
#include "cli/output.h"
#include "cli/word.h"

/* What the tool makes is not to stay for ever on a server that evicts nothing. */
enum { TTL_MS = 7 * 86400000 };

typedef struct choices {
    bool is_try;
    int64_t wait_ms;
    int64_t ttl_ms; /* 0: not said */
    uint64_t count; /* of a barrier: who is expected */
    const char *member;
    const char *why;
} choices;

typedef struct visit {
    cli *c;
    const char *name;
    choices chosen;
    uint64_t came; /* to a barrier that did not open; 0: not known */
    lk_client *client;
    lk_latch *latch;
} visit;

/* ---- a wait that signals end -------------------------------------------- */

static lk_cancel *cancel;
static volatile sig_atomic_t signal_seen;

static void on_signal(int number)
{
    signal_seen = number;
    lk_cancel_fire(cancel);
}

static lk_status catch_signals(lk_client *client)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    struct sigaction action = {.sa_handler = on_signal};
    struct sigaction before;
    lk_status status = lk_cancel_new(&cancel, client);

    for (size_t i = 0; status == LK_OK && i < 4; i++) {
        /* nohup is to work. */
        if (sigaction(numbers[i], NULL, &before) == 0 &&
            before.sa_handler != SIG_IGN)
            (void)sigaction(numbers[i], &action, NULL);
    }
    return status;
}

/* A server that cannot be reached at the start is not waited for. */
static lk_status reach(const visit *v)
{
    lk_status status =
        lk_client_wait_ready(v->client,
                             cli_connect_ms(v->c, v->chosen.is_try
                                                      ? 0
                                                      : v->chosen.wait_ms));

    return status == LK_ETIMEDOUT ? LK_EOFFLINE : status;
}

static lk_status wait_open(const visit *v)
{
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .cancel = cancel,
                                        .reason = v->chosen.why};
    lk_status status;

    if (!v->chosen.is_try)
        cli_awaited_begin(v->c, v->latch, v->name, v->chosen.count);
    status = lk_latch_wait(v->latch, v->chosen.is_try ? 0 : v->chosen.wait_ms,
                           &options);
    cli_awaited_end();
    return status;
}

/* ---- what there is to do ------------------------------------------------ */

/* What is left to be awaited; null where that cannot be told, as of a latch that
   was deleted. */
static void put_json(const visit *v)
{
    cli_json json = {.to = stdout};
    uint64_t count = 0;

    cli_json_open(&json, NULL, '{');
    cli_json_text(&json, "name", v->name);
    if (lk_latch_count(v->latch, &count) == LK_OK)
        cli_json_count(&json, "count", count);
    else
        cli_json_null(&json, "count");
    cli_json_close(&json, '}');
}

static int still_closed(const visit *v)
{
    char name[128];
    uint64_t count = 0;
    lk_status status = lk_latch_count(v->latch, &count);

    (void)cli_clean(name, sizeof(name), v->name);
    if (v->came > 0)
        return cli_fail(v->c, CLI_BUSY,
                        "barrier '%s': %" PRIu64 " of %" PRIu64
                        " came in time\n"
                        "  start it again when the others start",
                        name, v->came, v->chosen.count);
    if (status == LK_OK && count > 0)
        return cli_fail(v->c, CLI_BUSY,
                        "'%s' is not open yet: %" PRIu64 " awaited", name,
                        count);
    return cli_fail(v->c, CLI_BUSY, "'%s' is not open yet", name);
}

/* What has to be done first; it is said with the words of the library. */
static int not_so(const visit *v, lk_status status)
{
    char name[128];

    if (status == LK_EUNSET)
        return cli_fail(v->c, cli_status_exit(status),
                        "%s\n  `latchkey latch set NAME N` sets it",
                        cli_error_words());
    return cli_fail(v->c, cli_status_exit(status),
                    "%s: %s\n  `latchkey latch reset NAME N` begins again",
                    cli_clean(name, sizeof(name), v->name), cli_error_words());
}

static int done(const visit *v, lk_status status)
{
    if (signal_seen != 0 && status == LK_ECANCELED)
        return CLI_SIGNAL + signal_seen;
    status = cli_client_judge(v->client, status);
    if (status == LK_ETIMEDOUT || status == LK_EBUSY)
        return still_closed(v);
    if (status == LK_EUNSET || status == LK_EALREADY)
        return not_so(v, status);
    if (status == LK_ETYPE)
        return cli_fail_kind(v->c, v->client, v->name, CLI_LOCK);
    if (status != LK_OK)
        return cli_fail_status(v->c, status, v->name);
    if (v->c->json)
        put_json(v);
    return CLI_OK;
}

/* Reads the number that an action wants; initial NULL: it has to be there. */
static uint64_t
number_of(const visit *v, const cli_args *args, int at, const char *initial)
{
    const char *text = at < args->operand_count ? args->operands[at] : initial;
    uint64_t number = 0;

    if (text == NULL)
        cli_usage(v->c, "how many? latch %s NAME N", args->operands[0]);
    else if (!cli_count_read(text, &number))
        cli_usage(v->c, "'%s' is not a number", text);
    return number;
}

static int put_count(const visit *v)
{
    uint64_t count = 0;
    lk_status status = lk_latch_count(v->latch, &count);

    if (status != LK_OK)
        return done(v, status);
    if (!v->c->json)
        (void)printf("%" PRIu64 "\n", count);
    return done(v, LK_OK);
}

/* Who this is, unless it is said: another one for each process. */
static const char *member_of(const visit *v, char *text, size_t size)
{
    char host[128] = "";

    if (v->chosen.member != NULL)
        return v->chosen.member;
    (void)gethostname(host, sizeof(host) - 1);
    (void)snprintf(text, size, "%s:%ld", host, (long)getpid());
    return text;
}

static int wait_for_it(const visit *v)
{
    lk_status status = reach(v);

    if (status == LK_OK)
        status = catch_signals(v->client);
    return done(v, status == LK_OK ? wait_open(v) : status);
}

typedef enum action {
    LATCH_SET,
    LATCH_DOWN,
    LATCH_WAIT,
    LATCH_ARRIVE,
    LATCH_COUNT,
    LATCH_RESET,
    LATCH_DELETE
} action;

#define ACTIONS "set|down|wait|arrive|count|reset|delete"

static int act(const visit *v, const cli_args *args)
{
    char member[192];

    switch ((action)cli_word_find(ACTIONS, args->operands[0])) {
    case LATCH_SET:
        return done(v, lk_latch_try_set_count(v->latch,
                                              number_of(v, args, 2, NULL)));
    case LATCH_DOWN:
        return done(v,
                    lk_latch_count_down(v->latch, number_of(v, args, 2, "1")));
    case LATCH_WAIT:
        return wait_for_it(v);
    case LATCH_ARRIVE:
        return done(v, lk_latch_arrive(v->latch, number_of(v, args, 2, NULL),
                                       member_of(v, member, sizeof(member))));
    case LATCH_COUNT:
        return put_count(v);
    case LATCH_RESET:
        return done(v, lk_latch_reset(v->latch, number_of(v, args, 2, NULL)));
    case LATCH_DELETE:
        return done(v, lk_latch_delete(v->latch));
    }
    return CLI_USAGE;
}

/* ---- the commands ------------------------------------------------------- */

/* Only what may make a latch has a time for it if none is said: any other would
   change the one that it was made with. */
static int open_latch(visit *v, bool makes)
{
    const lk_latch_options latch_options = {LK_LATCH_OPTIONS_INIT,
                                            .ttl_ms =
                                                v->chosen.ttl_ms != 0 || !makes
                                                    ? (uint64_t)v->chosen.ttl_ms
                                                    : TTL_MS};
    lk_status status;
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .offline_ms = CLI_PATIENCE_MS};
    int code = cli_client_open(v->c, &options, &v->client);

    if (code != 0)
        return code;
    status = lk_latch_new(&v->latch, v->client, v->name, &latch_options);
    return status == LK_OK ? 0 : cli_fail_status(v->c, status, v->name);
}

static void close_latch(visit *v)
{
    lk_latch_free(v->latch);
    lk_client_free(v->client);
}

/* Which action is meant by a word of Redisson's or another one, or NULL. */
static const char *called_elsewhere(const char *word)
{
    static const char *const words[][2] = {
        {"await", "wait"},      {"create", "set"}, {"init", "set"},
        {"trysetcount", "set"}, {"new", "set"},    {"countdown", "down"},
        {"getcount", "count"},  {"rm", "delete"},
    };

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcasecmp(words[i][0], word) == 0)
            return words[i][1];
    }
    return NULL;
}

static _Noreturn void unknown_action(const cli *c, const char *word)
{
    const char *meant = called_elsewhere(word);

    if (meant != NULL)
        cli_usage(c, "'%s' is none of " ACTIONS "; did you mean '%s'?", word,
                  meant);
    cli_usage(c, "'%s' is none of " ACTIONS, word);
}

static int run_latch(cli *c, int argc, char **argv)
{
    visit v = {.c = c, .chosen = {.wait_ms = LK_FOREVER}};
    cli_args args;
    int what;
    int code;

    cli_parse(c, argc, argv, &v.chosen, &args);
    what = cli_word_find(ACTIONS, args.operands[0]);
    if (what < 0)
        unknown_action(c, args.operands[0]);
    v.name = args.operands[1];
    code = open_latch(&v, what == LATCH_SET || what == LATCH_ARRIVE ||
                              what == LATCH_RESET);
    if (code == 0)
        code = act(&v, &args);
    close_latch(&v);
    return code;
}

#define AT(member) offsetof(choices, member)

static const cli_option latch_options[] = {
    {CLI_FLAG, 'n', "nonblock", AT(is_try), NULL, "wait: only look", 0},
    {CLI_TIME, 'w', "wait", AT(wait_ms), "TIME", "wait: for TIME at most", 0},
    {CLI_TIME, 't', "ttl", AT(ttl_ms), "TIME",
     "it ends so long after its last change; 7d", 0},
    {CLI_TEXT, 0, "as", AT(member), "MEMBER",
     "arrive: who it is; the host and the process", 0},
    {CLI_TEXT, 'y', "why", AT(why), "TEXT",
     "wait: shown to whoever looks at NAME", 0},
    {.kind = CLI_END},
};

const cli_command cli_command_latch = {
    .name = "latch",
    .group = CLI_SCRIPT,
    .summary = "wait until N things have happened; say that one has",
    .examples =
        "  latchkey latch set imports 3 && latchkey latch wait imports\n"
        "  latchkey latch down imports      one of the three has happened",
    .usage = "[OPTION]... ACTION NAME [N]",
    .about = "  set NAME N      let N things be awaited; 75 if it is set\n"
             "  down NAME [N]   one of them, or N, have happened\n"
             "  wait NAME       wait until all have\n"
             "  arrive NAME N   one of N members is here\n"
             "  count NAME      how many are still awaited\n"
             "  reset NAME N    begin again\n"
             "  delete NAME     forget it; those who wait end with 75",
    .options = latch_options,
    .operands_min = 2,
    .operands_max = 3,
    .run = run_latch,
};

/* Whoever does not wait any more takes the arrival back, so that the others do
   not begin without it. If they have begun, so does this one. */
static lk_status meet(visit *v, const char *member)
{
    uint64_t awaited = 0;
    bool is_open = false;
    lk_status status = reach(v);

    if (status == LK_OK)
        status = lk_latch_arrive(v->latch, v->chosen.count, member);

    if (status != LK_OK)
        return status;
    status = wait_open(v);
    if (status != LK_ECANCELED && status != LK_ETIMEDOUT && status != LK_EBUSY)
        return status;
    if (lk_latch_count(v->latch, &awaited) == LK_OK &&
        awaited < v->chosen.count)
        v->came = v->chosen.count - awaited;
    if (lk_latch_leave(v->latch, member, &is_open) == LK_OK && is_open)
        return LK_OK;
    return status;
}

/* Becomes the command: nothing is held for which the tool would have to stay. A
   signal that has come meanwhile ends it before that. */
static int become(const cli *c, char **argv)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    const struct sigaction plain = {.sa_handler = SIG_DFL};
    struct sigaction now;

    for (size_t i = 0; i < 4; i++) {
        if (sigaction(numbers[i], NULL, &now) == 0 &&
            now.sa_handler == on_signal)
            (void)sigaction(numbers[i], &plain, NULL);
    }
    if (signal_seen != 0)
        return CLI_SIGNAL + signal_seen;
    if (!c->ignored_sigpipe)
        (void)sigaction(SIGPIPE, &plain, NULL);
    (void)cli_flush();
    (void)execvp(argv[0], argv);
    return cli_fail(c, errno == ENOENT ? CLI_NOT_FOUND : CLI_CANNOT_RUN,
                    "%s: %s", argv[0], strerror(errno));
}

static int run_barrier(cli *c, int argc, char **argv)
{
    visit v = {.c = c, .chosen = {.wait_ms = LK_FOREVER}};
    char member[192];
    cli_args args;
    lk_status status;
    int code;

    cli_parse(c, argc, argv, &v.chosen, &args);
    if (v.chosen.count == 0)
        cli_usage(c, "how many are to meet? barrier NAME --count N");
    v.name = args.operands[0];
    code = open_latch(&v, true);
    if (code == 0) {
        status = catch_signals(v.client);
        if (status == LK_OK)
            status = meet(&v, member_of(&v, member, sizeof(member)));
        code = done(&v, status);
    }
    close_latch(&v);
    return code == CLI_OK && args.rest != NULL ? become(c, args.rest) : code;
}

static const cli_option barrier_options[] = {
    {CLI_COUNT, 0, "count", AT(count), "N", "so many are to meet", 0},
    {CLI_TIME, 'w', "wait", AT(wait_ms), "TIME", "for TIME at most", 0},
    {CLI_TIME, 't', "ttl", AT(ttl_ms), "TIME",
     "it ends so long after its last change; 7d", 0},
    {CLI_TEXT, 0, "as", AT(member), "MEMBER",
     "who it is; the host and the process", 0},
    {CLI_TEXT, 'y', "why", AT(why), "TEXT", "shown to whoever looks at NAME",
     0},
    {CLI_COUNT, 'n', "count", AT(count), "N", NULL, 0},
    {.kind = CLI_END},
};

const cli_command cli_command_barrier = {
    .name = "barrier",
    .group = CLI_SCRIPT,
    .summary = "wait until N processes are here; then run a command",
    .examples =
        "  latchkey barrier release-42 --count 8 -- systemctl start app\n"
        "  latchkey barrier release-42 --count 8 -w 5m    75 if some are "
        "missing",
    .usage = "[OPTION]... NAME --count N [-- COMMAND [ARGUMENT]...]",
    .about =
        "Arrives at the latch NAME and waits until N members have. Then it\n"
        "becomes COMMAND, if there is one; nothing is held. A member\n"
        "that gives up, by -w or a signal, takes its arrival back, and the\n"
        "last one takes the latch away. Once open it stays so, for members\n"
        "that come late: `latch reset` or another NAME begin the next round.",
    .options = barrier_options,
    .operands_min = 1,
    .operands_max = 1,
    .takes_rest = true,
    .run = run_barrier,
};
