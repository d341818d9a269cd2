/* SPDX-License-Identifier: MIT */

/*
 * Where the private server lives, and whether nobody else can get in between.
 *
 * A path that is checked from the root down stays what it is: each directory of
 * it belongs to the user or to root, and no one else may rename what is in it.
 * So what was checked need not be held open until a client connects.
 */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/config.h"
#include "cli/local/local.h"

enum { BOOT_DIGITS = 12, LINKS = 40 };

/* ---- the path ----------------------------------------------------------- */

/* The user's home as the user database has it, whatever HOME says. 0, or has
   complained. */
static int find_home(const cli *c, char home[PATH_MAX])
{
    static const char advice[] =
        "the private server has no place\n  set LATCHKEY_URL to a server, or "
        "LATCHKEY_SERVER_DIRECTORY to a directory of the user's";
    unsigned uid = (unsigned)geteuid();
    char room[16384];
    struct passwd entry;
    struct passwd *found = NULL;
    struct stat s;
    int error = getpwuid_r(geteuid(), &entry, room, sizeof(room), &found);

    if (found == NULL)
        return cli_fail(c, CLI_CONFIG, "user %u: %s: %s", uid,
                        error != 0 ? strerror(error)
                                   : "not in the user database",
                        advice);
    (void)snprintf(home, PATH_MAX, "%s", found->pw_dir);
    if (stat(home, &s) != 0)
        return cli_fail(c, CLI_CONFIG, "%s, the home of user %u: %s: %s", home,
                        uid, strerror(errno), advice);
    if (s.st_uid != geteuid())
        return cli_fail(c, CLI_CONFIG,
                        "%s, the home of user %u, is not the user's own: %s",
                        home, uid, advice);
    return 0;
}

/* The running kernel: what can reach a unix socket, and nothing else can. False:
   it does not tell, errno says why. */
static bool find_boot(char digits[BOOT_DIGITS + 1])
{
    char text[64] = "";
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t size = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
    int error = errno;
    int used = 0;

    if (fd >= 0)
        (void)close(fd);
    for (ssize_t i = 0; i < size && used < BOOT_DIGITS; i++) {
        if (strchr("0123456789abcdef", text[i]) != NULL)
            digits[used++] = text[i];
    }
    digits[used] = '\0';
    errno = size < 0 ? error : EINVAL;
    return used == BOOT_DIGITS;
}

/* The setting, with the home in the place of ~. 0, or has complained. */
static int find_base(const cli *c, char base[PATH_MAX])
{
    cli_value said;
    char home[PATH_MAX] = "";
    int code = cli_setting_find(c, "server-directory", NULL, &said);
    int size;

    if (code != 0)
        return code;
    if (said.text[0] != '/' && strncmp(said.text, "~/", 2) != 0)
        code = cli_fail(c, CLI_CONFIG,
                        "server-directory of %s: it has to begin with / or ~/",
                        said.from);
    else if (said.text[0] == '~')
        code = find_home(c, home);
    size = snprintf(base, PATH_MAX, "%s%s", home,
                    said.text + (said.text[0] == '~'));
    if (code == 0 && size >= PATH_MAX)
        code = cli_fail(c, CLI_CONFIG, "server-directory of %s: it is too long",
                        said.from);
    cli_value_done(&said);
    return code;
}

/* ---- links -------------------------------------------------------------- */

static bool is_of_user_or_root(const struct stat *s)
{
    return s->st_uid == 0 || s->st_uid == geteuid();
}

/* Whether nobody but the user and root can put something else in the place of
   what is in there. Of a directory with the sticky bit only its owners can. */
static bool is_safe(const struct stat *s)
{
    mode_t others = S_IWOTH | (s->st_gid == getegid() ? 0 : S_IWGRP);

    return S_ISDIR(s->st_mode) && is_of_user_or_root(s) &&
           ((s->st_mode & others) == 0 || (s->st_mode & S_ISVTX) != 0);
}

/* A path of which links are taken out, from the root down. */
struct way {
    char done[PATH_MAX];     /* without links; "" is the root */
    char rest[2 * PATH_MAX]; /* to be looked at */
    int links;
};

static void go_up(struct way *way)
{
    char *slash = strrchr(way->done, '/');

    if (slash != NULL)
        *slash = '\0';
}

/* Takes the next part from the rest to what is done. False: errno says why. */
static bool take_part(struct way *way)
{
    char *part = way->rest + strspn(way->rest, "/");
    size_t length = strcspn(part, "/");
    size_t used = strlen(way->done);
    bool is_up = length == 2 && strncmp(part, "..", length) == 0;
    bool is_none = length == 0 || (length == 1 && part[0] == '.');

    errno = ENAMETOOLONG;
    if (used + length + 2 > sizeof(way->done))
        return false;
    if (is_up)
        go_up(way);
    else if (!is_none)
        (void)snprintf(way->done + used, sizeof(way->done) - used, "/%.*s",
                       (int)length, part);
    (void)memmove(way->rest, part + length, strlen(part + length) + 1);
    return true;
}

/* Goes where the link leads that is the end of what is done. False: errno says
   why. */
static bool follow(struct way *way)
{
    char to[PATH_MAX];
    ssize_t size = readlink(way->done, to, sizeof(to));
    size_t left = strlen(way->rest) + 1;

    if (size < 0)
        return false;
    errno = ++way->links > LINKS ? ELOOP : ENAMETOOLONG;
    if (way->links > LINKS || (size_t)size + left > sizeof(way->rest))
        return false;
    (void)memmove(way->rest + size, way->rest, left);
    (void)memcpy(way->rest, to, (size_t)size);
    if (to[0] == '/')
        way->done[0] = '\0';
    else
        go_up(way);
    return true;
}

