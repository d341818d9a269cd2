/* SPDX-License-Identifier: MIT */

#include "cli/run/wait.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/clock.h"
#include "cli/connect.h"
#include "cli/kind.h"
#include "cli/line.h"
#include "cli/log.h"
#include "cli/output.h"
#include "cli/run/circle.h"
#include "cli/run/env.h"
#include "cli/see/see.h"
#include "cli/word.h"

enum {
    QUIET_MS = 200, /* of a wait before anything is said of it */
    LINE_MS = 3000, /* so long its place in the line is waited for */
    LOOK_MS = 1000  /* between two questions who holds it */
};

/* The one wait of the process. Static, since an answer to who holds it may
   still come when the wait is over. */
static struct waiting {
    const run_wait *wait;
    bool is_done;
    bool is_asking; /* for who holds it */
    lk_status status;
    lk_hold *hold;
    bool is_terminal;
    cli_line line;
    bool is_connected; /* it was, once */
    bool is_over;      /* it is only asked who holds it */
    bool is_nested;    /* it would wait for a tool that it runs under */
    run_circle circle; /* that it may stand in */
    bool is_told;      /* of that */
    size_t member;     /* of several names: which is asked about */
    char holder[SEE_PARTY_SIZE + 64]; /* the answer; empty: nobody does */
    int64_t looked_ns;                /* when it was last asked who holds it */
    int64_t begun_ns;
    char said[SEE_PARTY_SIZE + 384]; /* the last line, without its times */
} the_wait;

typedef struct waiting waiting;

/* The name that is waited for, as far as is known. */
static const cli_subject *asked(const waiting *w)
{
    return cli_subject_member(w->wait->subject, w->member);
}

/* Of several names those that come first are held: the next one is asked about. */
static bool is_ours(const waiting *w, const lk_info *info)
{
    const char *id = lk_client_id(w->wait->client);

    return cli_subject_count(w->wait->subject) > 1 &&
           (info->holder_count == 0 ||
            strncmp(info->holders[0]->owner, id, strlen(id)) == 0);
}

static void ask_next(waiting *w)
{
    w->member = (w->member + 1) % cli_subject_count(w->wait->subject);
}

/* ---- the line ----------------------------------------------------------- */

/* The place of this client among those who wait; 0: not there, or unknown. */
static size_t position(const waiting *w, const lk_info *info)
{
    const char *id = lk_client_id(w->wait->client);

    for (size_t i = 0; i < info->listed_count; i++) {
        if (strncmp(info->waiters[i]->owner, id, strlen(id)) == 0)
            return i + 1;
    }
    return 0;
}

/* Makes the part of the line that does not change by itself. */
static void
describe(const waiting *w, const lk_info *info, char *text, size_t size)
{
    char name[SEE_PART_SIZE];
    char place[64] = "";
    char held[SEE_HELD_SIZE] = "";
    size_t at = position(w, info);

    if (at > 0)
        (void)snprintf(place, sizeof(place), "position %zu of %zu, ", at,
                       info->waiter_count);
    if (info->holder_count > 0)
        see_held_words(held, info, " (revoked)");
    (void)snprintf(text, size, "waiting for %s: %s%s%s",
                   see_name_words(name, asked(w)->name), place,
                   info->holder_count > 0 ? "held by " : "free just now", held);
}

/* Since when another library's holder has it, nobody writes down. */
static void put_times(char *text, size_t size, const lk_info *info)
{
    const lk_party *first = info->holder_count > 0 ? info->holders[0] : NULL;
    char time[CLI_TIME_SIZE];
    int used = 0;

    text[0] = '\0';
    if (first == NULL)
        return;
    if (!see_is_foreign(LK_KIND_LOCK, first))
        used = snprintf(text, size, " for %s",
                        cli_time_words(time, first->since_ms));
    if (first->lease_ms >= 0 && used >= 0 && (size_t)used < size)
        (void)snprintf(text + used, size - (size_t)used, ", lease %s",
                       cli_time_words(time, (uint64_t)first->lease_ms));
}

static void put_line(waiting *w, const char *line, const char *times)
{
    char whole[sizeof(w->said) + 96];

    if (w->is_terminal) {
        (void)snprintf(whole, sizeof(whole), "%s%s - ^C gives up", line, times);
        cli_line_draw(&w->line, whole);
    } else if (strcmp(line, w->said) != 0) {
        cli_note(w->wait->c, "%s%s", line, times);
    }
    (void)snprintf(w->said, sizeof(w->said), "%s", line);
}

