/* SPDX-License-Identifier: MIT */

#include "cli/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

/* Who else may do what with it. 0, or has complained. */
static int
check_rights(const cli *c, const char *path, cli_file_kind kind, mode_t mode)
{
    if (kind == CLI_FILE_SECRET && (mode & (S_IRWXG | S_IRWXO)) != 0)
        return cli_fail(c, CLI_CONFIG,
                        "%s: others than its owner have rights to it"
                        "\n  chmod 600 %s",
                        path, path);
    if ((mode & (S_IWGRP | S_IWOTH)) != 0)
        return cli_fail(c, CLI_CONFIG,
                        "%s: others may write to it\n  chmod go-w %s", path,
                        path);
    return 0;
}

/* 0, or has complained. */
static int
check_trust(const cli *c, const char *path, cli_file_kind kind, int fd)
{
    struct stat s;

    if (fstat(fd, &s) != 0)
        return cli_fail(c, CLI_CONFIG, "%s: %s", path, strerror(errno));
    if (!S_ISREG(s.st_mode))
        return cli_fail(c, CLI_CONFIG, "%s: it is not a regular file", path);
    if (s.st_uid != geteuid() && s.st_uid != 0)
        return cli_fail(c, CLI_CONFIG,
                        "%s: it belongs to user %u, neither to you nor to root"
                        "\n  give it to one of them with chown, or name "
                        "another file",
                        path, (unsigned)s.st_uid);
    return check_rights(c, path, kind, s.st_mode);
}

/* 0, or has complained. */
static int
read_text(const cli *c, const char *path, int fd, char *text, size_t size)
{
    size_t used = 0;
    ssize_t got;

    do {
        got = read(fd, text + used, size - used);
        used += got > 0 ? (size_t)got : 0;
    } while (got > 0 || (got < 0 && errno == EINTR));
    if (got < 0)
        return cli_fail(c, CLI_CONFIG, "%s: %s", path, strerror(errno));
    if (used == size)
        return cli_fail(c, CLI_CONFIG, "%s: it is larger than %zu bytes", path,
                        size - 1);
    if (memchr(text, '\0', used) != NULL)
        return cli_fail(c, CLI_CONFIG, "%s: it is not text", path);
    text[used] = '\0';
    return 0;
}

int cli_file_read(const cli *c, const char *path, cli_file_kind kind,
                  char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    int code;

    if (fd < 0)
        return errno;
    code = check_trust(c, path, kind, fd);
    if (code == 0)
        code = read_text(c, path, fd, text, size);
    (void)close(fd);
    return -code;
}

bool cli_file_put(const char *path, const char *text)
{
    char *made = NULL;
    int fd =
        asprintf(&made, "%s.XXXXXX", path) > 0 ? mkostemp(made, O_CLOEXEC) : -1;
    FILE *to = fd >= 0 ? fdopen(fd, "w") : NULL;
    bool is_good = to != NULL && fchmod(fd, 0644) == 0 &&
                   fputs(text, to) >= 0 && fflush(to) == 0 && fsync(fd) == 0;
    int error;

    is_good = to != NULL && fclose(to) == 0 && is_good;
    is_good = is_good && rename(made, path) == 0;
    error = errno;
    if (!is_good && fd >= 0)
        (void)unlink(made);
    free(made);
    errno = error;
    return is_good;
}
