/* SPDX-License-Identifier: MIT */

#include "differential/scripts.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "differential/layout3.h"
#include "server/memory.h"
#include "support/paths.h"

/* All scripts there are; made by CMake. */
extern const lk__script *const all_scripts[];

/* What follows "-- KEYS[n]" or "-- ARGV[n]" is a word and its meaning. */
static void read_word(const char *line, const char *list,
                      char words[][SCRIPT_WORD], unsigned *count)
{
    unsigned index;
    char name[8], digits[4], word[SCRIPT_WORD];

    if (sscanf(line, "-- %7[A-Z][%3[0-9]] %23[a-z_]", name, digits, word) != 3)
        return;
    index = (unsigned)strtoul(digits, NULL, 10);
    if (strcmp(name, list) != 0 || index == 0 || index > SCRIPT_WORDS)
        return;
    memcpy(words[index - 1], word, sizeof(word));
    if (index > *count)
        *count = index;
}

/* "-- KEYS  a, b and c of each hold in turn": a word before each comma. */
static void read_series(script *s, const char *line, const char *list,
                        char words[][SCRIPT_WORD], unsigned *count)
{
    char prefix[16];
    const char *at, *end, *stop;

    snprintf(prefix, sizeof(prefix), "-- %s ", list);
    if (strncmp(line, prefix, strlen(prefix)) != 0)
        return;
    s->is_series = s->is_series || strstr(line, "each") != NULL;
    stop = strstr(line, " in turn");
    for (at = line + strlen(prefix); at != NULL && *count < SCRIPT_WORDS;
         at = end == NULL || (stop != NULL && end > stop) ? NULL : end + 1) {
        size_t size;

        at += strspn(at, " ");
        if (strncmp(at, "and the claim's ", 16) == 0)
            at += 16;
        size = strspn(at, "abcdefghijklmnopqrstuvwxyz_");
        end = strchr(at, ',');
        if (size > 0 && size < SCRIPT_WORD)
            memcpy(words[(*count)++], at, size);
    }
}

static void
add_name(char words[][SCRIPT_WORD], unsigned *count, const char *name)
{
    if (*count < SCRIPT_WORDS)
        memcpy(words[(*count)++], name, SCRIPT_WORD);
}

/* A line of a family's table: "key record :r", "each claims text". */
static void read_row(script *s, const char *line)
{
    char word[SCRIPT_WORD] = {0}, name[SCRIPT_WORD] = {0};

    if (sscanf(line, " %23s %23s", word, name) != 2)
        return;
    s->is_series = s->is_series || strcmp(word, "keys") == 0;
    if (strcmp(word, "key") == 0 || strcmp(word, "keys") == 0)
        add_name(s->keys, &s->key_count, name);
    else if (strcmp(word, "arg") == 0 || strcmp(word, "option") == 0 ||
             strcmp(word, "each") == 0)
        add_name(s->args, &s->arg_count, name);
}

/* False: the family has no table. */
static bool read_table(script *s)
{
    char path[512], line[256], title[64];
    bool is_in = false;
    FILE *file;

    snprintf(path, sizeof(path), "%s/lua/%s/%s.table", LK_SOURCE_DIR, s->family,
             s->family);
    snprintf(title, sizeof(title), "script %s",
             strrchr(s->script->name, '_') + 1);
    file = fopen(path, "re");
    if (file == NULL)
        return false;
    while (fgets(line, sizeof(line), file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (strcmp(line, "end") == 0 || strcmp(line, title) == 0)
            is_in = strcmp(line, title) == 0;
        else if (is_in)
            read_row(s, line);
    }
    fclose(file);
    return true;
}

static void read_header(script *s)
{
    char path[512], line[256];
    FILE *file;

    if (read_table(s))
        return;
    snprintf(path, sizeof(path), "%s/lua/%s.lua", LK_SOURCE_DIR,
             s->script->name);
    file = fopen(path, "re");
    if (file == NULL)
        sim_fail("a script cannot be read");
    while (fgets(line, sizeof(line), file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        read_word(line, "KEYS", s->keys, &s->key_count);
        read_word(line, "ARGV", s->args, &s->arg_count);
        read_series(s, line, "KEYS", s->keys, &s->key_count);
        read_series(s, line, "ARGV", s->args, &s->arg_count);
        if (strstr(line, "ARGV[4..]  the claims") != NULL)
            for (s->arg_count = 3; s->arg_count < 6; s->arg_count++)
                strcpy(s->args[s->arg_count], "owner");
    }
    fclose(file);
}

/* The name of a script is its family and one word. Fair locks and leaders are
   locks. */
static void read_family(script *s)
{
    const char *name = s->script->name;

    snprintf(s->family, sizeof(s->family), "%.*s",
             (int)(strrchr(name, '_') - name), name);
    if (strcmp(s->family, "fairlock") == 0 || strcmp(s->family, "leader") == 0)
        strcpy(s->family, "lock");
}

script *scripts_read(unsigned *ret_count)
{
    unsigned count = lk__script_count;
    script *scripts = sim_alloc((count + layout3_most()) * sizeof(*scripts));

    for (unsigned i = 0; i < count; i++) {
        scripts[i].script = all_scripts[i];
        read_family(&scripts[i]);
        read_header(&scripts[i]);
        scripts[i].args_needed = scripts[i].arg_count;
    }
    *ret_count = count + layout3_read(scripts + count, count);
    return scripts;
}

void scripts_free(script *scripts, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        free(scripts[i].body);
    free(scripts);
}
