/* SPDX-License-Identifier: MIT */

/* `latchkey top`: the names in use, drawn again and again. */

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/clock.h"
#include "cli/output.h"
#include "cli/see/changes.h"
#include "cli/see/sums.h"
#include "cli/utf8.h"

enum { LOOK_MS = 1500, ROWS = 20, LEAST_MS = 100 };

struct values {
    int sort;
    int64_t every_ms;
    uint64_t lines;
};

/* As see_order has them. */
static const char orders[] = "name|waiters|held|rate";
static const char *const order_words[] = {"name", "waiters", "held", "rate"};

static const cli_option options[] = {
    {CLI_WORD, 0, "sort", offsetof(struct values, sort), orders,
     "in which order", 0},
    {CLI_TIME, 'd', "every", offsetof(struct values, every_ms), "TIME",
     "how often it looks; 2", 0},
    {CLI_COUNT, 0, "lines", offsetof(struct values, lines), "N",
     "at most so many names; 20, on a terminal what fits", 0},
    {CLI_WORD, 's', "sort", offsetof(struct values, sort), orders, NULL, 0},
    {CLI_COUNT, 'n', "lines", offsetof(struct values, lines), "N", NULL, 0},
    {.kind = CLI_END},
};

/* ---- the terminal ---------------------------------------------------------------- */

/* Set by signals: to end, and to draw again. */
static volatile sig_atomic_t ended, resized;

static void on_signal(int signal)
{
    if (signal == SIGWINCH)
        resized = 1;
    else
        ended = signal;
}

struct screen {
    struct termios before;
    bool is_raw;
};

/* Keys come one by one and unseen; the picture has a screen of its own. */
static void screen_begin(struct screen *screen)
{
    struct sigaction action = {.sa_handler = on_signal};
    struct termios raw;

    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGHUP, &action, NULL);
    (void)sigaction(SIGWINCH, &action, NULL);
    screen->is_raw = tcgetattr(STDIN_FILENO, &screen->before) == 0;
    if (screen->is_raw) {
        raw = screen->before;
        raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
        raw.c_cc[VMIN] = 0;
        raw.c_cc[VTIME] = 0;
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    (void)fputs("\033[?1049h\033[?25l", stdout);
}

static void screen_end(const struct screen *screen)
{
    (void)fputs("\033[?25h\033[?1049l", stdout);
    (void)fflush(stdout);
    if (screen->is_raw)
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &screen->before);
}

static int screen_lines(void)
{
    struct winsize size;

    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row < 4)
        return 24;
    return size.ws_row;
}

/* Writes text over what is there, line by line, without a flicker. */
static void screen_put(const char *text, size_t size)
{
    (void)fputs("\033[H", stdout);
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '\n')
            (void)fputs("\033[K\r", stdout);
        (void)fputc(text[i], stdout);
    }
    (void)fputs("\033[J", stdout);
    (void)fflush(stdout);
}

/* ---- the picture ----------------------------------------------------------------- */

struct top {
    const cli *c;
    lk_client *client;
    lk_list_options what;
    struct values values;
    see_rows rows; /* of the last look that succeeded */
    bool has_rows;
    char trouble[160];            /* "" if the last look succeeded */
    char master[SEE_MASTER_SIZE]; /* the line; "" without sentinels */
    see_changes changes;
};

static void look(struct top *top)
{
    see_rows rows;
    lk_status status = see_rows_list(top->client, LOOK_MS, &top->what, &rows);

    if (!see_master_words(top->master, top->client))
        top->master[0] = '\0';
    if (status != LK_OK) {
        char words[128];

        (void)snprintf(top->trouble, sizeof(top->trouble), "%s: %s",
                       lk_status_name(status),
                       cli_clean(words, sizeof(words), cli_error_words()));
        return;
    }
    if (top->has_rows)
        see_rows_free(&top->rows);
    top->rows = rows;
    top->has_rows = true;
    top->trouble[0] = '\0';
    if (!see_changes_note(&top->changes, &top->rows, cli_now_ms()))
        (void)snprintf(top->trouble, sizeof(top->trouble), "out of memory");
    see_rows_sort(&top->rows, (see_order)top->values.sort);
    see_rows_ask(top->client, &top->rows);
}

/* A line that is wider than the terminal would move all others. */
static void put_short(FILE *to, char *line)
{
    cli_utf8_shorten(line, cli_columns(stdout));
    (void)fprintf(to, "%s\n", line);
}

/* A master of the cluster was away at the last look. */
static bool is_short(const struct top *top)
{
    return top->has_rows && top->rows.listing->missing[0] != '\0';
}

static void put_head(FILE *to, const struct top *top)
{
    const see_totals totals = top->has_rows ? see_totals_of(&top->rows, NULL)
                                            : (see_totals){.health = NULL};
    char time[CLI_TIME_SIZE], words[192];
    char line[256];

    (void)snprintf(line, sizeof(line) - CLI_UTF8_SHOWN,
                   "%" PRIu64 " names, %" PRIu64 " held, %" PRIu64
                   " waiting; every %s, by %s",
                   totals.all.names, totals.all.held, totals.all.waiters,
                   cli_time_words(time, (uint64_t)top->values.every_ms),
                   order_words[top->values.sort]);
    put_short(to, line);
    if (top->master[0] != '\0') {
        char master[SEE_MASTER_SIZE + CLI_UTF8_SHOWN];

        (void)snprintf(master, SEE_MASTER_SIZE, "%s", top->master);
        put_short(to, master);
    }
    if (top->trouble[0] != '\0')
        (void)snprintf(line, sizeof(line) - CLI_UTF8_SHOWN,
                       "what is shown is old: %s", top->trouble);
    else if (is_short(top))
        (void)snprintf(line, sizeof(line) - CLI_UTF8_SHOWN, "not looked at: %s",
                       cli_clean(words, sizeof(words),
                                 top->rows.listing->missing));
    else
        return;
    put_short(to, line);
}

