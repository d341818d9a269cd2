/* SPDX-License-Identifier: MIT */

/* `latchkey doctor --acl`; see rights.h. */

#include "cli/rights.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/json.h"
#include "cli/output.h"

/* The words of one sort, none of them twice. */
typedef struct words {
    char **all;
    size_t count;
} words;

typedef struct rules {
    words commands, keys, channels;
} rules;

static void words_free(words *w)
{
    for (size_t i = 0; i < w->count; i++)
        free(w->all[i]);
    free(w->all);
}

static void rules_free(rules *r)
{
    words_free(&r->commands);
    words_free(&r->keys);
    words_free(&r->channels);
}

/* Takes the word, also where it returns false: no memory. */
static bool words_take(words *w, char *word)
{
    char **all =
        word != NULL ? realloc(w->all, (w->count + 1) * sizeof(*all)) : NULL;

    if (all == NULL) {
        free(word);
        return false;
    }
    w->all = all;
    w->all[w->count++] = word;
    return true;
}

static bool words_have(const words *w, const char *word)
{
    for (size_t i = 0; i < w->count; i++) {
        if (strcmp(w->all[i], word) == 0)
            return true;
    }
    return false;
}

static bool commands_take(words *to, const char *const *from)
{
    for (; *from != NULL; from++) {
        if (!words_have(to, *from) && !words_take(to, strdup(*from)))
            return false;
    }
    return true;
}

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* ---- patterns -------------------------------------------------------------- */

/* The prefix as a pattern that fits it alone. Free it. NULL: no memory. */
static char *escaped(const char *prefix)
{
    char *text = malloc(2 * strlen(prefix) + 1);
    size_t at = 0;

    for (; text != NULL && *prefix != '\0'; prefix++) {
        if (strchr("*?[]\\", *prefix) != NULL)
            text[at++] = '\\';
        text[at++] = *prefix;
    }
    if (text != NULL)
        text[at] = '\0';
    return text;
}

/* A pattern with the prefix for its %, or the tenant for its $. Free it. NULL: no
   memory. */
static char *filled(const char *pattern, const cli_scope *whose)
{
    size_t before = strcspn(pattern, "%$");
    const char *word = pattern[before] == '$' ? whose->tenant : whose->prefix;
    size_t size = strlen(pattern) + strlen(word) + 1;
    char *text = malloc(size);

    if (text != NULL && pattern[before] != '\0')
        (void)snprintf(text, size, "%.*s%s%s", (int)before, pattern, word,
                       pattern + before + 1);
    else if (text != NULL)
        (void)snprintf(text, size, "%s", pattern);
    return text;
}

/* Keys of names without a brace; what a prefix with one begins is none. */
static bool is_wrapped(const char *pattern)
{
    const char *brace = strstr(pattern, "{%");

    return brace != NULL && (brace == pattern || brace[-1] == ':');
}

static bool
patterns_take(words *to, const char *const *from, const cli_scope *whose)
{
    bool has_brace = strchr(whose->prefix, '{') != NULL;

    for (; *from != NULL; from++) {
        char *text;

        if (has_brace && is_wrapped(*from))
            continue;
        text = filled(*from, whose);
        if (text != NULL && words_have(to, text))
            free(text);
        else if (!words_take(to, text))
            return false;
    }
    return true;
}

/* Whether all that the narrow one fits, the wide one fits as well: it is a
   beginning of it and a star. */
static bool covers(const char *wide, const char *narrow)
{
    size_t size = strlen(wide) - 1;

    return wide[size] == '*' && strncmp(wide, narrow, size) == 0;
}

static bool is_covered(const words *w, size_t i)
{
    for (size_t k = 0; k < w->count; k++) {
        if (k != i && covers(w->all[k], w->all[i]))
            return true;
    }
    return false;
}

static void words_shorten(words *w)
{
    for (size_t i = 0; i < w->count;) {
        if (!is_covered(w, i)) {
            i++;
            continue;
        }
        free(w->all[i]);
        memmove(w->all + i, w->all + i + 1,
                (--w->count - i) * sizeof(w->all[0]));
    }
}

