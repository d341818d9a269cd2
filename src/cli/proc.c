/* SPDX-License-Identifier: MIT */

#include "cli/proc.h"

#include <stdio.h>
#include <string.h>

const char *cli_proc_field(pid_t pid, int field, char text[CLI_PROC_SIZE])
{
    char path[32];
    const char *at;
    size_t size;
    FILE *file;

    (void)snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
    file = fopen(path, "re");
    if (file == NULL)
        return NULL;
    size = fread(text, 1, CLI_PROC_SIZE - 1, file);
    (void)fclose(file);
    text[size] = '\0';
    /* Behind the program's name, which may have anything in it. */
    at = strrchr(text, ')');
    return at != NULL ? cli_proc_skip(at, field - CLI_PROC_STATE + 1) : NULL;
}

const char *cli_proc_skip(const char *field, int count)
{
    for (int i = 0; field != NULL && i < count; i++) {
        field = strchr(field, ' ');
        field = field != NULL && field[1] != '\0' ? field + 1 : NULL;
    }
    return field;
}
