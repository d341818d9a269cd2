/* SPDX-License-Identifier: MIT */

/*
 * `latchkey __complete WORD...`, for the completions of shells: what the last
 * word, perhaps empty, may become. All it says comes from the tables that the
 * parser and the help follow, and, where a name is wanted, from the server.
 *
 * Writes a line for each candidate: what it is, a tab, and what it means. A
 * line that begins with a colon stands for what the shell knows: `:commands`,
 * `:files`. Nobody waits for it: after 200 ms it ends, without the names if
 * the server has not told them by then.
 */

#include <latchkey/inspect.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/config.h"
#include "cli/connect.h"
#include "cli/local/local.h"
#include "cli/utf8.h"

enum { BUDGET_MS = 190, NAMES_WAIT_MS = 150, NAMES_MAX = 200, WORD_MAX = 64 };

/* The words before the last one, as the parser would take them. */
typedef struct reading {
    const cli_command *command; /* NULL: not said yet */
    const cli_option *pending;  /* its value is what comes next */
    const char *url;            /* said as an option; NULL: not */
    const char *profile;        /* the same */
    int operands;
    bool only_operands; /* a -- has ended the options */
    bool in_rest;       /* what comes next is of another command line */
    int rest;           /* words of it that were read */
    bool is_lost;       /* a command that there is not */
} reading;

/* ---- reading ------------------------------------------------------------ */

static const cli_option *
find_in(const cli_option *table, const char *name, size_t size, char letter)
{
    for (; table != NULL && table->kind != CLI_END; table++) {
        if (letter != 0 ? table->letter == letter
                        : table->name != NULL && strlen(table->name) == size &&
                              strncmp(table->name, name, size) == 0)
            return table;
    }
    return NULL;
}

/* By its letter, or by its name of so many bytes. */
static const cli_option *
find(const reading *r, const char *name, size_t size, char letter)
{
    const cli_option *option = NULL;

    if (r->command != NULL)
        option = find_in(r->command->options, name, size, letter);
    if (option == NULL)
        option = find_in(cli_global_options, name, size, letter);
    return option;
}

static void note_value(reading *r, const cli_option *option, const char *value)
{
    if (option == find_in(cli_global_options, "url", 3, 0))
        r->url = value;
    else if (option == find_in(cli_global_options, "profile", 7, 0))
        r->profile = value;
}

static void read_long(reading *r, const char *text)
{
    const size_t size = strcspn(text, "=");
    const cli_option *option = find(r, text, size, 0);

    if (option == NULL || !cli_option_takes_value(option))
        return;
    if (text[size] == '=')
        note_value(r, option, text + size + 1);
    else
        r->pending = option;
}

static void read_letters(reading *r, const char *text)
{
    for (; *text != '\0'; text++) {
        const cli_option *option = find(r, NULL, 0, *text);

        if (option == NULL || !cli_option_takes_value(option))
            continue;
        if (text[1] != '\0')
            note_value(r, option, text + 1);
        else
            r->pending = option;
        return;
    }
}

/* Whether the next word without a dash begins the command to be run. */
static bool is_before_rest(const reading *r)
{
    return r->command != NULL && r->command->takes_rest &&
           r->operands >= r->command->operands_min;
}

static void read_operand(reading *r, const char *word)
{
    if (r->command == NULL) {
        r->command = cli_command_find(word);
        r->is_lost = r->command == NULL;
    } else if (is_before_rest(r)) {
        r->in_rest = true;
        r->rest = 1;
    } else {
        r->operands++;
    }
}

static void read_word(reading *r, const char *word)
{
    if (r->in_rest) {
        r->rest++;
    } else if (r->pending != NULL) {
        note_value(r, r->pending, word);
        r->pending = NULL;
    } else if (r->only_operands || word[0] != '-' || word[1] == '\0') {
        read_operand(r, word);
    } else if (strcmp(word, "--") == 0) {
        r->only_operands = true;
        r->in_rest = r->command != NULL && r->command->takes_rest;
    } else if (word[1] == '-') {
        read_long(r, word + 2);
    } else {
        read_letters(r, word + 1);
    }
}

/* ---- candidates --------------------------------------------------------- */

static void offer(const char *before, const char *word, const char *begun,
                  const char *meaning)
{
    if (strncmp(word, begun, strlen(begun)) == 0)
        (void)printf("%s%s\t%s\n", before, word, meaning);
}

static void offer_commands(const char *begun)
{
    for (size_t i = 0; cli_commands[i] != NULL; i++) {
        if (cli_commands[i]->group != CLI_HIDDEN)
            offer("", cli_commands[i]->name, begun, cli_commands[i]->summary);
    }
}

