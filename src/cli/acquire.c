/* SPDX-License-Identifier: MIT */

/*
 * `latchkey acquire`, `renew` and `release`: a hold that no process keeps. It
 * is a line of text, and ends with its lease unless it is renewed.
 */

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/caller.h"
#include "cli/cli.h"
#include "cli/connect.h"
#include "cli/ended.h"
#include "cli/eval.h"
#include "cli/json.h"
#include "cli/output.h"
#include "cli/run/env.h"
#include "cli/run/keeper.h"
#include "cli/run/limits.h"
#include "cli/run/wait.h"
#include "cli/subject.h"
#include "cli/text.h"

enum { HOLD_WORDS = CLI_TEXT_NAME };

typedef struct choices {
    cli_kind_of kind;
    cli_kind_flags said;
    bool is_try;
    int64_t wait_ms;
    int64_t lease_ms; /* 0: not said */
    const char *why;
    uint64_t busy_code;
    uint64_t pid; /* 0: the shell that calls */
    bool exports;
} choices;

typedef struct errand {
    cli *c;
    choices chosen;
    pid_t shell;
    lk_client *client;
    cli_subject subject;
    lk_hold *hold;
    char name[CLI_TEXT_NAME + 1];
    char text
        [CLI_TEXT_SIZE]; /* of the hold; the library's part of a given one */
} errand;

/* ---- the text ----------------------------------------------------------- */

static lk_status make_text(errand *e)
{
    char text[LK_EXPORT_SIZE];
    lk_status status = lk_hold_export(e->hold, text, sizeof(text));

    if (status != LK_OK)
        return status;
    e->hold = NULL;
    cli_text_make(e->text, e->subject.kind, e->name, text);
    return LK_OK;
}

/* ---- output ------------------------------------------------------------- */

static void put_hold(const errand *e, uint64_t fence)
{
    char digits[24];

    (void)snprintf(digits, sizeof(digits), "%" PRIu64, fence);
    if (e->c->json) {
        cli_json json = {.to = stdout};

        cli_json_open(&json, NULL, '{');
        cli_json_text(&json, "name", e->name);
        cli_json_count(&json, "fence", fence);
        cli_json_text(&json, "hold", e->text);
        cli_json_close(&json, '}');
    } else if (e->chosen.exports) {
        cli_eval_export("LATCHKEY_HOLD", e->text);
        cli_eval_export("LATCHKEY_NAME", e->name);
        cli_eval_export("LATCHKEY_FENCE", digits);
    } else {
        (void)printf("%s\n", e->text);
    }
}

/* Whether it is an eval that reads what the tool writes. */
static bool wants_export(char **argv)
{
    for (; *argv != NULL; argv++) {
        if (strcmp(*argv, "--export") == 0)
            return true;
    }
    return false;
}

/* Finds out whom it works for, which is said or known. */
static void shell_find(errand *e)
{
    e->shell = cli_caller_shell(e->c, e->chosen.pid);
    cli_eval_for(e->shell);
}

/* ---- common ------------------------------------------------------------- */

static int open_subject(errand *e, cli_kind_of kind, bool is_async)
{
    const lk_client_options options = {LK_CLIENT_OPTIONS_INIT,
                                       .offline_ms =
                                           is_async ? CLI_PATIENCE_MS : 0,
                                       .dispatch = is_async ? 1 : 0,
                                       .under = run_env_under()};
    lk_status status;
    int code = cli_client_open(e->c, &options, &e->client);

    if (code != 0)
        return code;
    status = cli_subject_new(&e->subject, e->client, kind, e->name,
                             e->chosen.said.permits);
    return status == LK_OK ? 0 : cli_fail_status(e->c, status, e->name);
}

static void close_errand(errand *e)
{
    if (e->hold != NULL)
        (void)lk_hold_release(e->hold);
    cli_subject_free(&e->subject);
    lk_client_free(e->client);
    explicit_bzero(e->text, sizeof(e->text));
}

/* ---- acquire ------------------------------------------------------------ */

