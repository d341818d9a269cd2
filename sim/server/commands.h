/* SPDX-License-Identifier: MIT */
#ifndef LK_SIM_SERVER_COMMANDS_H
#define LK_SIM_SERVER_COMMANDS_H

#include "server/inside.h"

/*
 * What the commands do. Each reads its call, whose number of arguments is
 * right, and writes one reply; a session that was blocked gets it later.
 */

void sim_run_acl_deluser(sim_call *call);
void sim_run_acl_setuser(sim_call *call);
void sim_run_acl_whoami(sim_call *call);
void sim_run_append(sim_call *call);
void sim_run_auth(sim_call *call);
void sim_run_blpop(sim_call *call);
void sim_run_client_getname(sim_call *call);
void sim_run_client_id(sim_call *call);
void sim_run_client_kill(sim_call *call);
void sim_run_client_setname(sim_call *call);
void sim_run_client_unblock(sim_call *call);
void sim_run_config_get(sim_call *call);
void sim_run_config_set(sim_call *call);
void sim_run_dbsize(sim_call *call);
void sim_run_decr(sim_call *call);
void sim_run_decrby(sim_call *call);
void sim_run_del(sim_call *call);
void sim_run_echo(sim_call *call);
void sim_run_eval(sim_call *call);
void sim_run_evalsha(sim_call *call);
void sim_run_exists(sim_call *call);
void sim_run_expire(sim_call *call);
void sim_run_flushall(sim_call *call);
void sim_run_flushdb(sim_call *call);
void sim_run_get(sim_call *call);
void sim_run_hdel(sim_call *call);
void sim_run_hexists(sim_call *call);
void sim_run_hget(sim_call *call);
void sim_run_hgetall(sim_call *call);
void sim_run_hincrby(sim_call *call);
void sim_run_hkeys(sim_call *call);
void sim_run_hlen(sim_call *call);
void sim_run_hmget(sim_call *call);
void sim_run_hrandfield(sim_call *call);
void sim_run_hscan(sim_call *call);
void sim_run_hset(sim_call *call);
void sim_run_hsetnx(sim_call *call);
void sim_run_hvals(sim_call *call);
void sim_run_incr(sim_call *call);
void sim_run_incrby(sim_call *call);
void sim_run_info(sim_call *call);
void sim_run_keys(sim_call *call);
void sim_run_lindex(sim_call *call);
void sim_run_linsert(sim_call *call);
void sim_run_llen(sim_call *call);
void sim_run_lpop(sim_call *call);
void sim_run_lpos(sim_call *call);
void sim_run_lpush(sim_call *call);
void sim_run_lpushx(sim_call *call);
void sim_run_lrange(sim_call *call);
void sim_run_lrem(sim_call *call);
void sim_run_mget(sim_call *call);
void sim_run_persist(sim_call *call);
void sim_run_pexpire(sim_call *call);
void sim_run_pexpireat(sim_call *call);
void sim_run_ping(sim_call *call);
void sim_run_psetex(sim_call *call);
void sim_run_pttl(sim_call *call);
void sim_run_publish(sim_call *call);
void sim_run_pubsub_channels(sim_call *call);
void sim_run_pubsub_numsub(sim_call *call);
void sim_run_pubsub_shardnumsub(sim_call *call);
void sim_run_quit(sim_call *call);
void sim_run_rename(sim_call *call);
void sim_run_role(sim_call *call);
void sim_run_rpop(sim_call *call);
void sim_run_rpush(sim_call *call);
void sim_run_sadd(sim_call *call);
void sim_run_scan(sim_call *call);
void sim_run_scard(sim_call *call);
void sim_run_script_exists(sim_call *call);
void sim_run_script_flush(sim_call *call);
void sim_run_script_load(sim_call *call);
void sim_run_select(sim_call *call);
void sim_run_set(sim_call *call);
void sim_run_setnx(sim_call *call);
void sim_run_sismember(sim_call *call);
void sim_run_smembers(sim_call *call);
void sim_run_srem(sim_call *call);
void sim_run_sscan(sim_call *call);
void sim_run_strlen(sim_call *call);
void sim_run_spublish(sim_call *call);
void sim_run_subscribe(sim_call *call);
void sim_run_time(sim_call *call);
void sim_run_ttl(sim_call *call);
void sim_run_type(sim_call *call);
void sim_run_unsubscribe(sim_call *call);
void sim_run_wait(sim_call *call);
void sim_run_zadd(sim_call *call);
void sim_run_zcard(sim_call *call);
void sim_run_zcount(sim_call *call);
void sim_run_zincrby(sim_call *call);
void sim_run_zrange(sim_call *call);
void sim_run_zrangebyscore(sim_call *call);
void sim_run_zrank(sim_call *call);
void sim_run_zrem(sim_call *call);
void sim_run_zremrangebyrank(sim_call *call);
void sim_run_zremrangebyscore(sim_call *call);
void sim_run_zrevrange(sim_call *call);
void sim_run_zrevrangebyscore(sim_call *call);
void sim_run_zscan(sim_call *call);
void sim_run_zmscore(sim_call *call);
void sim_run_zscore(sim_call *call);

/* What commands share. */

/* False: the sum is out of range, and the reply says so. */
bool sim_sum(sim_call *call, int64_t a, int64_t b, int64_t *ret_sum);
/*
 * The part first to last of count elements, negative numbers counted from the
 * end; false: nothing of it is there.
 */
bool sim_range(size_t count, int64_t first, int64_t last, size_t *ret_first,
               size_t *ret_count);

#endif /* LK_SIM_SERVER_COMMANDS_H */