/* Takes links out of as much of a path as is there. A link counts only where
   nobody but the user and root can lead it elsewhere. False: culprit says where
   somebody can; where that is "", errno says why. */
static bool resolve(char path[PATH_MAX], char culprit[PATH_MAX])
{
    struct way way = {.links = 0};

    culprit[0] = '\0';
    (void)snprintf(way.rest, sizeof(way.rest), "%s", path);
    while (way.rest[0] != '\0') {
        struct stat s;

        if (!take_part(&way))
            return false;
        if (lstat(way.done, &s) != 0) {
            if (errno != ENOENT)
                return false;
            continue;
        }
        if (!is_of_user_or_root(&s) ||
            (S_ISDIR(s.st_mode) && way.rest[0] != '\0' && !is_safe(&s))) {
            (void)memcpy(culprit, way.done, sizeof(way.done));
            return false;
        }
        if (S_ISLNK(s.st_mode) && !follow(&way))
            return false;
    }
    (void)memcpy(path, way.done, sizeof(way.done));
    return true;
}

static int refuse_way(const cli *c, const char *culprit)
{
    return cli_fail(c, CLI_CONFIG,
                    "%s belongs to somebody else, or others may write to it: "
                    "the private server cannot live in there\n"
                    "  chmod go-w, or set LATCHKEY_URL to a server",
                    culprit);
}

static int find_directory(const cli *c, cli_local *local)
{
    char base[PATH_MAX];
    char culprit[PATH_MAX];
    char boot[BOOT_DIGITS + 1];
    int code = find_base(c, base);
    int size;

    if (code != 0)
        return code;
    if (!find_boot(boot))
        return cli_fail(c, CLI_CONFIG,
                        "the private server cannot tell this machine from "
                        "others: /proc/sys/kernel/random/boot_id: %s",
                        strerror(errno));
    if (!resolve(base, culprit))
        return culprit[0] != '\0'
                   ? refuse_way(c, culprit)
                   : cli_fail(c, CLI_CONFIG, "%s: %s", base, strerror(errno));
    size = snprintf(local->directory, sizeof(local->directory), "%s/%s", base,
                    boot);
    if (size < 0 || (size_t)size >= sizeof(local->directory))
        return cli_fail(c, CLI_CONFIG,
                        "%s: too long for a socket in it\n  set "
                        "LATCHKEY_SERVER_DIRECTORY to a shorter one",
                        base);
    (void)snprintf(local->socket, sizeof(local->socket), "%s/redis.sock",
                   local->directory);
    return 0;
}

/* ---- whose it is -------------------------------------------------------- */

static bool is_ours_alone(const struct stat *s)
{
    return S_ISDIR(s->st_mode) && s->st_uid == geteuid() &&
           (s->st_mode & 077) == 0;
}

cli_place cli_local_look(const cli_local *local, char culprit[CLI_LOCAL_PATH])
{
    const char *end = local->directory;
    struct stat s;

    do {
        end += strcspn(end + 1, "/") + 1;
        (void)snprintf(culprit, CLI_LOCAL_PATH, "%.*s",
                       (int)(end - local->directory), local->directory);
        if (lstat(culprit, &s) != 0)
            return errno == ENOENT ? CLI_PLACE_MISSING : CLI_PLACE_BAD;
        if (*end != '\0' && !is_safe(&s))
            return CLI_PLACE_BAD;
    } while (*end != '\0');
    return is_ours_alone(&s) ? CLI_PLACE_OURS : CLI_PLACE_BAD;
}

static int refuse(const cli *c, const cli_local *local, const char *culprit)
{
    if (strcmp(culprit, local->directory) == 0)
        return cli_fail(c, CLI_CONFIG,
                        "%s is not a directory of yours alone: the private "
                        "server cannot live there\n"
                        "  give it mode 700, or set LATCHKEY_URL to a server",
                        culprit);
    return refuse_way(c, culprit);
}

int cli_local_find(const cli *c, cli_local *ret_local)
{
    char culprit[CLI_LOCAL_PATH];
    int code = find_directory(c, ret_local);

    if (code != 0)
        return code;
    return cli_local_look(ret_local, culprit) != CLI_PLACE_BAD
               ? 0
               : refuse(c, ret_local, culprit);
}

/* What is there already, whoever made it, is looked at afterwards. */
int cli_local_make(const cli *c, const cli_local *local)
{
    char culprit[CLI_LOCAL_PATH];
    cli_place place = cli_local_look(local, culprit);

    while (place == CLI_PLACE_MISSING) {
        if (mkdir(culprit, 0700) != 0 && errno != EEXIST)
            return cli_fail(c, CLI_CONFIG,
                            "%s: %s: the private server has no place\n  set "
                            "LATCHKEY_URL to a server, or "
                            "LATCHKEY_SERVER_DIRECTORY to a directory of the "
                            "user's",
                            culprit, strerror(errno));
        place = cli_local_look(local, culprit);
    }
    return place == CLI_PLACE_OURS ? 0 : refuse(c, local, culprit);
}

/* ---- its URL ------------------------------------------------------------ */

char *cli_local_url(const cli_local *local)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~/";
    char *url = malloc(sizeof("unix:") + (size_t)3 * CLI_LOCAL_PATH);
    char *to = url;

    if (url == NULL)
        return NULL;
    to += sprintf(to, "unix:");
    for (const char *at = local->socket; *at != '\0'; at++)
        to += sprintf(to, strchr(plain, *at) != NULL ? "%c" : "%%%02X",
                      (unsigned char)*at);
    return url;
}
