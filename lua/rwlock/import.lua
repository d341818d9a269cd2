-- SPDX-License-Identifier: MIT
-- import: a hold that was exported becomes that of a new claim, with a new
-- fence and its lease begun again. own is the new claim's member; it does what the
-- old one did.
--
-- code: as keep's.
--
-- Invariants: of those who import one claim one is told *held*: the old claim is
-- gone then. The same new claim may ask again, and gets the same fence. A lease
-- is only lengthened. On a mismatch nothing changes. The hold is at no moment
-- nobody's. A full server does not refuse it. A hold without a record is nobody's
-- to import.
-- calls: HDEL HSET PEXPIRE SET
-- needs: failed clock hold queue readers

clock.look()
local it = member.read(own)
local bad = hold.look(lock_key, record_key, it.claim)
if bad then
    return bad
end
local has = hold.writes or hold.reads
local grant = has and hold.grant(holders_key, it.claim)
if has and (not grant or grant.flag == 'v') then
    return {NOT_HELD, grant and 4 or 0}
elseif has then
    return {HELD, tonumber(grant.fence), redis.call('PTTL',
        hold.lasts_by(lock_key, it.claim)), hold.writes and 'w' or grant.mode}
end
bad = hold.look(lock_key, record_key, claim)
if bad then
    return bad
elseif not hold.writes and not hold.reads then
    return {NOT_HELD, hold.code}
end
grant = hold.grant(holders_key, claim)
if not grant then
    return {NOT_HELD, 0}
elseif grant.fence ~= fence then
    return {NOT_HELD, 3}
elseif grant.flag == 'v' then
    return {NOT_HELD, 4}
end
local at = math.max(hold.top + 1, tonumber(fence) + 1, clock.us)
if at > 9007199254740991 then
    return redis.error_reply(
        'LKRANGE the name has no more fences: one was set to 2^53')
end
local key = hold.lasts_by(lock_key, claim)
local left = math.max(redis.call('PTTL', key), tonumber(lease))
local all = math.max(redis.call('PTTL', lock_key), left)
local field = hold.writes and it.claim .. ':write' or it.claim
local old_field = hold.writes and claim .. ':write' or claim

-- What the record says then. A reader's fence beside a writer is one of those
-- above the writer's.
local changes
if hold.marks.aside == claim then
    hold.marks.aside = it.claim
end
if hold.marks.upgrader == claim then
    hold.marks.upgrader = it.claim
end
if hold.writes then
    changes = {fence = queue.text(at), spare = '0', since = queue.text(clock.ms)}
    for _, name in ipairs({'claim', 'nonce', 'lease', 'inbox', 'reason'}) do
        changes[name] = it[name]
    end
elseif hold.is_ours then
    changes = {spare = queue.text(at - hold.was.fence)}
else
    changes = {fence = queue.text(at), spare = '0'}
end

-- The first changes nothing: whoever may not remove the old claim adds no new
-- one, and a full server lets through what follows.
local commands = {}
local function add(...)
    commands[#commands + 1] = {...}
end
add('HDEL', lock_key, '')
add('PEXPIRE', lock_key, queue.text(all))
add('HSET', lock_key, field, '1')
if key ~= lock_key then
    add('SET', new_key, '1', 'PX', queue.text(left))
end
if not hold.writes then
    add('HSET', holders_key, it.claim, reader.write({fence = queue.text(at),
        nonce = it.nonce, ticket = '0', mode = grant.mode,
        since = queue.text(clock.ms), lease = it.lease, flag = '-',
        inbox = it.inbox, reason = it.reason}))
    add('PEXPIRE', holders_key, hold.life(holders_key, all + life))
end
add('HDEL', lock_key, old_field)
add('SET', record_key, hold.record(changes), 'PX',
    hold.life(record_key, all + life))
for i = 1, #commands do
    bad = bad or failed(redis.pcall(unpack(commands[i])))
end
if bad then
    redis.pcall('HSET', lock_key, old_field, '1')
    redis.pcall('HDEL', lock_key, field)
    redis.pcall('DEL', new_key)
    redis.pcall('HDEL', holders_key, it.claim)
    return bad
end
redis.pcall('DEL', timeout_key)
redis.pcall('HDEL', holders_key, claim)
return {HELD, at, left, hold.writes and 'w' or grant.mode}
