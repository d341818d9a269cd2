/* SPDX-License-Identifier: MIT */

/* The commands, as COMMAND INFO of the real server describes them. */

#include <ctype.h>
#include <string.h>

#include "server/commands.h"

/* One without a function has subcommands. */
static const sim_command table[] = {
    {"get", 2, SIM_READS | SIM_FAST, SIM_GROUP_STRING, 1, 1, 1, sim_run_get},
    {"set", -3, SIM_WRITE | SIM_DENY_OOM, SIM_GROUP_STRING, 1, 1, 1,
     sim_run_set},
    {"mget", -2, SIM_READS | SIM_FAST, SIM_GROUP_STRING, 1, -1, 1,
     sim_run_mget},
    {"append", 3, SIM_WRITE | SIM_DENY_OOM | SIM_FAST, SIM_GROUP_STRING, 1, 1,
     1, sim_run_append},
    {"strlen", 2, SIM_READS | SIM_FAST, SIM_GROUP_STRING, 1, 1, 1,
     sim_run_strlen},
    {"setnx", 3, SIM_WRITE | SIM_DENY_OOM | SIM_FAST, SIM_GROUP_STRING, 1, 1, 1,
     sim_run_setnx},
    {"psetex", 4, SIM_WRITE | SIM_DENY_OOM, SIM_GROUP_STRING, 1, 1, 1,
     sim_run_psetex},
    {"incr", 2, SIM_WRITE | SIM_DENY_OOM | SIM_FAST, SIM_GROUP_STRING, 1, 1, 1,
     sim_run_incr},
    {"decr", 2, SIM_WRITE | SIM_DENY_OOM | SIM_FAST, SIM_GROUP_STRING, 1, 1, 1,
     sim_run_decr},
    {"incrby", 3, SIM_WRITE | SIM_DENY_OOM | SIM_FAST, SIM_GROUP_STRING, 1, 1,
     1, sim_run_incrby},
    {"decrby", 3, SIM_WRITE | SIM_DENY_OOM | SIM_FAST, SIM_GROUP_STRING, 1, 1,
     1, sim_run_decrby},
    {"del", -2, SIM_WRITE, SIM_GROUP_KEYSPACE, 1, -1, 1, sim_run_del},
    {"unlink", -2, SIM_WRITE | SIM_FAST, SIM_GROUP_KEYSPACE, 1, -1, 1,
     sim_run_del},
    {"exists", -2, SIM_READS | SIM_FAST, SIM_GROUP_KEYSPACE, 1, -1, 1,
     sim_run_exists},
    {"type", 2, SIM_READS | SIM_FAST, SIM_GROUP_KEYSPACE, 1, 1, 1,
     sim_run_type},
    {"ttl", 2, SIM_READS | SIM_FAST, SIM_GROUP_KEYSPACE, 1, 1, 1, sim_run_ttl},
    {"pttl", 2, SIM_READS | SIM_FAST, SIM_GROUP_KEYSPACE, 1, 1, 1,
     sim_run_pttl},
    {"expire", -3, SIM_WRITE | SIM_FAST, SIM_GROUP_KEYSPACE, 1, 1, 1,
     sim_run_expire},
    {"pexpire", -3, SIM_WRITE | SIM_FAST, SIM_GROUP_KEYSPACE, 1, 1, 1,
     sim_run_pexpire},
    {"pexpireat", -3, SIM_WRITE | SIM_FAST, SIM_GROUP_KEYSPACE, 1, 1, 1,
     sim_run_pexpireat},
    {"persist", 2, SIM_WRITE | SIM_FAST, SIM_GROUP_KEYSPACE, 1, 1, 1,
     sim_run_persist},
    {"rename", 3, SIM_WRITE, SIM_GROUP_KEYSPACE, 1, 2, 1, sim_run_rename},
    {"keys", 2, SIM_READS | SIM_DANGEROUS, SIM_GROUP_KEYSPACE, 0, 0, 0,
     sim_run_keys},
    {"scan", -2, SIM_READS, SIM_GROUP_KEYSPACE, 0, 0, 0, sim_run_scan},
    {"dbsize", 1, SIM_READS | SIM_FAST, SIM_GROUP_KEYSPACE, 0, 0, 0,
     sim_run_dbsize},
    {"flushdb", -1, SIM_WRITE | SIM_DANGEROUS, SIM_GROUP_KEYSPACE, 0, 0, 0,
     sim_run_flushdb},
    {"flushall", -1, SIM_WRITE | SIM_DANGEROUS, SIM_GROUP_KEYSPACE, 0, 0, 0,
     sim_run_flushall},
    {"hset", -4, SIM_WRITE | SIM_DENY_OOM | SIM_FAST, SIM_GROUP_HASH, 1, 1, 1,
     sim_run_hset},
    {"hget", 3, SIM_READS | SIM_FAST, SIM_GROUP_HASH, 1, 1, 1, sim_run_hget},
    {"hmget", -3, SIM_READS | SIM_FAST, SIM_GROUP_HASH, 1, 1, 1, sim_run_hmget},
    {"hdel", -3, SIM_WRITE | SIM_FAST, SIM_GROUP_HASH, 1, 1, 1, sim_run_hdel},
    {"hlen", 2, SIM_READS | SIM_FAST, SIM_GROUP_HASH, 1, 1, 1, sim_run_hlen},
    {"hexists", 3, SIM_READS | SIM_FAST, SIM_GROUP_HASH, 1, 1, 1,
     sim_run_hexists},
    {"hgetall", 2, SIM_READS, SIM_GROUP_HASH, 1, 1, 1, sim_run_hgetall},
    {"hkeys", 2, SIM_READS, SIM_GROUP_HASH, 1, 1, 1, sim_run_hkeys},
    {"hvals", 2, SIM_READS, SIM_GROUP_HASH, 1, 1, 1, sim_run_hvals},
    {"hincrby", 4, SIM_WRITE | SIM_DENY_OOM | SIM_FAST, SIM_GROUP_HASH, 1, 1, 1,
     sim_run_hincrby},
    {"hsetnx", 4, SIM_WRITE | SIM_DENY_OOM | SIM_FAST, SIM_GROUP_HASH, 1, 1, 1,
     sim_run_hsetnx},
    {"hrandfield", -2, SIM_READS, SIM_GROUP_HASH, 1, 1, 1, sim_run_hrandfield},
    {"hscan", -3, SIM_READS, SIM_GROUP_HASH, 1, 1, 1, sim_run_hscan},
    {"lpush", -3, SIM_WRITE | SIM_DENY_OOM | SIM_FAST, SIM_GROUP_LIST, 1, 1, 1,
     sim_run_lpush},
    {"rpush", -3, SIM_WRITE | SIM_DENY_OOM | SIM_FAST, SIM_GROUP_LIST, 1, 1, 1,
     sim_run_rpush},
    {"lpop", -2, SIM_WRITE | SIM_FAST, SIM_GROUP_LIST, 1, 1, 1, sim_run_lpop},
    {"rpop", -2, SIM_WRITE | SIM_FAST, SIM_GROUP_LIST, 1, 1, 1, sim_run_rpop},
    {"llen", 2, SIM_READS | SIM_FAST, SIM_GROUP_LIST, 1, 1, 1, sim_run_llen},
    {"lrange", 4, SIM_READS, SIM_GROUP_LIST, 1, 1, 1, sim_run_lrange},
    {"lindex", 3, SIM_READS, SIM_GROUP_LIST, 1, 1, 1, sim_run_lindex},
    {"lrem", 4, SIM_WRITE, SIM_GROUP_LIST, 1, 1, 1, sim_run_lrem},
    {"lpos", -3, SIM_READS, SIM_GROUP_LIST, 1, 1, 1, sim_run_lpos},
    {"linsert", 5, SIM_WRITE | SIM_DENY_OOM, SIM_GROUP_LIST, 1, 1, 1,
     sim_run_linsert},
    {"lpushx", -3, SIM_WRITE | SIM_DENY_OOM | SIM_FAST, SIM_GROUP_LIST, 1, 1, 1,
     sim_run_lpushx},
    {"blpop", -3, SIM_WRITE | SIM_NO_SCRIPT | SIM_BLOCKING, SIM_GROUP_LIST, 1,
     -2, 1, sim_run_blpop},
    {"sadd", -3, SIM_WRITE | SIM_DENY_OOM | SIM_FAST, SIM_GROUP_SET, 1, 1, 1,
     sim_run_sadd},
    {"srem", -3, SIM_WRITE | SIM_FAST, SIM_GROUP_SET, 1, 1, 1, sim_run_srem},
    {"smembers", 2, SIM_READS, SIM_GROUP_SET, 1, 1, 1, sim_run_smembers},
    {"scard", 2, SIM_READS | SIM_FAST, SIM_GROUP_SET, 1, 1, 1, sim_run_scard},
    {"sismember", 3, SIM_READS | SIM_FAST, SIM_GROUP_SET, 1, 1, 1,
     sim_run_sismember},
    {"sscan", -3, SIM_READS, SIM_GROUP_SET, 1, 1, 1, sim_run_sscan},
    {"zadd", -4, SIM_WRITE | SIM_DENY_OOM | SIM_FAST, SIM_GROUP_ZSET, 1, 1, 1,
     sim_run_zadd},
    {"zrem", -3, SIM_WRITE | SIM_FAST, SIM_GROUP_ZSET, 1, 1, 1, sim_run_zrem},
    {"zscore", 3, SIM_READS | SIM_FAST, SIM_GROUP_ZSET, 1, 1, 1,
     sim_run_zscore},
    {"zmscore", -3, SIM_READS | SIM_FAST, SIM_GROUP_ZSET, 1, 1, 1,
     sim_run_zmscore},
    {"zcard", 2, SIM_READS | SIM_FAST, SIM_GROUP_ZSET, 1, 1, 1, sim_run_zcard},
    {"zcount", 4, SIM_READS | SIM_FAST, SIM_GROUP_ZSET, 1, 1, 1,
     sim_run_zcount},
    {"zrange", -4, SIM_READS, SIM_GROUP_ZSET, 1, 1, 1, sim_run_zrange},
    {"zrangebyscore", -4, SIM_READS, SIM_GROUP_ZSET, 1, 1, 1,
     sim_run_zrangebyscore},
    {"zrevrange", -4, SIM_READS, SIM_GROUP_ZSET, 1, 1, 1, sim_run_zrevrange},
    {"zrevrangebyscore", -4, SIM_READS, SIM_GROUP_ZSET, 1, 1, 1,
     sim_run_zrevrangebyscore},
    {"zremrangebyscore", 4, SIM_WRITE, SIM_GROUP_ZSET, 1, 1, 1,
     sim_run_zremrangebyscore},
    {"zremrangebyrank", 4, SIM_WRITE, SIM_GROUP_ZSET, 1, 1, 1,
     sim_run_zremrangebyrank},
    {"zrank", 3, SIM_READS | SIM_FAST, SIM_GROUP_ZSET, 1, 1, 1, sim_run_zrank},
    {"zincrby", 4, SIM_WRITE | SIM_DENY_OOM | SIM_FAST, SIM_GROUP_ZSET, 1, 1, 1,
     sim_run_zincrby},
    {"zscan", -3, SIM_READS, SIM_GROUP_ZSET, 1, 1, 1, sim_run_zscan},
    {"publish", 3, SIM_LOADING | SIM_STALE | SIM_FAST | SIM_CHANNEL,
     SIM_GROUP_PUBSUB, 0, 0, 0, sim_run_publish},
    {"spublish", 3, SIM_LOADING | SIM_STALE | SIM_FAST | SIM_CHANNEL,
     SIM_GROUP_PUBSUB, 0, 0, 0, sim_run_spublish},
    {"subscribe", -2,
     SIM_NO_SCRIPT | SIM_LOADING | SIM_STALE | SIM_CHANNELS | SIM_SUBSCRIBED,
     SIM_GROUP_PUBSUB, 0, 0, 0, sim_run_subscribe},
    {"unsubscribe", -1,
     SIM_NO_SCRIPT | SIM_LOADING | SIM_STALE | SIM_SUBSCRIBED, SIM_GROUP_PUBSUB,
     0, 0, 0, sim_run_unsubscribe},
    {"pubsub", -2, 0, SIM_GROUP_NONE, 0, 0, 0, NULL},
    {"pubsub|numsub", -2, SIM_LOADING | SIM_STALE, SIM_GROUP_PUBSUB, 0, 0, 0,
     sim_run_pubsub_numsub},
    {"pubsub|shardnumsub", -2, SIM_LOADING | SIM_STALE, SIM_GROUP_PUBSUB, 0, 0,
     0, sim_run_pubsub_shardnumsub},
    {"pubsub|channels", -2, SIM_LOADING | SIM_STALE, SIM_GROUP_PUBSUB, 0, 0, 0,
     sim_run_pubsub_channels},
    {"ping", -1, SIM_FAST | SIM_SUBSCRIBED, SIM_GROUP_CONNECTION, 0, 0, 0,
     sim_run_ping},
    {"echo", 2, SIM_LOADING | SIM_STALE | SIM_FAST, SIM_GROUP_CONNECTION, 0, 0,
     0, sim_run_echo},
    {"auth", -2,
     SIM_NO_SCRIPT | SIM_LOADING | SIM_STALE | SIM_FAST | SIM_NO_AUTH |
         SIM_BUSY,
     SIM_GROUP_CONNECTION, 0, 0, 0, sim_run_auth},
    {"select", 2, SIM_LOADING | SIM_STALE | SIM_FAST, SIM_GROUP_CONNECTION, 0,
     0, 0, sim_run_select},
    {"quit", -1,
     SIM_NO_SCRIPT | SIM_LOADING | SIM_STALE | SIM_FAST | SIM_NO_AUTH |
         SIM_BUSY | SIM_SUBSCRIBED,
     SIM_GROUP_CONNECTION, 0, 0, 0, sim_run_quit},
    {"time", 1, SIM_LOADING | SIM_STALE | SIM_FAST, SIM_GROUP_NONE, 0, 0, 0,
     sim_run_time},
    {"info", -1, SIM_LOADING | SIM_STALE | SIM_DANGEROUS, SIM_GROUP_NONE, 0, 0,
     0, sim_run_info},
    {"role", 1,
     SIM_NO_SCRIPT | SIM_LOADING | SIM_STALE | SIM_FAST | SIM_ADMIN |
         SIM_DANGEROUS,
     SIM_GROUP_NONE, 0, 0, 0, sim_run_role},
    {"wait", 3, SIM_NO_SCRIPT, SIM_GROUP_CONNECTION, 0, 0, 0, sim_run_wait},
    {"config", -2, 0, SIM_GROUP_NONE, 0, 0, 0, NULL},
    {"config|get", -3,
     SIM_NO_SCRIPT | SIM_LOADING | SIM_STALE | SIM_ADMIN | SIM_DANGEROUS,
     SIM_GROUP_NONE, 0, 0, 0, sim_run_config_get},
    {"config|set", -4,
     SIM_NO_SCRIPT | SIM_LOADING | SIM_STALE | SIM_ADMIN | SIM_DANGEROUS,
     SIM_GROUP_NONE, 0, 0, 0, sim_run_config_set},
    {"client", -2, 0, SIM_GROUP_NONE, 0, 0, 0, NULL},
    {"client|setname", 3, SIM_NO_SCRIPT | SIM_LOADING | SIM_STALE,
     SIM_GROUP_CONNECTION, 0, 0, 0, sim_run_client_setname},
    {"client|getname", 2, SIM_NO_SCRIPT | SIM_LOADING | SIM_STALE,
     SIM_GROUP_CONNECTION, 0, 0, 0, sim_run_client_getname},
    {"client|id", 2, SIM_NO_SCRIPT | SIM_LOADING | SIM_STALE,
     SIM_GROUP_CONNECTION, 0, 0, 0, sim_run_client_id},
    {"client|kill", -3,
     SIM_NO_SCRIPT | SIM_LOADING | SIM_STALE | SIM_ADMIN | SIM_DANGEROUS,
     SIM_GROUP_CONNECTION, 0, 0, 0, sim_run_client_kill},
    {"client|unblock", -3,
     SIM_NO_SCRIPT | SIM_LOADING | SIM_STALE | SIM_ADMIN | SIM_DANGEROUS,
     SIM_GROUP_CONNECTION, 0, 0, 0, sim_run_client_unblock},
    {"script", -2, 0, SIM_GROUP_NONE, 0, 0, 0, NULL},
    {"script|flush", -2, SIM_NO_SCRIPT, SIM_GROUP_SCRIPTING, 0, 0, 0,
     sim_run_script_flush},
    {"script|exists", -3, SIM_NO_SCRIPT, SIM_GROUP_SCRIPTING, 0, 0, 0,
     sim_run_script_exists},
    {"script|load", 3, SIM_NO_SCRIPT | SIM_STALE, SIM_GROUP_SCRIPTING, 0, 0, 0,
     sim_run_script_load},
    {"eval", -3, SIM_NO_SCRIPT | SIM_STALE | SIM_NUMBERED_KEYS,
     SIM_GROUP_SCRIPTING, 0, 0, 1, sim_run_eval},
    {"evalsha", -3, SIM_NO_SCRIPT | SIM_STALE | SIM_NUMBERED_KEYS,
     SIM_GROUP_SCRIPTING, 0, 0, 1, sim_run_evalsha},
    {"acl", -2, 0, SIM_GROUP_NONE, 0, 0, 0, NULL},
    {"acl|setuser", -3,
     SIM_NO_SCRIPT | SIM_LOADING | SIM_STALE | SIM_ADMIN | SIM_DANGEROUS,
     SIM_GROUP_NONE, 0, 0, 0, sim_run_acl_setuser},
    {"acl|deluser", -3,
     SIM_NO_SCRIPT | SIM_LOADING | SIM_STALE | SIM_ADMIN | SIM_DANGEROUS,
     SIM_GROUP_NONE, 0, 0, 0, sim_run_acl_deluser},
    {"acl|whoami", 2, SIM_NO_SCRIPT | SIM_LOADING | SIM_STALE, SIM_GROUP_NONE,
     0, 0, 0, sim_run_acl_whoami},
};