/* The same for a program, at each change. */
static void put_json(waiting *w, const lk_info *info, const char *line)
{
    cli_log log;

    if (strcmp(line, w->said) == 0 || !cli_log_begin(&log, w->wait->c, "note"))
        return;
    cli_json_text(&log.json, "message", line);
    cli_json_null(&log.json, "advice");
    cli_json_text(&log.json, "waiting_for", asked(w)->name);
    cli_json_count(&log.json, "position", position(w, info));
    cli_json_count(&log.json, "waiting", info->waiter_count);
    see_json_party(&log.json, "holder", LK_KIND_LOCK,
                   info->holder_count > 0 ? info->holders[0] : NULL, 0);
    cli_log_end(&log);
    (void)snprintf(w->said, sizeof(w->said), "%s", line);
}

static void put_info(waiting *w, const lk_info *info)
{
    char line[sizeof(w->said)];
    char times[64];

    describe(w, info, line, sizeof(line));
    if (w->wait->c->logs_json) {
        put_json(w, info, line);
        return;
    }
    put_times(times, sizeof(times), info);
    put_line(w, line, times);
}

/* The server is away, and lk_last_error() says why. */
static void put_outage(waiting *w)
{
    char line[sizeof(w->said)];
    char name[SEE_PART_SIZE];
    char words[161];

    if (w->wait->c->quiet)
        return;
    (void)snprintf(line, sizeof(line),
                   "waiting for %s: the server cannot be reached: %s; "
                   "waiting for it",
                   see_name_words(name, w->wait->subject->name),
                   cli_clean(words, sizeof(words), lk_last_error()));
    put_line(w, line, "");
}

static void keep_holder(waiting *w, const lk_info *info)
{
    char holder[SEE_PARTY_SIZE];
    char times[64];

    if (info->holder_count == 0)
        return;
    see_party_words(holder, info->holders[0]);
    put_times(times, sizeof(times), info);
    (void)snprintf(w->holder, sizeof(w->holder), "%s%s", holder, times);
}

/* ---- events ------------------------------------------------------------- */

static void on_acquired(lk_status status, lk_hold *hold, void *data)
{
    waiting *w = data;

    w->is_done = true;
    w->status = status;
    w->hold = hold;
}

/* Whether it cannot come before this process ends: its holder is a tool that
   this process runs under. Of a semaphore others may give a permit back. */
static bool is_in_vain(const waiting *w, const lk_info *info)
{
    size_t own = 0;

    for (size_t i = 0; i < info->holder_count; i++)
        own += run_env_is_under(info->holders[i]->owner);
    return own > 0 && (w->wait->subject->kind != CLI_SEMAPHORE ||
                       own == info->holder_count);
}

/* It is on its way into the line. What was said of it now would be said again with
   its place. Who spins has none. */
static bool is_coming(const waiting *w, const lk_info *info)
{
    return w->said[0] == '\0' && w->wait->subject->kind != CLI_SPIN &&
           position(w, info) == 0 && info->listed_count == info->waiter_count &&
           cli_now_ns() - w->begun_ns < LINE_MS * CLI_NS_PER_MS;
}

static void take_info(waiting *w, const lk_info *info)
{
    if (is_ours(w, info))
        ask_next(w);
    else if (w->is_over)
        keep_holder(w, info);
    else if (is_in_vain(w, info))
        w->is_nested = true;
    else if (!w->wait->c->quiet && !is_coming(w, info))
        put_info(w, info);
}

/* When nobody wants to know any more, what was waited for may be gone. */
static void on_info(lk_status status, lk_info *info, void *data)
{
    waiting *w = data;

    w->is_asking = false;
    if (status == LK_OK && (w->is_over || !w->is_done))
        take_info(w, info);
    lk_info_free(info);
}

static void look(waiting *w)
{
    w->looked_ns = cli_now_ns();
    if (!w->is_connected)
        return;
    if (lk_client_wait_ready(w->wait->client, 0) != LK_OK) {
        put_outage(w);
        return;
    }
    if (!w->is_asking && cli_subject_info_async(asked(w), on_info, w) == LK_OK)
        w->is_asking = true;
    if (run_env_under() != NULL)
        run_circle_look(&w->circle, w->wait->client, asked(w)->name);
}