/* The lines above and below the names, and one for the cursor. */
enum { LINES_AROUND = 4 };

/* How many names fit. */
static size_t room(const struct top *top)
{
    int lines = screen_lines() - LINES_AROUND - (top->master[0] != '\0') -
                (top->trouble[0] != '\0' || is_short(top));
    size_t most = lines > 0 ? (size_t)lines : 0;

    /* The headline takes two lines as well then. */
    if (top->has_rows &&
        see_row_lines(&top->rows, most, cli_columns(stdout)) == 2)
        most = most > 0 ? (most - 1) / 2 : 0;
    return top->values.lines != 0 && top->values.lines < most
               ? (size_t)top->values.lines
               : most;
}

static void put_foot(FILE *to, const struct top *top, size_t most)
{
    enum { WIDE = 72 };
    bool is_wide = cli_columns(stdout) >= WIDE;

    if (top->has_rows && top->rows.count > most)
        (void)fprintf(to, "%zu more%s; ", top->rows.count - most,
                      is_wide ? " names" : "");
    (void)fputs(is_wide ? "sort: w waiters, h held, r rate, n name; q quits\n"
                        : "sort by w, h, r, n; q quits\n",
                to);
}

static void draw(struct top *top)
{
    cli c = cli_painting(top->c, stdout);
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    size_t most;

    if (to == NULL)
        return;
    put_head(to, top);
    if (top->has_rows)
        see_rows_sort(&top->rows, (see_order)top->values.sort);
    most = room(top);
    if (top->has_rows)
        see_put_rows(&c, to, &top->rows, most, cli_columns(stdout), true);
    put_foot(to, top, most);
    if (fclose(to) == 0)
        screen_put(text, size);
    free(text);
}

/* ---- live -------------------------------------------------------------------------- */

/* False: to end. */
static bool key_take(struct top *top, char key)
{
    static const char keys[] = "nwhr";
    const char *found = strchr(keys, key);

    if (key == 'q' || key == 'Q')
        return false;
    if (found != NULL && key != '\0')
        top->values.sort = (int)(found - keys);
    return true;
}

/* Waits for a key, the time, or a signal. False: to end. */
static bool pause_until(struct top *top, uint64_t until)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    uint64_t now = cli_now_ms();
    char key;

    while (ended == 0 && now < until) {
        int ready = poll(&in, 1, (int)(until - now));

        if (ready > 0 && read(STDIN_FILENO, &key, 1) != 1)
            return false; /* the terminal went away */
        if (ready > 0 && !key_take(top, key))
            return false;
        if (ready > 0 || resized != 0) {
            resized = 0;
            draw(top);
        }
        now = cli_now_ms();
    }
    return ended == 0;
}

static int live(struct top *top)
{
    struct screen screen;
    bool goes_on = true;

    screen_begin(&screen);
    while (goes_on && ended == 0) {
        uint64_t next = cli_now_ms() + (uint64_t)top->values.every_ms;

        look(top);
        draw(top);
        goes_on = pause_until(top, next);
    }
    screen_end(&screen);
    see_changes_done(&top->changes);
    if (top->has_rows)
        see_rows_free(&top->rows);
    return ended != 0 && ended != SIGINT ? CLI_SIGNAL + (int)ended : CLI_OK;
}

/* ---- a snapshot ------------------------------------------------------------------- */

static int snapshot(struct top *top)
{
    see_rows rows;
    int code = see_rows_get(top->c, top->client, &top->what, &rows);
    size_t most = top->values.lines != 0 ? (size_t)top->values.lines : ROWS;

    if (code != 0)
        return code;
    see_rows_sort(&rows, (see_order)top->values.sort);
    if (rows.count > most)
        rows.count = most;
    return see_rows_show(top->c, top->client, &rows, true);
}

static int run(cli *c, int argc, char **argv)
{
    struct top top = {.c = c,
                      .what = {LK_LIST_OPTIONS_INIT},
                      .values = {.sort = SEE_BY_WAITERS, .every_ms = 2000}};
    cli_args args;
    int code;

    cli_parse(c, argc, argv, &top.values, &args);
    if (top.values.every_ms < LEAST_MS)
        cli_usage(c, "--every has to be 100 ms at least");
    if (args.operand_count == 1)
        top.what.pattern = args.operands[0];
    code = see_open(c, &top.client);
    if (code != 0)
        return code;
    if (c->json || isatty(STDOUT_FILENO) == 0 || isatty(STDIN_FILENO) == 0)
        code = snapshot(&top);
    else
        code = live(&top);
    lk_client_free(top.client);
    return code;
}

const cli_command cli_command_top = {
    .name = "top",
    .group = CLI_SEE,
    .summary = "list the busiest names, drawn again every second",
    .examples = "  latchkey top\n"
                "  latchkey top --sort held 'deploy*'",
    .usage = "[OPTION]... [PATTERN]",
    .about =
        "On a terminal it is drawn again every other second; keys: w by "
        "waiters,\n"
        "h by how long it is held, r by rate, n by name, q to end. RATE are "
        "the\n"
        "changes of the holder that were seen, a second: at most one a look.\n"
        "Where standard input or output is no terminal, or with --json, one "
        "look,\n"
        "as `ls --sort`.",
    .options = options,
    .operands_max = 1,
    .run = run,
};
