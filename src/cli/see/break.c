/* SPDX-License-Identifier: MIT */

/* `latchkey break`: ends a hold that is somebody else's. */

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/clock.h"
#include "cli/output.h"
#include "cli/see/breaking.h"
#include "cli/see/see.h"

enum {
    LOOK_MS = 100,     /* between two questions whether it is over */
    PATIENCE_MS = 5000 /* with a server that does not answer */
};

static const cli_option options[] = {
    {CLI_FLAG, 0, "yes", offsetof(struct values, yes), NULL, "do not ask", 0},
    {CLI_TEXT, 'i', "if-owner", offsetof(struct values, owner), "ID",
     "only the hold of this owner, as `who` shows its id", 0},
    {CLI_FLAG, 0, "all", offsetof(struct values, all), NULL,
     "every hold, where several hold it", 0},
    {CLI_FLAG, 0, "now", offsetof(struct values, now), NULL,
     "let the next one in at once; its work may go on", 0},
    {CLI_FLAG, 0, "dry-run", offsetof(struct values, dry_run), NULL,
     "show it and end nothing", 0},
    {CLI_TEXT, 0, "why", offsetof(struct values, why), "TEXT",
     "kept in the log", 0},
    {CLI_FLAG, 'y', "yes", offsetof(struct values, yes), NULL, NULL, 0},
    {CLI_FLAG, 'n', "dry-run", offsetof(struct values, dry_run), NULL, NULL, 0},
    {.kind = CLI_END},
};

static volatile sig_atomic_t signal_seen;

/* A permit of a hold, or a hold beyond the 64 that are listed, may be named as
   well: then only the server knows. */
static int check(const struct breaking *b)
{
    size_t count = break_count_meant(b);

    if (b->kind == LK_KIND_LATCH || b->kind == LK_KIND_PLAIN_SEMAPHORE)
        return cli_fail(b->c, CLI_USAGE, "%s is a %s: nobody holds it", b->name,
                        lk_kind_text(b->kind));
    if (b->info->holder_count == 0)
        return cli_fail(b->c, CLI_BUSY, "nobody holds %s", b->name);
    if (count > 1 && !b->values->all)
        return cli_fail(b->c, CLI_USAGE,
                        "%zu hold %s: say which with --if-owner ID, or --all",
                        count, b->name);
    if (count == 0 && b->kind != LK_KIND_SEMAPHORE)
        return cli_fail(b->c, CLI_BUSY,
                        "%s does not hold %s; nothing was changed",
                        b->values->owner, b->name);
    return 0;
}

/* 0: go on. */
static int confirm(const struct breaking *b)
{
    char answer[16] = "";
    const char *question = break_question(b);

    if (b->values->yes || b->values->dry_run)
        return 0;
    if (isatty(STDIN_FILENO) == 0)
        return cli_fail(b->c, CLI_USAGE,
                        "there is no terminal to ask on: say --yes");
    (void)fflush(stdout);
    (void)fputs(question, stderr);
    if (fgets(answer, sizeof(answer), stdin) == NULL ||
        (strcmp(answer, "y\n") != 0 && strcmp(answer, "yes\n") != 0))
        return cli_fail(b->c, CLI_BUSY, "nothing was changed");
    return 0;
}

/* ---- the log ------------------------------------------------------------- */

/* Whose hold it was, and in a line of its own why it is ended. What was done stays
   done where it cannot be noted. */
static void note(const struct breaking *b, const char *what, const char *owner)
{
    char words[SEE_PARTY_SIZE + SEE_WHY_MAX + 1] = "";
    const lk_party *party = break_party(b, owner);
    size_t size;

    if (party != NULL)
        see_party_words(words, party);
    size = strlen(words);
    if (b->values->why != NULL)
        (void)snprintf(words + size, sizeof(words) - size, "\n%s",
                       b->values->why);
    if (lk_event_note(b->client, b->name, what, owner, words) != LK_OK)
        cli_note(b->c, "the log may lack it: %s", lk_last_error());
}

/* ---- ending at once ---------------------------------------------------- */

/* Another sort of name, which has no holders, may have taken its place. */
static bool is_over(lk_status status)
{
    return status == LK_ENOTHELD || status == LK_ENOTSUP;
}

static int failed(const struct breaking *b, lk_status status, const char *owner)
{
    if (!is_over(status))
        return cli_fail_call(b->c, status, b->name);
    if (b->values->all)
        return 0; /* it went with another, or by itself */
    return cli_fail(b->c, CLI_BUSY,
                    "%s does not hold %s any more; nothing was changed", owner,
                    b->name);
}