static void offer_options_of(const cli_option *table, const char *begun)
{
    char letter[3] = "-?";

    for (; table != NULL && table->kind != CLI_END; table++) {
        letter[1] = table->letter;
        if (!cli_option_is_shown(table))
            continue;
        if (table->name != NULL)
            offer("--", table->name,
                  begun + (begun[1] == '-' ? 2 : strlen(begun)), table->help);
        else
            offer("", letter, begun, table->help);
    }
}

/* Those that are in no table. */
static void offer_option(const char *name, const char *begun, const char *help)
{
    offer("--", name, begun + (begun[1] == '-' ? 2 : strlen(begun)), help);
}

static void offer_options(const reading *r, const char *begun)
{
    if (r->command != NULL)
        offer_options_of(r->command->options, begun);
    offer_options_of(cli_global_options, begun);
    offer_option("help", begun, "explain a command");
    if (r->command == NULL)
        offer_option("version", begun, "the version of tool and library");
}

/* The words of "a|b|c" that are nothing but words. */
static void
offer_words(const char *before, const char *words, const char *begun)
{
    char word[WORD_MAX];

    while (*words != '\0') {
        const size_t size = strcspn(words, "|");

        if (size < sizeof(word) && memchr(words, ':', size) == NULL) {
            memcpy(word, words, size);
            word[size] = '\0';
            offer(before, word, begun, "");
        }
        words += size + (words[size] == '|');
    }
}

static void offer_profiles(const cli *c, const char *before, const char *begun)
{
    char names[CLI_PROFILES_SIZE];

    if (cli_profiles(c, names) == 0)
        offer_words(before, names, begun);
}

/* ---- names -------------------------------------------------------------- */

/* Whether the parser would take a name for an option. */
static bool is_option(const reading *r, const char *name)
{
    return name[0] == '-' && !r->only_operands && r->pending == NULL;
}

/* A pattern of names that begin so; false: it would be too long. */
static bool pattern_make(char *pattern, size_t size, const char *begun)
{
    size_t used = 0;

    for (; *begun != '\0' && used + 3 < size; begun++) {
        if (strchr("*?[]\\^", *begun) != NULL)
            pattern[used++] = '\\';
        pattern[used++] = *begun;
    }
    pattern[used++] = '*';
    pattern[used] = '\0';
    return *begun == '\0';
}

/* Whether there is a server to ask. A private one is not started for this. */
static bool is_there(cli *c)
{
    cli_local local;

    return cli_url(c) == 0 &&
           (!c->is_local ||
            (cli_local_find(c, &local) == 0 && cli_local_pid(&local) > 0));
}

/* The kind of the names that a command is for. NONE: any. */
static lk_kind kind_of(const cli_command *command)
{
    static const struct {
        const char *command;
        lk_kind kind;
    } kinds[] = {{"read", LK_KIND_RWLOCK},
                 {"write", LK_KIND_RWLOCK},
                 {"semaphore", LK_KIND_SEMAPHORE},
                 {"latch", LK_KIND_LATCH},
                 {"barrier", LK_KIND_LATCH}};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (strcmp(kinds[i].command, command->name) == 0)
            return kinds[i].kind;
    }
    return LK_KIND_NONE;
}

/* Whether a command is for names that nobody uses, too. */
static bool takes_idle(const cli_command *command)
{
    return strcmp(command->name, "forget") == 0 ||
           strcmp(command->name, "log") == 0;
}

static void
offer_listed(const reading *r, const lk_listing *listing, const char *begun)
{
    const lk_kind kind = kind_of(r->command);

    for (size_t i = 0; i < listing->count; i++) {
        const lk_entry *entry = listing->entries[i];

        if (cli_utf8_is_plain(entry->name) && !is_option(r, entry->name) &&
            (kind == LK_KIND_NONE || kind == entry->kind))
            offer("", entry->name, begun, lk_kind_text(entry->kind));
    }
}

static void offer_names(cli *c, const reading *r, const char *begun)
{
    char pattern[1200];
    lk_list_options options = {LK_LIST_OPTIONS_INIT, .pattern = pattern,
                               .limit = NAMES_MAX,
                               .idle = takes_idle(r->command)};
    lk_client *client = NULL;
    lk_listing *listing = NULL;

    if (pattern_make(pattern, sizeof(pattern), begun) && is_there(c) &&
        cli_client_of_url(c, NULL, &client) == 0 &&
        lk_list(client, NAMES_WAIT_MS, &options, &listing) == LK_OK) {
        offer_listed(r, listing, begun);
        lk_listing_free(listing);
    }
    lk_client_free(client);
}