static int acquire(errand *e, int *ret_signal)
{
    run_signals signals;
    char reason[CLI_CALLER_SIZE];
    run_wait wait = {.c = e->c,
                     .subject = &e->subject,
                     .signals = &signals,
                     .wait_ms = e->chosen.is_try ? 0 : e->chosen.wait_ms,
                     .reason = reason,
                     .lease_ms = (uint64_t)e->chosen.lease_ms};
    lk_status status;
    int code;

    if (!run_signals_take(&signals))
        return cli_fail(e->c, CLI_INTERNAL, "signals cannot be taken");
    cli_caller_reason(reason, e->chosen.why, e->shell);
    code = run_wait_settle(e->c, &wait.wait_ms);
    if (code == 0)
        code = open_subject(e, e->chosen.kind, true);
    if (code != 0)
        return code;
    wait.client = e->client;
    status = run_wait_acquire(&wait, &e->hold, ret_signal);
    if (*ret_signal != 0)
        return CLI_SIGNAL + *ret_signal;
    if (status == LK_OK)
        return run_wait_lengthen(&wait, e->hold, e->chosen.lease_ms);
    code = run_wait_fail(&wait, status);
    return code == CLI_BUSY ? cli_conflict_exit(status, e->chosen.busy_code)
                            : code;
}

/* A hold whose text does not arrive is nobody's: it is given back. */
static int hand_out(errand *e)
{
    uint64_t fence = lk_hold_fence(e->hold);
    lk_status status = make_text(e);
    cli_kind_of kind;
    const char *text;

    if (status != LK_OK)
        return cli_fail_status(e->c, status, e->name);
    if (e->chosen.exports && !e->c->json) {
        cli_eval_disown();
        cli_eval_enter();
    }
    put_hold(e, fence);
    if (cli_flush())
        return CLI_OK;
    text = cli_text_read(e->text, e->name, &kind);
    if (text != NULL &&
        cli_subject_import(&e->subject, text, &e->hold) != LK_OK)
        e->hold = NULL;
    return cli_fail(e->c, CLI_LOST, "the hold cannot be written; given back");
}

static int run_acquire(cli *c, int argc, char **argv)
{
    errand e = {.c = c,
                .chosen = {.said = {.permits = CLI_UNSAID},
                           .wait_ms = LK_FOREVER,
                           .busy_code = CLI_BUSY}};
    cli_args args;
    bool is_held = false;
    int number = 0;
    int code;

    if (wants_export(argv))
        cli_eval_owe();
    cli_parse(c, argc, argv, &e.chosen, &args);
    if (e.chosen.lease_ms < 1000)
        cli_usage(c, "give --lease TIME, of at least 1s: nothing renews the "
                     "hold by itself");
    if (e.chosen.busy_code > 255)
        cli_usage(c, "-E has to be 0 to 255");
    if (e.chosen.is_try && e.chosen.wait_ms != LK_FOREVER)
        cli_usage(c, "either -n or -w TIME");
    e.chosen.kind = cli_subject_kind(c, &e.chosen.said, CLI_LOCK);
    if (strlen(args.operands[0]) > CLI_TEXT_NAME)
        cli_usage(c, "the name is longer than %d bytes", CLI_TEXT_NAME);
    (void)snprintf(e.name, sizeof(e.name), "%s", args.operands[0]);
    shell_find(&e);
    cli_eval_begun();
    code = acquire(&e, &number);
    if (code == 0 && e.hold != NULL) {
        code = hand_out(&e);
        is_held = code == CLI_OK;
    }
    if (!is_held && e.chosen.exports && !c->json)
        cli_eval_failure(code);
    close_errand(&e);
    (void)cli_flush();
    if (number != 0)
        run_signals_die(number);
    return code;
}

#define AT(member) offsetof(choices, member)

static const cli_option acquire_options[] = {
    {CLI_TIME, 'l', "lease", AT(lease_ms), "TIME",
     "required; it ends then unless renewed; 1s at least", 0},
    {CLI_FLAG, 0, "export", AT(exports), NULL, "write lines for a shell's eval",
     0},
    {CLI_COUNT, 0, "pid", AT(pid), "PID",
     "with --export: for this shell; the one that calls", 0},
    CLI_KIND_OPTIONS(AT),
    {CLI_COUNT, 'p', "permits", AT(said.permits), "N",
     "a permit of a semaphore that has N", 0},
    {CLI_REFUSED, 0, "sem", 0, NULL, "--sem N is -p N, --permits N", 0},
    CLI_WAIT_OPTIONS(AT),
    {.kind = CLI_END},
};