static int end_now(struct breaking *b, cli_json *json, const char *owner)
{
    lk_status status =
        b->values->dry_run ? LK_OK : lk_break(b->client, b->name, owner);

    if (status != LK_OK)
        return failed(b, status, owner);
    if (!b->values->dry_run)
        note(b, "ended", owner);
    if (b->c->json)
        cli_json_text(json, NULL, owner);
    return 0;
}

/* ---- revoking ----------------------------------------------------------- */

static void on_signal(int number)
{
    signal_seen = number;
}

static void catch_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    const struct sigaction action = {.sa_handler = on_signal};
    struct sigaction before;

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        /* nohup is to work. */
        if (sigaction(numbers[i], NULL, &before) == 0 &&
            before.sa_handler != SIG_IGN)
            (void)sigaction(numbers[i], &action, NULL);
    }
}

/* The wait was ended; the hold was not. */
static int interrupted(struct breaking *b, int64_t left_ms)
{
    char time[CLI_TIME_SIZE];
    char name[128];

    (void)cli_clean(name, sizeof(name), b->name);
    if (left_ms >= 0)
        cli_note(b->c,
                 "%s stays revoked: it is free when its holder stops, "
                 "within %s",
                 name, cli_time_words(time, (uint64_t)left_ms));
    else
        cli_note(b->c, "%s is held as before", name);
    return CLI_SIGNAL + signal_seen;
}

static bool is_silence(lk_status status)
{
    return status == LK_EINDOUBT || status == LK_EOFFLINE ||
           status == LK_ETIMEDOUT;
}

/* Where no answer comes in time it is asked again, which changes nothing: one who
   has to end a hold is not helped by a server that is slow as well. A hold that is
   over by then may have ended for what was asked before: that counts as done. */
static lk_status
ask_to_end(const struct breaking *b, const char *owner, int64_t *ret_left_ms)
{
    int64_t until = cli_now_ns() + PATIENCE_MS * CLI_NS_PER_MS;
    lk_status status = lk_revoke(b->client, b->name, owner, ret_left_ms);
    bool is_asked = false;

    while (is_silence(status) && signal_seen == 0 && cli_now_ns() < until) {
        is_asked = is_asked || status == LK_EINDOUBT;
        cli_pass_ms(LOOK_MS);
        status = lk_revoke(b->client, b->name, owner, ret_left_ms);
    }
    if (!is_asked || !is_over(status))
        return status;
    *ret_left_ms = 0;
    return LK_OK;
}

/* Waits until a hold that was revoked is over. */
static int wait_ended(struct breaking *b, const char *owner, int64_t left_ms)
{
    lk_status status = LK_OK;

    while (status == LK_OK && signal_seen == 0) {
        break_say_wait(b, owner, left_ms);
        cli_pass_ms(LOOK_MS);
        if (signal_seen == 0)
            status = ask_to_end(b, owner, &left_ms);
    }
    cli_line_clear(&b->line);
    if (signal_seen != 0)
        return interrupted(b, left_ms);
    return is_over(status) ? 0 : failed(b, status, owner);
}

/* Another library's hold is not: there is nothing to be noted. */
static lk_status
revoke_noted(const struct breaking *b, const char *owner, int64_t *ret_left_ms)
{
    lk_status status = ask_to_end(b, owner, ret_left_ms);

    if (status == LK_OK && *ret_left_ms >= 0)
        note(b, "revoked", owner);
    return status;
}

/* Goes on with a hold of which this was answered when it was revoked. */
static int end_revoked(struct breaking *b, cli_json *json, const char *owner,
                       lk_status status, int64_t left_ms)
{
    int code = 0;

    if (status != LK_OK)
        return failed(b, status, owner);
    if (!b->values->dry_run)
        code = wait_ended(b, owner, left_ms);
    if (code == 0 && b->c->json)
        cli_json_text(json, NULL, owner);
    return code;
}

/* ---- one or all --------------------------------------------------------- */

static int end_one(struct breaking *b, cli_json *json, const char *owner)
{
    int64_t left_ms = 0;
    lk_status status = LK_OK;

    if (b->values->now)
        return end_now(b, json, owner);
    if (!b->values->dry_run)
        status = revoke_noted(b, owner, &left_ms);
    return end_revoked(b, json, owner, status, left_ms);
}

