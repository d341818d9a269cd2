/* SPDX-License-Identifier: MIT */

#include "cli/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/foreign.h"
#include "cli/output.h"
#include "cli/word.h"

/* One pass over a command line. */
typedef struct reader {
    cli *c;
    const cli_option *own; /* NULL: none */
    char *values;
    int argc;
    char **argv;
    int at;          /* what is read next */
    int rest;        /* where the rest begins; 0: not seen */
    int operands;    /* seen so far, moved to the front */
    int operand_max; /* the next one begins the rest; INT_MAX: none does */
} reader;

/* ---- numbers and times -------------------------------------------------- */

bool cli_count_read(const char *text, uint64_t *ret_count)
{
    uint64_t count = 0;

    if (*text == '\0')
        return false;
    for (; *text != '\0'; text++) {
        uint64_t digit = (uint64_t)(*text - '0');

        if (*text < '0' || *text > '9' || count > (UINT64_MAX - digit) / 10)
            return false;
        count = count * 10 + digit;
    }
    *ret_count = count;
    return true;
}

/* The length in milliseconds of the unit of so many letters; 0: no unit. */
static int64_t unit_ms(const char *unit, size_t size)
{
    static const struct {
        const char *word;
        int64_t ms;
    } units[] = {{"", 1000},     {"s", 1000},    {"ms", 1},
                 {"m", 60000},   {"sec", 1000},  {"min", 60000},
                 {"h", 3600000}, {"d", 86400000}};

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strlen(units[i].word) == size &&
            strncmp(units[i].word, unit, size) == 0)
            return units[i].ms;
    }
    return 0;
}

/* Without strtod(): it takes signs, hexadecimal, words, and the locale. False:
   there is no number. */
static bool read_decimal(const char **text, double *ret_number)
{
    const char *at = *text;
    double number = 0;
    double place = 1;

    for (; *at >= '0' && *at <= '9'; at++)
        number = number * 10 + (*at - '0');
    if (*at == '.' && (at != *text || (at[1] >= '0' && at[1] <= '9'))) {
        for (at++; *at >= '0' && *at <= '9'; at++) {
            place /= 10;
            number += place * (*at - '0');
        }
    }
    if (at == *text)
        return false;
    *text = at;
    *ret_number = number;
    return true;
}

/* 0:42, 1:02:03: minutes, or hours and minutes, then seconds; times are shown
   so. */
static bool read_clock(const char *text, double *ret_ms)
{
    double s = 0;
    unsigned parts = 1;

    if (*text == ':')
        return false;
    for (; *text >= '0' && *text <= '9'; text++)
        s = s * 10 + (*text - '0');
    for (; *text == ':'; text += 3, parts++) {
        if (text[1] < '0' || text[1] > '5' || text[2] < '0' || text[2] > '9')
            return false;
        s = s * 60 + (text[1] - '0') * 10 + (text[2] - '0');
    }
    *ret_ms = s * 1000;
    return *text == '\0' && (parts == 2 || parts == 3);
}

/* A number and its unit, several times; false: it is something else. */
static bool read_units(const char *text, double *ret_ms)
{
    int64_t before = INT64_MAX;
    double sum = 0;

    do {
        double number = 0;
        bool has_number = read_decimal(&text, &number);
        size_t size = strcspn(text, "0123456789.");
        int64_t unit = unit_ms(text, size);

        /* A number alone is seconds, one behind another part is nothing. */
        if (!has_number || unit == 0 || unit >= before ||
            (size == 0 && before != INT64_MAX))
            return false;
        text += size;
        sum += number * (double)unit;
        before = unit;
    } while (*text != '\0');
    *ret_ms = sum;
    return true;
}

bool cli_time_read(const char *text, int64_t *ret_ms)
{
    const double most = 100.0 * 365 * 86400 * 1000;
    double sum = 0;

    if ((!read_clock(text, &sum) && !read_units(text, &sum)) || sum > most)
        return false;
    /* A time that is not nothing does not become nothing. */
    *ret_ms = (int64_t)(sum + 0.5);
    if (*ret_ms == 0 && sum > 0)
        *ret_ms = 1;
    return true;
}