/* ---- all of it ---------------------------------------------------------------- */

static bool
rules_add(rules *r, const cli_rights *rights, const cli_scope *whose)
{
    bool adds = whose->is_cluster && rights->channels[0] != NULL;

    return commands_take(&r->commands, rights->commands) &&
           patterns_take(&r->keys, rights->keys, whose) &&
           patterns_take(&r->channels, rights->channels, whose) &&
           (!adds ||
            patterns_take(&r->channels, cli_rights_cluster_channels, whose));
}

/* False: no memory. */
static bool rules_make(rules *r, const cli_scope *scope, const char *primitive)
{
    char *pattern = escaped(scope->prefix);
    const cli_scope whose = {pattern, scope->tenant, scope->is_cluster, false};
    bool is_made =
        pattern != NULL &&
        (!scope->is_cluster || commands_take(&r->commands, cli_rights_cluster));

    for (const cli_rights *one = cli_rights_of;
         is_made && one->primitive != NULL; one++) {
        if (primitive == NULL || strcmp(one->primitive, primitive) == 0)
            is_made = rules_add(r, one, &whose);
    }
    free(pattern);
    if (!is_made)
        return false;
    if (r->commands.count > 0)
        qsort(r->commands.all, r->commands.count, sizeof(char *), compare);
    words_shorten(&r->keys);
    words_shorten(&r->channels);
    return true;
}

/* A list that NULL ends has EVERY one; list: strings. */
#define EVERY SIZE_MAX

static void put_words(FILE *to, char sign, const void *list, size_t count)
{
    const char *const *all = list;

    for (size_t i = 0; i < count && all[i] != NULL; i++)
        (void)fprintf(to, " %c%s", sign, all[i]);
}

/* As it stands in the sentinels' configuration file. */
static void note_sentinels(const cli *c)
{
    char text[1024] = "";
    FILE *to = fmemopen(text, sizeof(text), "w");

    if (to == NULL)
        return;
    put_words(to, '+', cli_rights_sentinels, EVERY);
    (void)fputs(" resetchannels", to);
    put_words(to, '&', cli_rights_sentinel_channels, EVERY);
    (void)fclose(to);
    cli_note(c, "at the sentinels, behind `user NAME on >PASSWORD`: -@all%s",
             text);
    cli_note(c, "of these +ping is not needed: without it the sentinels' ACL "
                "LOG says that it is denied, and that is all");
}

static void put_rules(const cli *c, const rules *r, const cli_scope *scope)
{
    (void)fputs("resetkeys", stdout);
    put_words(stdout, '~', r->keys.all, r->keys.count);
    (void)fputs(" resetchannels", stdout);
    put_words(stdout, '&', r->channels.all, r->channels.count);
    (void)fputs(" -@all", stdout);
    put_words(stdout, '+', r->commands.all, r->commands.count);
    (void)fputc('\n', stdout);
    for (const cli_help *help = cli_rights_helpful; help->command != NULL;
         help++)
        cli_note(c, "not needed: +%s; without it %s", help->command,
                 help->without);
    cli_note(c,
             "whoever lists names, as by `ls`, needs +scan +hscan%s besides, "
             "and to read all keys",
             scope->is_cluster ? " +cluster|nodes" : "");
    if (scope->has_sentinels)
        note_sentinels(c);
}

static void
put_list(cli_json *json, const char *key, const void *list, size_t count)
{
    const char *const *all = list;

    cli_json_open(json, key, '[');
    for (size_t i = 0; i < count && all[i] != NULL; i++)
        cli_json_text(json, NULL, all[i]);
    cli_json_close(json, ']');
}

static void put_sentinels(cli_json *json, bool has_sentinels)
{
    if (!has_sentinels) {
        cli_json_null(json, "sentinels");
        return;
    }
    cli_json_open(json, "sentinels", '{');
    put_list(json, "commands", cli_rights_sentinels, EVERY);
    put_list(json, "channels", cli_rights_sentinel_channels, EVERY);
    cli_json_close(json, '}');
}

