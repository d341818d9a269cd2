/* SPDX-License-Identifier: MIT */

/* What a client was told, of its URL and of the caller's options. */

#include "settings/settings.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "settings/options.h"
#include "settings/url.h"
#include "world/tls.h"

enum { REPLACED_MS = 60000 }; /* a lost server is, by then */

/* ---- TLS ----------------------------------------------------------------- */

static lk_status tls_make(lk__settings *settings, const lk__url *url,
                          const lk_client_options *options)
{
    const lk__tls_wishes wishes = {
        .ca_file = options->tls_ca_file,
        .ca_dir = options->tls_ca_dir,
        .cert_file = options->tls_cert_file,
        .key_file = options->tls_key_file,
        .server_name = options->tls_server_name,
        .verify = (lk_tls_verify)options->tls_verify,
    };

    lk_status status = LK_OK;

    if (!url->tls)
        return lk__options_check_plain(options);
    if (url->host != NULL && options->tls_server_name == NULL)
        status = lk__tls_check_name(url->host);
    for (size_t i = 0; status == LK_OK && i < url->server_count; i++)
        status = lk__tls_check_name(url->servers[i].host);
    return status == LK_OK ? lk__tls_new(&settings->tls, &wishes) : status;
}

/* ---- texts --------------------------------------------------------------- */

/* Makes the running program's name fit for CLIENT SETNAME. */
static char *program_name(void)
{
    const lk__option *option = lk__option_find("name");
    const char *program = program_invocation_short_name;
    char *name;

    if (program == NULL || program[0] == '\0')
        program = "latchkey";
    name = lk__strndup(program, strnlen(program, option->max));
    for (char *at = name; at != NULL && *at != '\0'; at++) {
        if (*at < '!' || *at > '~')
            *at = '_';
    }
    return name;
}

/* Copies text, which may be NULL. False: no memory. */
static bool copy_string(char **ret_copy, const char *text)
{
    if (text == NULL)
        return true;
    *ret_copy = lk__strdup(text);
    return *ret_copy != NULL;
}

/* A user without a password still has to be named to the server. */
static const char *password_for(const char *user, const char *password)
{
    if (password == NULL && user != NULL)
        return "";
    if (password != NULL && password[0] == '\0' && user == NULL)
        return NULL;
    return password;
}

/* Copies the servers of a URL that has several: sentinels, or seeds. */
static bool copy_servers(lk__address *ret_servers, size_t *count,
                         const lk__url *url, const lk__settings *settings)
{
    for (size_t i = 0; i < url->server_count; i++) {
        char *host = lk__strdup(url->servers[i].host);

        if (host == NULL)
            return false;
        ret_servers[i].host = host;
        ret_servers[i].port = url->servers[i].port;
        ret_servers[i].tls = settings->tls;
        (*count)++;
    }
    return true;
}

static bool copy_sentinels(lk__settings *settings, const lk__url *url,
                           const lk_client_options *options)
{
    const char *password =
        password_for(options->sentinel_user, options->sentinel_password);

    return copy_servers(settings->sentinels, &settings->sentinel_count, url,
                        settings) &&
           copy_string(&settings->master, url->master) &&
           copy_string(&settings->sentinel_user, options->sentinel_user) &&
           copy_string(&settings->sentinel_password, password);
}

static bool copy_strings(lk__settings *settings, const lk__url *url,
                         const lk_client_options *options)
{
    const char *password = password_for(options->user, options->password);

    settings->name =
        options->name != NULL ? lk__strdup(options->name) : program_name();
    return settings->name != NULL && copy_string(&settings->host, url->host) &&
           copy_string(&settings->path, url->path) &&
           copy_string(&settings->user, options->user) &&
           copy_string(&settings->password, password) &&
           copy_string(&settings->under, options->under) &&
           copy_string(&settings->tenant,
                       options->tenant != NULL ? options->tenant : "") &&
           (url->is_cluster ? copy_servers(settings->seeds,
                                           &settings->seed_count, url, settings)
                            : copy_sentinels(settings, url, options));
}