/* ---- tables ------------------------------------------------------------- */

bool cli_option_takes_value(const cli_option *option)
{
    return option->kind != CLI_FLAG && option->kind != CLI_SET &&
           option->kind != CLI_REFUSED;
}

bool cli_option_is_shown(const cli_option *option)
{
    return option->help != NULL && option->kind != CLI_REFUSED;
}

static const cli_option *
find_long(const cli_option *table, const char *name, size_t size)
{
    for (; table != NULL && table->kind != CLI_END; table++) {
        if (table->name != NULL && strlen(table->name) == size &&
            strncmp(table->name, name, size) == 0)
            return table;
    }
    return NULL;
}

static const cli_option *find_letter(const cli_option *table, char letter)
{
    for (; table != NULL && table->kind != CLI_END; table++) {
        if (table->letter == letter)
            return table;
    }
    return NULL;
}

/* How far it is from what is there; --lease-time is near --lease. */
static size_t likeness(const char *name, const char *there)
{
    size_t size = strlen(there);

    if (strncmp(name, there, size) == 0 && name[size] == '-')
        return 1;
    return cli_distance(name, there);
}

static void nearest(const cli_option *table, const char *name,
                    const char **ret_name, size_t *ret_distance)
{
    for (; table != NULL && table->kind != CLI_END; table++) {
        size_t d = table->name == NULL || !cli_option_is_shown(table)
                       ? SIZE_MAX
                       : likeness(name, table->name);

        if (d < *ret_distance) {
            *ret_distance = d;
            *ret_name = table->name;
        }
    }
}

/* --help and -h are not in the tables: they end the tool. */
static _Noreturn void help(const reader *r)
{
    exit(r->c->command != NULL ? cli_help_command(r->c->command)
                               : cli_help_all());
}

/* Nor is --version, behind which --json may stand. */
static _Noreturn void version(const reader *r)
{
    for (int i = r->at + 1; i < r->argc; i++)
        r->c->json |= strcmp(r->argv[i], "--json") == 0;
    exit(cli_finish(cli_version(r->c)));
}

static bool has_option(const reader *r, const char *name)
{
    return find_long(r->own, name, strlen(name)) != NULL ||
           find_long(cli_global_options, name, strlen(name)) != NULL;
}

/* word: with its dashes. name: so many bytes in it. */
static void
refuse_foreign(const reader *r, const char *word, const char *name, size_t size)
{
    const cli_foreign *foreign = cli_foreign_find(name, size, NULL);

    while (foreign != NULL && foreign->needs != NULL &&
           !has_option(r, foreign->needs))
        foreign = cli_foreign_find(name, size, foreign);
    if (foreign != NULL)
        cli_usage(r->c, "there is no option %.*s: %s",
                  (int)(name + size - word), word, foreign->instead);
}

/* What is added where an option of a command may be meant. */
static const char *before_command(const reader *r)
{
    return r->c->command != NULL
               ? ""
               : " of every command; one of a command stands behind it, as in "
                 "`latchkey lock -n NAME`";
}

/* text: what stands behind the dashes, of which size bytes are the name. */
static _Noreturn void
unknown_long(const reader *r, const char *text, size_t size)
{
    char name[33]; /* what is longer is near to nothing */
    const char *near = NULL;
    size_t distance;

    (void)snprintf(name, sizeof(name), "%.*s", (int)size, text);
    distance = cli_nearness(name);
    if (strcmp(text, "help") == 0)
        help(r);
    if (strcmp(text, "version") == 0 && r->c->command == NULL)
        version(r);
    refuse_foreign(r, text - 2, text, size);
    nearest(r->own, name, &near, &distance);
    nearest(cli_global_options, name, &near, &distance);
    if (near != NULL)
        cli_usage(r->c, "there is no option --%s; did you mean --%s?", name,
                  near);
    cli_usage(r->c, "there is no option --%.*s%s",
              (int)cli_word_quotable(text, size), text, before_command(r));
}

/* at: the letter in word, which is what stands behind the dash. Help that is
   asked for in the middle of a word is a mistake: it would end a script with 0. */
