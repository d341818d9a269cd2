/* SPDX-License-Identifier: MIT */

/* Completion in real shells: bash, zsh and fish. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/check.h"
#include "support/locking.h"
#include "support/paths.h"
#include "support/scratch.h"
#include "support/tool.h"
#include "support/wait.h"

static lk_hold *held; /* the running test's */

static void hold(locking *f)
{
    held =
        locking_hold(locking_lock(f, locking_open(f, NULL), "orders:4711:a b"));
}

static int hold_end(void **state)
{
    if (held != NULL)
        (void)lk_hold_release(held);
    held = NULL;
    return locking_teardown(state);
}

/* PATH, with the tool's folder first. */
static const char *path_with_tool(void)
{
    static char path[4096];

    (void)snprintf(path, sizeof(path), "PATH=%.*s:%s",
                   (int)(strrchr(LK_TOOL, '/') - LK_TOOL), LK_TOOL,
                   getenv("PATH"));
    return path;
}

/* ---- what the help has ---------------------------------------------------- */

enum { TEXT = 1 << 16, WORD = 64, WORDS = 64 };

static char commands[WORDS][WORD];
static size_t command_count;

static void help_of(const char *command, char text[TEXT])
{
    tool *t = tool_start(NULL, "help", command, NULL);

    assert_int_equal(tool_wait(t, 10000), 0);
    (void)snprintf(text, TEXT, "%s", tool_out(t));
    tool_free(t);
}

/* Calls look for each option that a command's help has, NULL: for those of no
   command. */
static void for_each_option(const char *command,
                            void (*look)(const char *option, void *data),
                            void *data)
{
    char text[TEXT];
    char *rest = text;
    char *line;

    help_of(command, text);
    while ((line = strsep(&rest, "\n")) != NULL) {
        char option[WORD];

        line += strspn(line, " ");
        if (line[0] == '-' && line[1] != '-' && line[2] == ',')
            line += 4;
        if (sscanf(line, "%63[-a-z]", option) == 1 &&
            strncmp(option, "--", 2) == 0)
            look(option, data);
    }
}

static int commands_read(void **state)
{
    char text[TEXT];
    char *rest = text;
    char *line;

    help_of(NULL, text);
    while ((line = strsep(&rest, "\n")) != NULL &&
           strncmp(line, "Every command", 13) != 0) {
        if (strncmp(line, "  ", 2) != 0)
            continue;
        assert_true(command_count < WORDS);
        (void)snprintf(commands[command_count++], WORD, "%.*s",
                       (int)strcspn(line + 2, " "), line + 2);
    }
    assert_true(command_count > 20);
    return locking_start_server(state);
}

/* ---- what a shell offers -------------------------------------------------- */

/* Each writes a line "<command>:" for each of its arguments, and below it what is
   offered behind it for "--", and first "." and what is offered for no command. */
static const char bash_offers[] =
    ". '" LK_SOURCE_DIR "/completions/latchkey.bash'\n"
    "offer() {\n"
    "  COMP_WORDS=(latchkey \"$@\") COMP_CWORD=$# COMP_LINE=\"latchkey $*\"\n"
    "  COMP_POINT=${#COMP_LINE}\n"
    "  _latchkey; printf '%s\\n' \"${COMPREPLY[@]}\"\n"
    "}\n"
    "echo .; offer ''; offer --\n"
    "for command; do echo \"$command:\"; offer \"$command\" --; done\n";

static const char zsh_offers[] =
    "_describe() { local -a all; all=(\"${(@P)2}\"); print -l -- $all }\n"
    "_command_names() { : }\n"
    "_files() { : }\n"
    "offer() {\n"
    "  words=(latchkey \"$@\") CURRENT=$(($# + 1)) PREFIX=${@[-1]}\n"
    "  . '" LK_SOURCE_DIR "/completions/_latchkey'\n"
    "}\n"
    "print .; offer ''; offer --\n"
    "for command; do print \"$command:\"; offer \"$command\" --; done\n";

static const char fish_offers[] =
    "source '" LK_SOURCE_DIR "/completions/latchkey.fish'\n"
    "echo .; complete -C 'latchkey '; complete -C 'latchkey --'\n"
    "for command in $argv\n"
    "  echo $command:; complete -C \"latchkey $command --\"\n"
    "end\n";

typedef struct offer {
    const char *shell;
    const char *script;
    char text[TEXT];
    char missing[2 * WORD]; /* the last that was, "": none */
} offer;

/* What stands below a command's line, up to that of the next. */
static const char *
part_of(const offer *o, const char *command, size_t *ret_size)
{
    char head[WORD + 3];
    const char *at, *end;

    (void)snprintf(head, sizeof(head), command != NULL ? "\n%s:\n" : ".\n",
                   command);
    at = strstr(o->text, head);
    if (at == NULL)
        return NULL;
    at += strlen(head) - 1;
    end = strstr(at, ":\n");
    *ret_size = end != NULL ? (size_t)(end - at) : strlen(at);
    return at;
}