enum { COUNT = sizeof(table) / sizeof(table[0]), SLOTS = 512 };

unsigned sim_command_count(void)
{
    return COUNT;
}

const sim_command *sim_command_at(unsigned index)
{
    return &table[index];
}

unsigned sim_command_index(const sim_command *command)
{
    return (unsigned)(command - table);
}

static unsigned slot_of(const char *name, size_t size)
{
    unsigned hash = (unsigned)size;

    for (size_t i = 0; i < size; i++)
        hash = hash * 31 + (unsigned char)(name[i] | 0x20);
    return hash % SLOTS;
}

/* Places in the table, plus 1; made once, by the first who looks. */
static _Thread_local unsigned char slots[SLOTS];

static void fill_slots(void)
{
    for (unsigned i = 0; i < COUNT; i++) {
        unsigned slot = slot_of(table[i].name, strlen(table[i].name));

        while (slots[slot] != 0)
            slot = (slot + 1) % SLOTS;
        slots[slot] = (unsigned char)(i + 1);
    }
}

static bool is_called(const sim_command *command, sim_str name)
{
    for (size_t i = 0; i < name.size; i++) {
        if (tolower((unsigned char)name.bytes[i]) != command->name[i])
            return false;
    }
    return command->name[name.size] == '\0';
}

const sim_command *sim_command_find(sim_str name)
{
    unsigned slot = slot_of(name.bytes, name.size);

    if (slots[slot_of("get", 3)] == 0)
        fill_slots();
    for (; slots[slot] != 0; slot = (slot + 1) % SLOTS) {
        const sim_command *command = &table[slots[slot] - 1];

        if (is_called(command, name))
            return command;
    }
    return NULL;
}

bool sim_command_is_family(sim_str name)
{
    const sim_command *command = sim_command_find(name);

    return command != NULL && command->run == NULL;
}

const sim_command *sim_command_of(int argc, const sim_str *argv)
{
    const sim_command *command = sim_command_find(argv[0]);
    char name[64];
    size_t size = argv[0].size;

    if (command == NULL || command->run != NULL || argc == 1)
        return memchr(argv[0].bytes, '|', argv[0].size) == NULL ? command
                                                                : NULL;
    if (size + 1 + argv[1].size > sizeof(name))
        return NULL;
    memcpy(name, argv[0].bytes, size);
    name[size++] = '|';
    if (argv[1].size > 0)
        memcpy(name + size, argv[1].bytes, argv[1].size);
    return sim_command_find((sim_str){name, size + argv[1].size});
}