static void offer_value(cli *c, const reading *r, const cli_option *option,
                        const char *before, const char *begun)
{
    const char *value = option->value != NULL ? option->value : "";

    if (strchr(value, '|') != NULL)
        offer_words(before, value, begun);
    else if (strcmp(value, "FILE") == 0 || strcmp(value, "PATH") == 0)
        (void)puts(":files");
    else if (strcmp(value, "PROFILE") == 0)
        offer_profiles(c, before, begun);
    else if (strcmp(value, "NAME") == 0 && r->command != NULL &&
             before[0] == '\0')
        offer_names(c, r, begun);
}

/* ---- operands ----------------------------------------------------------- */

/*
 * Which word of the usage stands for an operand: the words without those that
 * begin with a dash or are "[OPTION]...", which come before. The last one, if
 * it is followed by "...", stands for all that follow.
 */
static bool
operand_word(const cli_command *command, int index, char word[WORD_MAX])
{
    const char *at = command->usage;
    int seen = -1;

    word[0] = '\0';
    while (*at != '\0') {
        const size_t size = strcspn(at, " ");
        const size_t start = strspn(at, "[");

        if (at[start] != '-' && strncmp(at, "[OPTION", 7) != 0 &&
            seen < index && size < WORD_MAX) {
            const size_t length = strcspn(at + start, " ].");

            memcpy(word, at + start, length);
            word[length] = '\0';
            seen++;
        }
        at += size + (at[size] == ' ');
    }
    return seen == index;
}

static void offer_operand(cli *c, const reading *r, const char *begun)
{
    char word[WORD_MAX];

    if (is_before_rest(r))
        (void)puts(":commands");
    if (!operand_word(r->command, r->operands, word))
        return;
    if (strcmp(word, "NAME") == 0 || strcmp(word, "PATTERN") == 0)
        offer_names(c, r, begun);
    else if (strcmp(word, "COMMAND") == 0 && !r->command->takes_rest)
        offer_commands(begun);
    else if (strchr(word, '|') != NULL)
        offer_words("", word, begun);
    else if (strcmp(word, "FILE") == 0)
        (void)puts(":files");
}

static void offer_long_value(cli *c, const reading *r, const char *word)
{
    const size_t size = strcspn(word + 2, "=");
    const cli_option *option = find(r, word + 2, size, 0);
    char before[WORD_MAX];

    if (option == NULL || size + 4 > sizeof(before))
        return;
    memcpy(before, word, size + 3);
    before[size + 3] = '\0';
    offer_value(c, r, option, before, word + size + 3);
}

static void complete(cli *c, const reading *r, const char *word)
{
    if (r->is_lost)
        return;
    if (r->in_rest)
        (void)puts(r->rest == 0 ? ":commands" : ":files");
    else if (r->pending != NULL)
        offer_value(c, r, r->pending, "", word);
    else if (word[0] == '-' && !r->only_operands && strchr(word, '=') == NULL)
        offer_options(r, word);
    else if (strncmp(word, "--", 2) == 0 && !r->only_operands)
        offer_long_value(c, r, word);
    else if (r->command == NULL)
        offer_commands(word);
    else
        offer_operand(c, r, word);
}

/* ---- the command -------------------------------------------------------- */

/* Nothing was written yet: it goes out in one piece at the end. */
static void on_alarm(int number)
{
    (void)number;
    _exit(CLI_OK);
}

static void set_limit(void)
{
    const struct itimerval limit = {.it_value = {0, BUDGET_MS * 1000L}};
    struct sigaction action = {.sa_handler = on_alarm};

    (void)sigaction(SIGALRM, &action, NULL);
    (void)setitimer(ITIMER_REAL, &limit, NULL);
}

static int run(cli *c, int argc, char **argv)
{
    static char output[1 << 18];
    reading r = {.command = NULL};

    set_limit();
    (void)setvbuf(stdout, output, _IOFBF, sizeof(output));
    c->quiet = true;
    for (int i = 1; i + 1 < argc; i++)
        read_word(&r, argv[i]);
    if (r.url != NULL)
        c->url = r.url;
    if (r.profile != NULL)
        c->profile = r.profile;
    complete(c, &r, argc > 1 ? argv[argc - 1] : "");
    return CLI_OK;
}

const cli_command cli_command_complete = {
    .name = "__complete",
    .summary = "what the last word may become, for shells",
    .usage = "WORD...",
    .operands_max = 1,
    .run = run,
};