const cli_command cli_command_acquire = {
    .name = "acquire",
    .group = CLI_SCRIPT,
    .summary = "take a lock for a fixed time, as a text any process may use",
    .examples = "  hold=$(latchkey acquire deploy --lease 10m) || exit\n"
                "  latchkey release \"$hold\"",
    .usage = "[OPTION]... NAME --lease TIME",
    .about =
        "  lines=$(latchkey acquire NAME --lease 10m --export) &&\n"
        "      eval \"$lines\" || exit\n"
        "  ...; eval \"$(latchkey renew --export)\" || exit; ...\n"
        "  latchkey release\n"
        "\n"
        "Writes the hold as a line of text, in LATCHKEY_HOLD with --export;\n"
        "if it is not obtained --export writes what makes the eval fail.\n"
        "No process keeps it: it ends with its lease, and nothing is ended\n"
        "with it. The text is as good as the hold. `lock` is safer.",
    .options = acquire_options,
    .operands_min = 1,
    .operands_max = 1,
    .run = run_acquire,
};

/* ---- renew, release ----------------------------------------------------- */

/* The words of a hold that a shell has taken apart, as one text again. */
static const char *join(char *text, size_t size, const cli_args *args)
{
    size_t used = 0;

    text[0] = '\0';
    for (int i = 0; i < args->operand_count && used < size; i++) {
        int length = snprintf(text + used, size - used, "%s%s",
                              i > 0 ? " " : "", args->operands[i]);

        used += length > 0 ? (size_t)length : 0;
    }
    return text;
}

static bool is_release(const cli *c)
{
    return strcmp(c->command->name, "release") == 0;
}

static int lost(const errand *e, lk_status status)
{
    if (status != LK_ELOST)
        return cli_fail_status(e->c, cli_client_judge(e->client, status),
                               e->name);
    return cli_ended_fail(e->c, e->client, cli_subject_noun(e->subject.kind),
                          e->name, e->text, is_release(e->c));
}

/* The keeper of `hold` renews by itself. */
static _Noreturn void miss_hold(const cli *c)
{
    if (is_release(c))
        cli_usage(c, "which hold? neither LATCHKEY_HOLD nor LATCHKEY_KEEPER is "
                     "set: was what acquire or hold wrote evaluated?");
    if (getenv("LATCHKEY_KEEPER") != NULL)
        cli_usage(c, "which hold? LATCHKEY_HOLD is not set, and what `hold` "
                     "took is renewed by its keeper");
    cli_usage(c, "which hold? LATCHKEY_HOLD is not set: was what acquire wrote "
                 "evaluated?");
}

/* As after hold=$(latchkey acquire ...), which was not obtained. */
static _Noreturn void miss_text(const cli *c)
{
    cli_usage(c,
              "the text of the hold is empty: `acquire` has written none, so "
              "nothing was obtained; end the script then, as in\n"
              "  hold=$(latchkey acquire ...) || exit");
}

/* As `release NAME`, or what is no hold at all. */
static _Noreturn void
refuse_text(const cli *c, const cli_args *args, const char *given)
{
    if (is_release(c) && strchr(given, ' ') == NULL && args->operand_count == 1)
        cli_usage(c, "release takes no NAME: it ends what this shell holds. "
                     "Somebody else's: latchkey break NAME");
    cli_usage(c, "that is not a hold that acquire has written");
}

static int take_over(errand *e, const cli_args *args)
{
    char joined[CLI_TEXT_SIZE];
    const char *given = args->operand_count > 0
                            ? join(joined, sizeof(joined), args)
                            : getenv("LATCHKEY_HOLD");
    cli_kind_of kind = CLI_LOCK;
    const char *text = NULL;
    lk_status status;
    int code;

    if (given == NULL)
        miss_hold(e->c);
    else if (given[strspn(given, " ")] == '\0')
        miss_text(e->c);
    text = cli_text_read(given, e->name, &kind);
    if (text != NULL)
        (void)snprintf(e->text, sizeof(e->text), "%s", text);
    else
        refuse_text(e->c, args, given);
    code = open_subject(e, kind, false);
    if (code != 0)
        return code;
    status = cli_subject_import(&e->subject, text, &e->hold);
    explicit_bzero(joined, sizeof(joined));
    return status == LK_OK ? 0 : lost(e, status);
}

static int release(errand *e)
{
    lk_status status = lk_hold_release(e->hold);

    e->hold = NULL;
    return status == LK_OK ? CLI_OK : lost(e, status);
}

/* The import begins the lease again; --lease makes it longer. Whatever comes of
   that, the hold leaves this process as text: it is not ours to release. */
static int renew(errand *e)
{
    uint64_t fence = lk_hold_fence(e->hold);
    lk_status exported;
    lk_status status = LK_OK;

    if (e->chosen.lease_ms > 0)
        status = lk_hold_extend(e->hold, (uint64_t)e->chosen.lease_ms);
    exported = make_text(e);
    if (exported != LK_OK)
        return lost(e, exported);
    put_hold(e, fence);
    if (!cli_flush())
        return cli_fail(e->c, CLI_LOST,
                        "the hold cannot be written; it ends with its lease");
    return status == LK_OK ? CLI_OK : lost(e, status);
}

