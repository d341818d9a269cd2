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
    for (int i = CLI_PROC_STATE - 1; at != NULL && i < field; i++)
        at = strchr(at + 1, ' ');
    return at != NULL && at[1] != '\0' ? at + 1 : NULL;
}