/* Once, and with --quiet as well: perhaps nothing else ends it. */
static void tell_circle(waiting *w)
{
    char *text = NULL;
    size_t size;
    FILE *to = NULL;

    if (!w->circle.is_found || w->is_told || w->is_done)
        return;
    w->is_told = true;
    to = open_memstream(&text, &size);
    if (to == NULL)
        return;
    run_circle_put(to, &w->circle);
    if (fclose(to) == 0) {
        cli_line_clear(&w->line);
        (void)
            cli_fail(w->wait->c, 0,
                     "%s\n  end one of these commands; then have all take the "
                     "names in the same order",
                     text);
    }
    free(text);
}

/* When to look again, in milliseconds from now; -1: never. */
static int until_look(const waiting *w)
{
    bool is_told =
        w->looked_ns != 0 && (w->said[0] != '\0' || w->wait->c->quiet);
    int64_t from = w->looked_ns != 0 ? w->looked_ns : w->begun_ns;
    int64_t pause = is_told ? LOOK_MS : QUIET_MS;
    int64_t left = from / CLI_NS_PER_MS + pause - cli_now_ns() / CLI_NS_PER_MS;

    if (w->wait->wait_ms == 0 || (w->wait->c->quiet && run_env_under() == NULL))
        return -1;
    return left > 0 ? (int)left : 0;
}

/* The signal that ends the wait; 0: none has come. */
static int ending_signal(waiting *w)
{
    bool is_kernel;
    int number;

    if (w->wait->signals == NULL)
        return 0;
    while ((number = run_signals_read(w->wait->signals, &is_kernel)) != 0) {
        if (run_signal_ends(number))
            return number;
        if (number == SIGTSTP) {
            (void)raise(SIGSTOP);
            cli_line_leave(&w->line);
        }
    }
    return 0;
}

/* A client that cannot call back has nothing to wait for. */
static void dispatch(waiting *w)
{
    lk_status status = lk_client_dispatch(w->wait->client);

    if (status != LK_OK && !w->is_done)
        on_acquired(status, NULL, w);
}

static int wait_on(waiting *w)
{
    struct pollfd fds[2] =
        {{.fd = lk_client_fd(w->wait->client), .events = POLLIN},
         {.fd = w->wait->signals != NULL ? w->wait->signals->fd : -1,
          .events = POLLIN}};

    while (!w->is_done && !w->is_nested) {
        int ms = until_look(w);
        int number;

        if (ms == 0)
            look(w);
        (void)poll(fds, 2, ms == 0 ? LOOK_MS : ms);
        number = ending_signal(w);
        if (number != 0)
            return number;
        dispatch(w);
        tell_circle(w);
    }
    return 0;
}

/* What is left of the wait, as the library's. */
static int64_t left_ms(const waiting *w)
{
    int64_t spent = (cli_now_ns() - w->begun_ns) / CLI_NS_PER_MS;

    if (w->wait->wait_ms <= 0)
        return w->wait->wait_ms;
    return spent < w->wait->wait_ms ? w->wait->wait_ms - spent : 0;
}

static void on_ready(lk_status status, void *data)
{
    waiting *w = data;
    const lk_acquire_options options = {LK_ACQUIRE_OPTIONS_INIT,
                                        .reason = w->wait->reason,
                                        .lease_ms = w->wait->lease_ms};

    w->is_connected = status == LK_OK;
    if (status == LK_OK)
        status = cli_subject_acquire_async(w->wait->subject, left_ms(w),
                                           &options, on_acquired, w);
    else if (status == LK_ETIMEDOUT)
        status = LK_EOFFLINE;
    if (status != LK_OK)
        on_acquired(status, NULL, w);
}

/* Is there a server at all? */
static lk_status begin(waiting *w)
{
    return lk_client_wait_ready_async(w->wait->client,
                                      cli_connect_ms(w->wait->c,
                                                     w->wait->wait_ms),
                                      on_ready, w);
}

static void ask_until(waiting *w, int64_t until)
{
    struct pollfd fd = {.fd = lk_client_fd(w->wait->client), .events = POLLIN};

    for (size_t i = 0;
         w->holder[0] == '\0' && i < cli_subject_count(w->wait->subject); i++) {
        if (!w->is_asking &&
            cli_subject_info_async(asked(w), on_info, w) == LK_OK)
            w->is_asking = true;
        while (w->is_asking && cli_now_ns() < until) {
            (void)poll(&fd, 1, LOOK_MS);
            if (lk_client_dispatch(w->wait->client) != LK_OK)
                return;
        }
    }
}

/* Asks who holds it, though not for long. */
static void ask_holder(waiting *w)
{
    w->is_over = true;
    ask_until(w, cli_now_ns() + LOOK_MS * CLI_NS_PER_MS);
    w->is_over = false;
}