static _Noreturn void
unknown_letter(const reader *r, const char *word, const char *at)
{
    if (*at == 'h' && at[1] == '\0')
        help(r);
    if (*at == 'V' && at[1] == '\0' && r->c->command == NULL)
        version(r);
    if (word[1] == '\0')
        cli_usage(r->c, "there is no option -%c%s", *at, before_command(r));
    cli_usage(r->c,
              "'-%s' is not understood at '%c'; long options have two dashes",
              word, *at);
}

/* Other tools write long options with one dash. */
static void refuse_long(const reader *r, const char *word)
{
    size_t size = strcspn(word, "=");

    /* A letter alone may be one of ours; with = it is not. */
    if (size > 1 || word[size] == '=')
        refuse_foreign(r, word - 1, word, size);
    if (size > 2 && (find_long(r->own, word, size) != NULL ||
                     find_long(cli_global_options, word, size) != NULL))
        cli_usage(r->c, "'-%s' has one dash; did you mean --%.*s?", word,
                  (int)size, word);
}

/* ---- values ------------------------------------------------------------- */

static void
store(const reader *r, const cli_option *option, bool is_own, const char *value)
{
    char *field = (is_own ? r->values : (char *)r->c) + option->at;
    bool is_good = true;
    const char *wanted = "";

    switch (option->kind) {
    case CLI_FLAG:
        *(bool *)field = true;
        break;
    case CLI_SET:
        memcpy(field, &option->set, sizeof(option->set));
        break;
    case CLI_TEXT:
        memcpy(field, &value, sizeof(value));
        break;
    case CLI_COUNT: {
        uint64_t count = 0;

        wanted = "a number";
        is_good = cli_count_read(value, &count);
        memcpy(field, &count, sizeof(count));
        break;
    }
    case CLI_TIME: {
        int64_t ms = 0;

        wanted = "a time such as 500ms, 2.5s, 1m30s, 0:42 or 1h";
        is_good = cli_time_read(value, &ms);
        memcpy(field, &ms, sizeof(ms));
        break;
    }
    case CLI_WORD: {
        int index = cli_word_find(option->value, value);

        wanted = option->value;
        is_good = index >= 0;
        memcpy(field, &index, sizeof(index));
        break;
    }
    case CLI_REFUSED:
        cli_usage(r->c, "%s", option->help);
    case CLI_END:
        break;
    }
    if (!is_good && is_own &&
        cli_foreign_is_listen(r->c->command->name, option))
        cli_usage(r->c, "-l is --lease here; etcdctl's elect -l is "
                        "`latchkey who NAME`");
    if (!is_good)
        cli_usage(r->c, "--%s is '%s'; it has to be %s", option->name, value,
                  wanted);
}

static const char *value_behind(reader *r, const cli_option *option)
{
    if (r->at + 1 >= r->argc)
        cli_usage(r->c, "--%s wants a value: %s", option->name, option->value);
    return r->argv[++r->at];
}

/* ---- one word of the command line --------------------------------------- */

static void read_long(reader *r, const char *text)
{
    const char *equals = strchr(text, '=');
    size_t size = equals != NULL ? (size_t)(equals - text) : strlen(text);
    const cli_option *option = find_long(r->own, text, size);
    bool is_own = option != NULL;

    if (option == NULL)
        option = find_long(cli_global_options, text, size);
    if (option == NULL)
        unknown_long(r, text, size);
    else if (cli_option_takes_value(option))
        store(r, option, is_own,
              equals != NULL ? equals + 1 : value_behind(r, option));
    else if (equals == NULL || option->kind == CLI_REFUSED)
        store(r, option, is_own, NULL);
    else
        cli_usage(r->c, "--%s takes no value", option->name);
}

static const cli_option *
letter_option(const reader *r, char letter, bool *ret_is_own)
{
    const cli_option *option = find_letter(r->own, letter);

    *ret_is_own = option != NULL;
    return option != NULL ? option : find_letter(cli_global_options, letter);
}