/* What was answered when a hold was revoked. */
struct told {
    lk_status status;
    int64_t left_ms;
};

/* All are told before one of them is waited for. */
static int end_several(struct breaking *b, cli_json *json)
{
    const lk_party *const *holders = b->info->holders;
    size_t count = b->info->holder_count;
    struct told *told = calloc(count, sizeof(*told));
    int code = 0;

    if (told == NULL)
        return cli_fail(b->c, CLI_INTERNAL, "out of memory");
    for (size_t i = 0; i < count; i++)
        told[i].status = revoke_noted(b, holders[i]->owner, &told[i].left_ms);
    for (size_t i = 0; i < count; i++) {
        int one = end_revoked(b, json, holders[i]->owner, told[i].status,
                              told[i].left_ms);

        if (one != 0)
            code = one; /* the others are ended nevertheless */
    }
    free(told);
    return code;
}

static int end_all(struct breaking *b, cli_json *json)
{
    bool is_at_once = b->values->now || b->values->dry_run;
    int code = 0;

    b->begun_ns = cli_now_ns();
    if (b->values->owner != NULL)
        return end_one(b, json, b->values->owner);
    if (!is_at_once)
        return end_several(b, json);
    for (size_t i = 0; i < b->info->holder_count; i++) {
        int one = end_one(b, json, b->info->holders[i]->owner);

        if (one != 0)
            code = one;
    }
    return code;
}

static int go(struct breaking *b)
{
    cli_json json = {.to = stdout};
    int code;

    if (!b->c->json)
        see_put_info(b->c, stdout, b->name, b->kind, b->info, "");
    code = check(b);
    if (code == 0)
        code = confirm(b);
    if (code != 0)
        return code;
    catch_signals();
    if (b->c->json) {
        cli_json_open(&json, NULL, '{');
        cli_json_text(&json, "name", b->name);
        cli_json_text(&json, "kind", lk_kind_text(b->kind));
        cli_json_bool(&json, "dry_run", b->values->dry_run);
        cli_json_bool(&json, "now", b->values->now);
        cli_json_open(&json, "ended", '[');
    }
    code = end_all(b, &json);
    if (b->c->json) {
        cli_json_close(&json, ']');
        cli_json_close(&json, '}');
    } else if (code == 0) {
        break_say_done(b);
    }
    return code;
}

static int run(cli *c, int argc, char **argv)
{
    struct values values = {.owner = NULL};
    struct breaking b = {.c = c, .values = &values};
    lk_info *info;
    lk_status status;
    cli_args args;
    int code;

    cli_parse(c, argc, argv, &values, &args);
    if (values.all && values.owner != NULL)
        cli_usage(c, "--all and --if-owner contradict each other");
    if (values.owner != NULL && values.owner[0] == '\0')
        cli_usage(c, "--if-owner wants an id, as `who` shows it");
    if (values.why != NULL &&
        (strlen(values.why) > SEE_WHY_MAX || strchr(values.why, '\n') != NULL))
        cli_usage(c, "--why has to be one line of %d bytes at most",
                  SEE_WHY_MAX);
    code = see_open(c, &b.client);
    if (code != 0)
        return code;
    b.name = args.operands[0];
    status = lk_who(b.client, b.name, &b.kind, &info);
    if (status == LK_OK) {
        b.info = info;
        code = go(&b);
        lk_info_free(info);
    } else {
        code = cli_fail_call(c, status, b.name);
    }
    lk_client_free(b.client);
    return code;
}

const cli_command cli_command_break = {
    .name = "break",
    .group = CLI_OPERATE,
    .summary = "end somebody else's hold, having shown it and asked",
    .examples = "  latchkey break deploy\n"
                "  latchkey break --yes --why 'hangs since midnight' deploy",
    .usage = "[OPTION]... NAME",
    .about =
        "Shows who holds NAME, asks, and revokes that hold: its holder is "
        "told\n"
        "to stop, it is not renewed any more, and NAME goes to the next in\n"
        "line when the holder has stopped, or its lease has ended. `break`\n"
        "waits for that; ^C ends only the wait. Another one who holds\n"
        "NAME by then keeps it. A holder of another library cannot be told.\n"
        "--now does not wait: the work under the hold may go on beside the\n"
        "next one's; only a resource that checks the fence refuses its "
        "writes.\n"
        "`latchkey log` tells later what was ended, and by whom.\n"
        "Exit code 75: that owner does not hold it.",
    .options = options,
    .operands_min = 1,
    .operands_max = 1,
    .run = run,
};