static void put_document(const rules *r, const cli_scope *scope)
{
    cli_json json = {.to = stdout};

    cli_json_open(&json, NULL, '{');
    put_list(&json, "commands", r->commands.all, r->commands.count);
    put_list(&json, "keys", r->keys.all, r->keys.count);
    put_list(&json, "channels", r->channels.all, r->channels.count);
    cli_json_open(&json, "helpful", '[');
    for (const cli_help *help = cli_rights_helpful; help->command != NULL;
         help++) {
        cli_json_open(&json, NULL, '{');
        cli_json_text(&json, "command", help->command);
        cli_json_text(&json, "without", help->without);
        cli_json_close(&json, '}');
    }
    cli_json_close(&json, ']');
    put_sentinels(&json, scope->has_sentinels);
    cli_json_close(&json, '}');
}

/* ---- what is asked for -------------------------------------------------------- */

/* NULL: there is none of that name. */
static const cli_rights *find(const char *primitive)
{
    for (const cli_rights *one = cli_rights_of; one->primitive != NULL; one++) {
        if (strcmp(one->primitive, primitive) == 0)
            return one;
    }
    return NULL;
}

void cli_rights_check(const cli *c, const char *primitive)
{
    if (find(primitive) != NULL)
        return;
    cli_usage(c, "'%s' is no primitive: one of them is plain_semaphore",
              primitive);
}

static bool has_command(const char *const *commands, const char *command)
{
    while (*commands != NULL && strcmp(*commands, command) != 0)
        commands++;
    return *commands != NULL;
}

bool cli_rights_need(const char *primitive, const char *command,
                     bool is_cluster)
{
    const cli_rights *rights = find(primitive);

    return rights != NULL &&
           (has_command(rights->commands, command) ||
            (is_cluster && has_command(cli_rights_cluster, command)));
}

bool cli_rights_help(const char *command)
{
    for (const cli_help *help = cli_rights_helpful; help->command != NULL;
         help++) {
        if (strcmp(help->command, command) == 0)
            return true;
    }
    return false;
}

/* What other keys than those of names begin with. */
static bool is_reserved(const char *prefix)
{
    static const char *const others[] = {"latchkey:", "redisson_",
                                         "lock:", "lock-signal:"};

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        size_t most = strlen(others[i]);
        size_t size = strlen(prefix);

        if (size > 0 &&
            strncmp(prefix, others[i], size < most ? size : most) == 0)
            return true;
    }
    return false;
}

/* One word of a rule, wherever it is read. */
static bool is_word(const char *prefix)
{
    for (; *prefix != '\0'; prefix++) {
        if ((unsigned char)*prefix <= ' ' || *prefix == 0x7f ||
            *prefix == '"' || *prefix == '\'')
            return false;
    }
    return true;
}

static void check(const cli *c, const cli_scope *scope, const char *primitive)
{
    lk_client_options options = {LK_CLIENT_OPTIONS_INIT};

    if (scope->tenant[0] != '\0' &&
        lk_client_options_set(&options, "tenant", scope->tenant) != LK_OK)
        cli_usage(c, "%s", lk_last_error());
    if (!is_word(scope->prefix))
        cli_usage(c, "a prefix has no blanks, quotes or control characters: "
                     "no rule can have them");
    if (is_reserved(scope->prefix))
        cli_usage(c, "the prefix would give rights to keys of other names: "
                     "take one that is not the beginning of latchkey:, "
                     "redisson_, lock: or lock-signal:, nor begins with it");
    if (primitive != NULL)
        cli_rights_check(c, primitive);
}

int cli_rights_put(const cli *c, const cli_scope *scope, const char *primitive)
{
    rules r = {{NULL, 0}, {NULL, 0}, {NULL, 0}};
    int code = CLI_OK;

    check(c, scope, primitive);
    if (!rules_make(&r, scope, primitive))
        code = cli_fail(c, CLI_INTERNAL, "out of memory");
    else if (c->json)
        put_document(&r, scope);
    else
        put_rules(c, &r, scope);
    rules_free(&r);
    return code;
}
