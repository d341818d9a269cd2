/* SPDX-License-Identifier: MIT */

#include "cli/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/word.h"

#define KINDS "lock|spin|fair|read|write|semaphore"

void cli_text_make(char to[CLI_TEXT_SIZE], cli_kind_of kind, const char *name,
                   const char *text)
{
    static const char *const words[] =
        {[CLI_LOCK] = "lock",   [CLI_SPIN] = "spin",
         [CLI_FAIR] = "fair",   [CLI_READ] = "read",
         [CLI_WRITE] = "write", [CLI_SEMAPHORE] = "semaphore"};

    (void)snprintf(to, CLI_TEXT_SIZE, "%s %zu %s %s", words[kind], strlen(name),
                   name, text);
}

const char *cli_text_read(const char *text, char ret_name[CLI_TEXT_NAME + 1],
                          cli_kind_of *ret_kind)
{
    char word[16];
    size_t size = strcspn(text, " ");
    char *rest = NULL;
    unsigned long length;
    int kind;

    if (size >= sizeof(word) || text[size] == '\0')
        return NULL;
    memcpy(word, text, size);
    word[size] = '\0';
    kind = cli_word_find(KINDS, word);
    length = strtoul(text + size + 1, &rest, 10);
    if (kind < 0 || length == 0 || length > CLI_TEXT_NAME || *rest != ' ' ||
        strlen(rest) < length + 2 || rest[length + 1] != ' ')
        return NULL;
    memcpy(ret_name, rest + 1, length);
    ret_name[length] = '\0';
    *ret_kind = (cli_kind_of)kind;
    return rest + length + 2;
}