/* -nq, -w2, -w 2 */
static void read_letters(reader *r, const char *word)
{
    refuse_long(r, word);
    for (const char *text = word; *text != '\0'; text++) {
        bool is_own = false;
        const cli_option *option = letter_option(r, *text, &is_own);

        if (option == NULL) {
            unknown_letter(r, word, text);
        } else if (cli_option_takes_value(option)) {
            store(r, option, is_own,
                  text[1] != '\0' ? text + 1 : value_behind(r, option));
            return;
        } else {
            store(r, option, is_own, NULL);
        }
    }
}

/* False: the options have ended. */
static bool read_word(reader *r)
{
    char *word = r->argv[r->at];

    if (strcmp(word, "--") == 0) {
        r->rest = r->at + 1;
        return false;
    }
    if (strncmp(word, "--", 2) == 0) {
        read_long(r, word + 2);
    } else if (word[0] == '-' && word[1] != '\0') {
        read_letters(r, word + 1);
    } else if (r->operands == r->operand_max) {
        r->rest = r->at;
        return false;
    } else {
        r->argv[1 + r->operands++] = word;
    }
    return true;
}

/* ---- whole command lines ------------------------------------------------ */

/* What stands behind -- are operands that begin with -, as many as are
   missing, and then the rest, which another -- may precede. */
static void take_rest(reader *r, const cli_command *command, cli_args *args)
{
    if (r->rest == 0)
        return;
    if (command->takes_rest) {
        bool is_missing = r->operands < command->operands_min;

        while (r->rest < r->argc && r->operands < command->operands_min)
            r->argv[1 + r->operands++] = r->argv[r->rest++];
        if (is_missing && r->rest < r->argc &&
            strcmp(r->argv[r->rest], "--") == 0)
            r->rest++;
        args->rest = r->rest < r->argc ? r->argv + r->rest : NULL;
        return;
    }
    for (int i = r->rest; i < r->argc; i++)
        r->argv[1 + r->operands++] = r->argv[i];
}

/* How many words may be operands before one begins the rest. Where -- stands
   between them there may be several, otherwise the first that is no more needed is
   what is run. */
static int most_operands(const cli_command *command, int argc, char **argv)
{
    if (!command->takes_rest)
        return argc;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0)
            return command->operands_max;
    }
    return command->operands_min;
}

/* `lock NAME ssh HOST -- make` was meant to run ssh: what is a program is no name
   but the first. */
static void refuse_programs(const cli *c, const cli_args *args)
{
    for (int i = 1; i < args->operand_count; i++) {
        if (cli_word_is_program(args->operands[i]))
            cli_usage(c,
                      "is '%s' a name or a command? Names stand before --, a "
                      "command behind it\n"
                      "  a name that is a command as well has to stand first",
                      args->operands[i]);
    }
}

void cli_parse(cli *c, int argc, char **argv, void *values, cli_args *args)
{
    const cli_command *command = c->command;
    reader r = {
        .c = c,
        .own = command->options,
        .values = values,
        .argc = argc,
        .argv = argv,
        .at = 1,
        .operand_max = most_operands(command, argc, argv),
    };

    memset(args, 0, sizeof(*args));
    while (r.at < argc && read_word(&r))
        r.at++;
    take_rest(&r, command, args);
    args->operands = argv + 1;
    args->operand_count = r.operands;
    if (c->url != NULL && cli_foreign_is_unlock(command->name, c->url))
        cli_usage(c, "-u is --url here; flock's -u is `latchkey release`");
    if (r.operands < command->operands_min)
        cli_usage(c, "something is missing: %s %s", c->command->name,
                  command->usage);
    if (r.operands > command->operands_max)
        cli_usage(c, "'%s' is too much: %s %s", argv[1 + command->operands_max],
                  c->command->name, command->usage);
    if (command->takes_rest)
        refuse_programs(c, args);
}

int cli_parse_globals(cli *c, int argc, char **argv)
{
    reader r = {.c = c, .argc = argc, .argv = argv, .at = 1};

    while (r.at < argc && read_word(&r))
        r.at++;
    return r.at < argc && strcmp(argv[r.at], "--") == 0 ? r.at + 1 : r.at;
}