static int run_renew(cli *c, int argc, char **argv)
{
    static errand e; /* what is not closed at the end is no leak */
    cli_args args;
    int code;

    e.c = c;
    if (wants_export(argv))
        cli_eval_owe_status();
    cli_parse(c, argc, argv, &e.chosen, &args);
    code = take_over(&e, &args);
    cli_eval_begun();
    if (code == 0)
        code = renew(&e);
    if (e.chosen.exports && !c->json)
        cli_eval_status(code);
    /* One that was revoked meanwhile a close would give back, and the shell may be
       at work still. */
    if (e.hold == NULL)
        close_errand(&e);
    return code;
}

/* Whether it is the one in LATCHKEY_HOLD. */
static bool is_current(const errand *e)
{
    const char *hold = getenv("LATCHKEY_HOLD");

    return hold != NULL && e->text[0] != '\0' && strstr(hold, e->text) != NULL;
}

static int end_release(const errand *e, int code)
{
    cli_eval_begun();
    if (e->chosen.exports)
        cli_eval_status(code);
    return code;
}

static int run_release(cli *c, int argc, char **argv)
{
    errand e = {.c = c};
    char keepers[CLI_KEEPERS_SIZE];
    cli_args args;
    int code;

    if (wants_export(argv))
        cli_eval_owe_status();
    cli_parse(c, argc, argv, &e.chosen, &args);
    shell_find(&e);
    if (args.operand_count == 0 && getenv("LATCHKEY_HOLD") == NULL &&
        getenv("LATCHKEY_KEEPER") != NULL) {
        code = cli_keeper_end(c, getenv("LATCHKEY_KEEPER"), keepers);
        if ((code == CLI_OK || code == CLI_LOST) && e.chosen.exports) {
            cli_eval_unset();
            if (keepers[0] != '\0')
                cli_eval_export("LATCHKEY_KEEPER", keepers);
        }
        return end_release(&e, code);
    }
    code = take_over(&e, &args);
    if (code == 0)
        code = release(&e);
    if ((code == CLI_OK || code == CLI_LOST) && e.chosen.exports &&
        is_current(&e))
        cli_eval_leave();
    close_errand(&e);
    return end_release(&e, code);
}

static const cli_option renew_options[] = {
    {CLI_TIME, 'l', "lease", AT(lease_ms), "TIME",
     "at least so long from now; as long as before", 0},
    {CLI_FLAG, 0, "export", AT(exports), NULL, "write lines for a shell's eval",
     0},
    {.kind = CLI_END},
};

const cli_command cli_command_renew = {
    .name = "renew",
    .group = CLI_SCRIPT,
    .summary = "start the fixed time of `acquire` again",
    .examples = "  hold=$(latchkey renew \"$hold\") || exit\n"
                "  eval \"$(latchkey renew --export)\" || exit",
    .usage = "[OPTION]... [HOLD]",
    .about =
        "HOLD is what `acquire` or `renew` wrote last, else LATCHKEY_HOLD.\n"
        "Writes the hold as `acquire` does, with a new fence; HOLD is worth\n"
        "nothing then, so keep what was written. Exits with 74 if it is\n"
        "lost: then stop what it guards.",
    .options = renew_options,
    .operands_max = HOLD_WORDS,
    .run = run_renew,
};

static const cli_option release_options[] = {
    {CLI_FLAG, 0, "export", AT(exports), NULL,
     "write lines for a shell's eval that forget it", 0},
    {CLI_COUNT, 0, "pid", AT(pid), "PID",
     "with --export: of this shell; the one that calls", 0},
    {.kind = CLI_END},
};

const cli_command cli_command_release = {
    .name = "release",
    .group = CLI_SCRIPT,
    .summary = "give back what `hold` or `acquire` took",
    .examples = "  latchkey release                 what this shell took last\n"
                "  latchkey release \"$hold\"         what `acquire` wrote",
    .usage = "[OPTION]... [HOLD]",
    .about =
        "HOLD is what `acquire` or `renew` wrote last, else LATCHKEY_HOLD;\n"
        "without that the keeper of `hold` ends. Exits with 74 if it was\n"
        "lost before; one that `break` has revoked is given back then.",
    .options = release_options,
    .operands_max = HOLD_WORDS,
    .run = run_release,
};
