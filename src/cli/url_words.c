/* SPDX-License-Identifier: MIT */

/* What a URL means, in a few lines; see url_words.h. */

#include "cli/url_words.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The parts of a canonical URL, in a copy of it; NULL: it has none. Percent codes
   stay as they are. */
typedef struct parts {
    const char *scheme; /* "rediss+sentinel" */
    const char *user;   /* "": none */
    const char *hosts, *master, *db, *path, *options;
    bool has_password;
} parts;

static void login_cut(parts *p, char **rest)
{
    size_t size = strcspn(*rest, "@/?");
    char *colon;

    if ((*rest)[size] != '@')
        return;
    (*rest)[size] = '\0';
    colon = strchr(*rest, ':');
    p->has_password = colon != NULL && colon[1] != '\0';
    if (colon != NULL)
        *colon = '\0';
    p->user = *rest;
    *rest += size + 1;
}

/* Cuts a canonical URL, as lk_url_describe() writes it. */
static parts cut(char *url)
{
    parts p = {.scheme = url, .user = ""};
    char *rest = strstr(url, "://"), *slash;

    if (rest == NULL)
        return p;
    *rest = '\0';
    rest += strlen("://");
    login_cut(&p, &rest);
    p.options = strchr(rest, '?');
    if (p.options != NULL)
        rest[p.options++ - rest] = '\0';
    if (strcmp(p.scheme, "unix") == 0) {
        p.path = rest;
        return p;
    }
    p.hosts = rest;
    slash = strrchr(rest, '/');
    if (slash == NULL)
        return p;
    *slash = '\0';
    p.db = slash + 1;
    slash = strchr(rest, '/');
    if (slash != NULL) {
        *slash = '\0';
        p.master = slash + 1;
    }
    return p;
}

/* Whether the options say this, "key=" or "key=value"; of a value that begins so.
   Returns what follows, NULL: they do not. */
static const char *said(const parts *p, const char *what)
{
    for (const char *at = p->options; at != NULL;
         at = strchr(at, '&') != NULL ? strchr(at, '&') + 1 : NULL) {
        if (strncmp(at, what, strlen(what)) == 0)
            return at + strlen(what);
    }
    return NULL;
}

static void put(FILE *to, const char *what, const char *text)
{
    (void)fprintf(to, "  %-10s %s\n", what, text);
}

static void put_master(FILE *to, const parts *p)
{
    static const char fast[] = "most of those sentinels name it that answer; "
                               "around a failover two may hold";
    static const char safe[] = "a majority of the sentinels names it";

    put(to, "sentinels", p->hosts);
    (void)fprintf(to, "  %-10s %s, as %s\n", "master", p->master,
                  said(p, "failover=fast") != NULL ? fast : safe);
}

static void put_place(FILE *to, const parts *p)
{
    if (p->path != NULL) {
        put(to, "socket", p->path);
    } else if (p->master != NULL) {
        put_master(to, p);
    } else if (p->db != NULL) {
        put(to, "server", p->hosts);
    } else {
        put(to, "cluster", p->hosts);
        put(to, "", "each of these nodes tells of its masters");
    }
}

static void put_database(FILE *to, const parts *p)
{
    const char *db = p->path != NULL ? said(p, "db=") : p->db;

    if (p->path != NULL && db == NULL)
        db = "0";
    if (db != NULL)
        (void)fprintf(to, "  %-10s %.*s\n", "database", (int)strcspn(db, "&"),
                      db);
}

static void put_tls(FILE *to, const parts *p)
{
    const char *words = "yes; the certificate has to be for the host, and from "
                        "a CA that is trusted";

    if (p->path != NULL)
        return;
    if (strncmp(p->scheme, "rediss", strlen("rediss")) != 0)
        words = "no: everybody in between can read and change what is sent";
    else if (said(p, "tls_verify=none") != NULL)
        words = "yes, but no certificate is checked: everybody in between can "
                "read and change what is sent";
    else if (said(p, "tls_verify=ca") != NULL)
        words = "yes; the certificate may be for any host, from a CA that is "
                "trusted";
    put(to, "TLS", words);
}

/* user: size bytes of it. */
static void put_login(FILE *to, const char *where, const char *user,
                      size_t size, bool has_password)
{
    (void)fprintf(to, "%s%s%.*s, %s\n", where,
                  size > 0 ? "user " : "the default user", (int)size, user,
                  has_password ? "with a password" : "no password in the URL");
}

static void put_logins(FILE *to, const parts *p)
{
    bool has_sentinels = p->master != NULL;
    const char *user = said(p, "sentinel_user=");

    (void)fprintf(to, "  %-10s ", "login");
    put_login(to, has_sentinels ? "at the servers: " : "", p->user,
              strlen(p->user), p->has_password);
    if (!has_sentinels)
        return;
    (void)fprintf(to, "  %-10s ", "");
    put_login(to, "at the sentinels: ", user != NULL ? user : "",
              user != NULL ? strcspn(user, "&") : 0,
              said(p, "sentinel_password=") != NULL);
}

void cli_url_words(FILE *to, const char *url)
{
    char *copy = strdup(url);
    parts p;

    if (copy == NULL)
        return;
    p = cut(copy);
    put_place(to, &p);
    put_database(to, &p);
    put_tls(to, &p);
    put_logins(to, &p);
    free(copy);
}