static void
copy_numbers(lk__settings *settings, const lk_client_options *options)
{
    settings->db = options->db;
    settings->connect_timeout_ms = options->connect_timeout_ms;
    settings->command_timeout_ms = options->command_timeout_ms;
    settings->offline_ms = options->offline_ms;
    settings->watchdog_ms = options->watchdog_ms;
    settings->fence_keep_ms = options->fence_keep_ms;
    settings->max_pending = options->max_pending;
    settings->tls_verify = (lk_tls_verify)options->tls_verify;
    settings->interop = (lk_interop)options->interop;
    settings->failover = (lk_failover)options->failover;
    settings->dispatch = options->dispatch != 0;
    settings->log = options->log;
    settings->log_data = options->log_data;
    settings->log_level = (lk_log_level)options->log_level;
}

/* Where a server that is lost is replaced that takes longer than a restart: unless
   it is told, a cluster waits 15 s before it begins, and Sentinel 30 s. */
static void offline_fill(lk_client_options *options, const lk__url *url)
{
    if (options->offline_ms == 0 && url->options.offline_ms == 0 &&
        (url->is_cluster || url->master != NULL))
        options->offline_ms = REPLACED_MS;
}

lk_status lk__settings_of(lk__settings *ret_settings, const lk__url *url,
                          lk_client_options *options)
{
    lk__settings settings = {.host = NULL};
    lk_status status;

    offline_fill(options, url);
    lk__options_fill(options, &url->options);
    if (url->is_cluster && options->db != 0)
        return lk__fail(LK_EINVAL,
                        "db is %" PRIu64 "; a cluster has database 0 alone",
                        options->db);
    copy_numbers(&settings, options);
    status = tls_make(&settings, url, options);
    if (status == LK_OK && !copy_strings(&settings, url, options))
        status = lk__fail(LK_ENOMEM, "out of memory");
    if (status != LK_OK) {
        lk__settings_done(&settings);
        return status;
    }
    settings.address.host = settings.host;
    settings.address.path = settings.path;
    settings.address.port = url->port;
    settings.address.tls = settings.tls;
    *ret_settings = settings;
    return LK_OK;
}

lk_status lk__settings_make(lk__settings *ret_settings, const char *url,
                            const lk_client_options *options)
{
    lk_client_options own;
    lk__url parsed;
    lk_status status;

    if (url == NULL)
        return lk__fail(LK_EINVAL, "the URL is NULL");
    status = lk__options_copy(&own, sizeof(own), options);
    if (status == LK_OK)
        status = lk__options_check(&own);
    if (status == LK_OK)
        status = lk__url_parse(&parsed, url);
    if (status != LK_OK)
        return status;
    status = lk__settings_of(ret_settings, &parsed, &own);
    lk__url_done(&parsed);
    return status;
}

static void addresses_free(lk__address *addresses, size_t count)
{
    for (size_t i = 0; i < count; i++)
        lk__free((char *)(uintptr_t)addresses[i].host);
}

static void secret_free(char *secret)
{
    if (secret != NULL)
        explicit_bzero(secret, strlen(secret));
    lk__free(secret);
}

void lk__settings_done(lk__settings *settings)
{
    secret_free(settings->password);
    secret_free(settings->sentinel_password);
    addresses_free(settings->sentinels, settings->sentinel_count);
    addresses_free(settings->seeds, settings->seed_count);
    lk__free(settings->sentinel_user);
    lk__free(settings->master);
    lk__free(settings->user);
    lk__free(settings->under);
    lk__free(settings->tenant);
    lk__free(settings->name);
    lk__free(settings->path);
    lk__free(settings->host);
    lk__tls_free(settings->tls);
    memset(settings, 0, sizeof(*settings));
}
