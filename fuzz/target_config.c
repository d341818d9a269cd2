/* SPDX-License-Identifier: MIT */

/*
 * The tool's file of settings: what counts is one of its lines, or it is an
 * error.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/config.h"
#include "input.h"

/* A file of nobody else's that has no name. Returns its descriptor. */
static int file_make(const input *in)
{
    int fd = memfd_create("config", MFD_CLOEXEC);

    if (fd < 0 || fchmod(fd, 0600) != 0 ||
        write(fd, in->at, in->left) != (ssize_t)in->left)
        input_fail("no file");
    return fd;
}

static void look_up(const cli *c, const input *in, const char *key)
{
    cli_value value;
    size_t size;

    if (cli_setting_find(c, key, NULL, &value) != 0) {
        if (value.text != NULL || value.from != NULL)
            input_fail("an error with a value");
        return;
    }
    size = strlen(value.text);
    if (strcmp(value.from, "default") != 0 && size > 0 &&
        memmem(in->at, in->left, value.text, size) == NULL)
        input_fail("a value that the file does not say");
    cli_value_done(&value);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const input in = {.at = bytes, .left = size};
    const cli c = {.command = NULL};
    int fd = file_make(&in);
    char path[40];

    (void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (setenv("LATCHKEY_CONFIG", path, 1) != 0 ||
        unsetenv("LATCHKEY_URL") != 0 || unsetenv("REDIS_URL") != 0 ||
        unsetenv("LATCHKEY_SERVER_PROGRAM") != 0 ||
        unsetenv("LATCHKEY_SERVER_DIRECTORY") != 0)
        input_fail("no environment");
    for (const cli_setting *setting = cli_settings; setting->key != NULL;
         setting++)
        look_up(&c, &in, setting->key);
    (void)close(fd);
    return 0;
}
