/* SPDX-License-Identifier: MIT */
#include "support/login.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/paths.h"

#define USER     "tester"
#define PASSWORD "tested"

enum { WORDS_MOST = 120, RULES_SIZE = 4096 };

static const char rule[] = ">" PASSWORD;

static bool is_wanted(void)
{
    return getenv("LK_TEST_USER") != NULL;
}

const char *login_text(void)
{
    return is_wanted() ? USER ":" PASSWORD "@" : "";
}

const char *login_user(void)
{
    return is_wanted() ? USER : "default";
}

const char *login_rule(void)
{
    return is_wanted() ? rule : "nopass";
}

/* False: there are none. */
static bool rules_read(char rules[RULES_SIZE])
{
    /* NOLINTNEXTLINE(cert-env33-c): of the test's own */
    FILE *tool = popen(LK_TOOL " --quiet doctor --acl", "re");
    bool is_read = tool != NULL && fgets(rules, RULES_SIZE, tool) != NULL;

    return tool != NULL && pclose(tool) == 0 && is_read;
}

const char *const *login_arguments(void)
{
    static const char *const none[] = {NULL};
    static char rules[RULES_SIZE];
    static const char *words[WORDS_MOST] = {"--user", USER, "on", rule};
    size_t count = 4;
    char *rest = NULL;

    if (!is_wanted())
        return none;
    if (words[count] != NULL)
        return words;
    if (!rules_read(rules)) {
        (void)fputs("login: latchkey doctor --acl prints nothing\n", stderr);
        return none;
    }
    for (char *word = strtok_r(rules, " \n", &rest);
         word != NULL && count < WORDS_MOST - 1;
         word = strtok_r(NULL, " \n", &rest))
        words[count++] = word;
    return words;
}