/* Another number of permits was said, or more are wanted than there are. */
static bool is_about_permits(void)
{
    return strstr(cli_error_words(), " permits, not ") != NULL;
}

/* A callback is told the status alone: this has the words as well. */
static lk_status why_not_ready(const waiting *w, lk_status status)
{
    lk_status ready =
        w->is_connected ? LK_OK : lk_client_wait_ready(w->wait->client, 0);

    return ready != LK_OK && ready != LK_ETIMEDOUT ? ready : status;
}

/* Of a server that was not there from the start. */
static void say_patience(const run_wait *wait)
{
    int64_t ms = cli_connect_ms(wait->c, wait->wait_ms);
    char time[CLI_TIME_SIZE];

    if (wait->wait_ms >= 0 && wait->wait_ms <= ms)
        return;
    cli_note(wait->c,
             "given up after %s; with offline_ms=1m in the URL it waits longer",
             cli_time_words(time, (uint64_t)ms));
}

static int fail_server(const waiting *w, lk_status status)
{
    const run_wait *wait = w->wait;
    int code = cli_fail_status(wait->c, status, wait->subject->name);

    if (status == LK_EOFFLINE && !w->is_connected)
        say_patience(wait);
    return code;
}

int run_wait_fail(const run_wait *wait, lk_status status)
{
    waiting *w = &the_wait;
    char name[128];
    char words[256];
    int code;

    if (w->is_nested)
        return cli_fail(
            wait->c, CLI_BUSY,
            "this command runs under a latchkey that holds '%s', and "
            "would wait for itself\n"
            "  run the command without another `latchkey %s`, or "
            "use another name",
            cli_clean(name, sizeof(name), wait->subject->name),
            wait->c->command->name);
    status = cli_client_judge(wait->client, why_not_ready(w, status));
    code = cli_status_exit(status);
    if (is_about_permits())
        return cli_fail(
            wait->c, code, "%s%s", cli_error_words(),
            status == LK_EMISMATCH
                ? "\n  use the settings that the others use, or another name; "
                  "`latchkey semaphore --resize N NAME` changes them for all"
                : "");
    if (status == LK_EUNSET)
        return cli_fail(wait->c, CLI_CONFIG,
                        "%s\n  the first one says how many "
                        "permits there are: -p N%s",
                        cli_error_words(),
                        cli_word_is_number(wait->subject->name)
                            ? "; -n is --nonblock, and takes no number"
                            : "");
    if (status == LK_ETYPE && cli_subject_count(wait->subject) == 1)
        return cli_fail_kind(wait->c, wait->client, wait->subject->name,
                             wait->subject->kind);
    if (code != CLI_BUSY)
        return fail_server(w, status);
    if (wait->c->quiet)
        return code;
    (void)snprintf(words, sizeof(words), "%s", cli_error_words());
    ask_holder(w);
    cli_note(wait->c, "%s '%s' is not obtained: %s%s",
             cli_subject_noun(wait->subject->kind),
             cli_clean(name, sizeof(name), asked(w)->name),
             w->holder[0] != '\0' ? "held by " : words, w->holder);
    return code;
}

/* What is still due ends within the shutdown and the dispatch. */
static void give_up(waiting *w)
{
    (void)lk_client_shutdown(w->wait->client, LOOK_MS);
    dispatch(w);
    if (w->hold != NULL)
        (void)lk_hold_release(w->hold);
}

lk_status
run_wait_acquire(const run_wait *wait, lk_hold **ret_hold, int *ret_signal)
{
    waiting *w = &the_wait;
    lk_status status;

    *w = (waiting){.wait = wait,
                   .begun_ns = cli_now_ns(),
                   .is_terminal =
                       isatty(STDERR_FILENO) != 0 && !wait->c->logs_json};
    *ret_signal = 0;
    status = begin(w);
    if (status != LK_OK)
        return status;
    *ret_signal = wait_on(w);
    cli_line_clear(&w->line);
    if (*ret_signal != 0 || w->is_nested) {
        give_up(w);
        return w->is_nested ? LK_EALREADY : LK_ECANCELED;
    }
    if (w->status == LK_OK)
        *ret_hold = w->hold;
    return w->status;
}

int run_wait_lengthen(const run_wait *wait, lk_hold *hold, int64_t lease_ms)
{
    lk_status status;

    if ((int64_t)lk_hold_remaining_ms(hold) > lease_ms * 2 / 3)
        return 0;
    status = lk_hold_extend(hold, (uint64_t)lease_ms);
    return status == LK_OK
               ? 0
               : cli_fail_call(wait->c, status, wait->subject->name);
}