/* A word of a line: what it means stands behind a tab, a colon or nothing. */
static bool is_offered(const offer *o, const char *command, const char *word)
{
    size_t size = 0;
    const char *text = part_of(o, command, &size);
    const char *end = text + size;
    const size_t length = strlen(word);

    for (const char *at = text; at != NULL && at < end;
         at = strchr(at + 1, '\n')) {
        if (strncmp(at + 1, word, length) == 0 &&
            strchr("\n\t: ", at[1 + length]) != NULL)
            return true;
    }
    return false;
}

struct looking {
    offer *offer;
    const char *command;
};

static void look_for(const char *word, void *data)
{
    const struct looking *l = data;

    if (!is_offered(l->offer, l->command, word))
        (void)snprintf(l->offer->missing, sizeof(l->offer->missing), "%s %s",
                       l->command != NULL ? l->command : "latchkey", word);
}

static void ask(offer *o)
{
    scratch *folder = scratch_new();
    char home[300];
    const char *env[] = {home, path_with_tool(), NULL};
    const tool_how how = {.program = o->shell,
                          .url = "unix:/nowhere",
                          .env = env};
    const char *arguments[WORDS + 6] = {NULL};
    size_t count = 0;
    tool *t;

    assert_non_null(folder);
    (void)snprintf(home, sizeof(home), "HOME=%s", scratch_path(folder));
    if (strcmp(o->shell, "fish") == 0)
        arguments[count++] = "--no-config";
    if (strcmp(o->shell, "zsh") == 0)
        arguments[count++] = "-f";
    arguments[count++] = "-c";
    arguments[count++] = o->script;
    if (strcmp(o->shell, "fish") != 0)
        arguments[count++] = o->shell;
    for (size_t i = 0; i < command_count; i++)
        arguments[count++] = commands[i];
    t = tool_start_list(&how, arguments);
    if (tool_wait(t, 60000) != 0)
        fail_msg("%s: %s", o->shell, tool_err(t));
    (void)snprintf(o->text, TEXT, "%s", tool_out(t));
    tool_free(t);
    scratch_free(folder);
}

/* A busy machine may take all of the tool's 200 ms: then nothing is told, and it
   is asked again. */
static bool is_all_offered(void *data)
{
    offer *o = data;
    struct looking looking = {.offer = o};

    ask(o);
    o->missing[0] = '\0';
    for (size_t i = 0; i < command_count; i++) {
        looking.command = NULL;
        look_for(commands[i], &looking);
        looking.command = commands[i];
        for_each_option(commands[i], look_for, &looking);
    }
    looking.command = NULL;
    for_each_option(NULL, look_for, &looking);
    return o->missing[0] == '\0';
}

static void assert_all_offered(const char *shell, const char *script)
{
    offer o = {.shell = shell, .script = script};

    if (!wait_until(is_all_offered, &o, 60000))
        fail_msg("%s does not offer: %s", shell, o.missing);
}

CHECK_TEST(bash_knows_every_command_and_option_of_the_help)
{
    assert_all_offered("bash", bash_offers);
}

CHECK_TEST(zsh_knows_every_command_and_option_of_the_help)
{
    assert_all_offered("zsh", zsh_offers);
}

CHECK_TEST(fish_knows_every_command_and_option_of_the_help)
{
    assert_all_offered("fish", fish_offers);
}

/* ---- a line that is typed ------------------------------------------------- */

/* A line on its way. */
typedef struct typing {
    tool *t;
    const char *typed, *completed;
    uint64_t tab_at;
} typing;

#define KILL_LINE "\025"

/* Names may come late, see above: then the line is typed again. To press the key
   again would not do: the bell of the first time stands amid the line, and a key
   that comes late lists what may follow. */
static bool is_completed(void *data)
{
    typing *line = data;

    if (strstr(tool_out(line->t), line->completed) != NULL)
        return true;
    if (wait_now_ms() - line->tab_at > wait_scaled_ms(500)) {
        tool_type(line->t, KILL_LINE);
        tool_type(line->t, line->typed);
        tool_type(line->t, "\t");
        line->tab_at = wait_now_ms();
    }
    return false;
}

/* What the line has become is what the shell would run. */
static void assert_completed(tool *t, const char *typed, const char *completed)
{
    typing line = {t, typed, completed, 0};

    if (!wait_until(is_completed, &line, 10000))
        fail_msg("'%s' does not become '%s': %s", typed, completed,
                 tool_out(t));
    tool_type(t, KILL_LINE);
}

static tool *shell_start(const locking *f, const char *program,
                         const char *const *arguments, const char *begin)
{
    const char *env[] = {path_with_tool(), "TERM=dumb", NULL};
    const tool_how how = {.program = program,
                          .url = server_url(f->server),
                          .env = env,
                          .has_terminal = true};
    tool *t = tool_start_list(&how, arguments);

    tool_type(t, begin);
    tool_wait_out(t, "ready", 10000);
    return t;
}

#define TEST(name) CHECK_TEST_OF(name, locking *f, locking_setup, hold_end)

TEST(bash_completes_commands_options_and_names)
{
    static const char *const plain[] = {"--norc", "--noprofile", "-i", NULL};
    tool *t = shell_start(f, "bash", plain,
                          "PS1='% '; source '" LK_SOURCE_DIR
                          "/completions/latchkey.bash'; echo re''ady\n");

    hold(f);
    assert_completed(t, "latchkey dem", "latchkey demo ");
    assert_completed(t, "latchkey demo --quic", "demo --quick ");
    assert_completed(t, "latchkey --color=al", "--color=always ");
    assert_completed(t, "latchkey lock -n ord", "-n orders:4711:a\\ b ");
    assert_completed(t,
                     "latchkey lock -w 2 orders:", "-w 2 orders:4711:a\\ b ");
    assert_completed(t, "latchkey lock -w 3 orders:47", "3 orders:4711:a\\ b ");
    assert_completed(t, "latchkey lock x mkfif", "lock x mkfifo ");
    tool_free(t);
}

TEST(zsh_completes_commands_options_and_names)
{
    static const char *const plain[] = {"-f", "-i", NULL};
    tool *t = shell_start(f, "zsh", plain,
                          "PS1='%# '; fpath=('" LK_SOURCE_DIR
                          "/completions' $fpath); autoload -U compinit; "
                          "compinit -u -D; echo re''ady\n");

    hold(f);
    assert_completed(t, "latchkey dem", "latchkey demo ");
    assert_completed(t, "latchkey demo --quic", "demo --quick ");
    assert_completed(t, "latchkey lock -n ord", "-n orders:4711:a\\ b ");
    tool_free(t);
}

/* ---- fish --------------------------------------------------------------- */

/* What fish is asked for, and what has to be among its answers, each with what it
   means. */
typedef struct typed {
    const tool_how *how;
    const char *arguments[4];
    const char *expected;
} typed;

static bool is_shown(void *data)
{
    typed *q = data;
    tool *t = tool_start_list(q->how, q->arguments);
    bool is_there =
        tool_wait(t, 10000) == 0 && strstr(tool_out(t), q->expected) != NULL;

    tool_free(t);
    return is_there;
}

static void
assert_offered(const tool_how *how, const char *begun, const char *candidate)
{
    char script[600];
    typed q = {.how = how,
               .arguments = {"--no-config", "-c", script, NULL},
               .expected = candidate};

    (void)snprintf(script, sizeof(script),
                   "source '" LK_SOURCE_DIR "/completions/latchkey.fish'; "
                   "complete -C '%s'",
                   begun);
    if (!wait_until(is_shown, &q, 10000))
        fail_msg("fish does not offer '%s' for '%s'", candidate, begun);
}

/* It makes folders in the home folder of its user. */
TEST(fish_offers_commands_options_and_names)
{
    scratch *folder = scratch_new();
    char home[300];
    const char *env[] = {home, path_with_tool(), NULL};
    const tool_how how = {.program = "fish",
                          .url = server_url(f->server),
                          .env = env};

    assert_non_null(folder);
    (void)snprintf(home, sizeof(home), "HOME=%s", scratch_path(folder));
    hold(f);
    assert_offered(&how, "latchkey dem", "demo\tsee what it is for");
    assert_offered(&how, "latchkey demo --quic", "--quick\t");
    assert_offered(&how, "latchkey --color=al", "--color=always");
    assert_offered(&how, "latchkey lock -n ord", "orders:4711:a b");
    assert_offered(&how, "latchkey lock x mkfif", "mkfifo");
    scratch_free(folder);
}

/* ---- without an installation ----------------------------------------------- */

CHECK_TEST(the_tool_has_the_files_in_it)
{
    static const char *const shells[][2] = {{"bash", "latchkey.bash"},
                                            {"zsh", "_latchkey"},
                                            {"fish", "latchkey.fish"}};
    const tool_how shell = {.program = "sh"};
    char line[512];

    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(line, sizeof(line),
                       LK_TOOL " completion %s | cmp - '" LK_SOURCE_DIR
                               "/completions/%s'",
                       shells[i][0], shells[i][1]);
        assert_tool(&shell, 0, "", "", "-c", line, NULL);
    }
    assert_tool(NULL, 64, "", "bash, zsh and fish, not for 'tcsh'",
                "completion", "tcsh", NULL);
}

CHECK_GROUP(commands_read, locking_stop_server)
