-- SPDX-License-Identifier: MIT
-- force: end the hold of the writer, with the reads beside it, that of one reader,
-- or, where claim is empty, all of them; and tell them.
--
-- It lets nobody in: more says that somebody waits, whom a touch lets in.
-- code: 0 nobody held it, or that one did not.
--
-- Invariants: an inbox is told only of a claim that held. Redisson's waiters are
-- told in its way. A full server does not refuse it.
-- needs: failed hold readers message queue share

local CHUNK = 64

local bad = hold.look(lock_key, record_key, claim)
if bad then
    return bad
end
local lives
lives, bad = readers.any(lock_key)
if bad then
    return bad
elseif claim ~= '' and not hold.writes and not hold.reads
        or hold.mode ~= 'write' and not lives then
    return {NOT_HELD, 0}
end
local is_all = claim == '' or hold.writes
local stays = not is_all and hold.mode == 'write'
if not is_all and not stays then
    stays, bad = readers.any(lock_key, claim)
    if bad then
        return bad
    end
end

-- What ends: fields and keys; and the grants that are told.
local fields, keys, told = {}, {}, {}
local names = is_all and redis.call('HKEYS', lock_key) or {claim}
for i = 1, #names do
    local writer = string.match(names[i], '^(.*):write$')
    local grant
    if writer then
        grant = hold.is_ours and writer == hold.was.claim and hold.was
    elseif readers.lives(lock_key, names[i]) then
        grant = reader.read(redis.call('HGET', holders_key, names[i]) or '')
    end
    if grant then
        grant.claim = writer or names[i]
        told[#told + 1] = grant
    end
    if names[i] ~= 'mode' then
        fields[#fields + 1] = names[i]
        keys[#keys + 1] = readers.key(lock_key, writer or names[i])
    end
end

bad = failed(stays and redis.pcall('HDEL', lock_key, claim)
    or redis.pcall('DEL', lock_key))
if bad then
    return bad
end
for i = 1, #fields, CHUNK do
    local last = math.min(i + CHUNK - 1, #fields)
    redis.pcall('DEL', unpack(keys, i, last))
    redis.pcall('HDEL', holders_key, unpack(fields, i, last))
end
local denied
if not stays then
    redis.pcall('DEL', holders_key)
    denied = share.tell_theirs({channel = channel}, hold.mode == 'write')
end
for i = 1, #told do
    denied = failed(message.revoked(told[i], db, 'rwlock', lock_key)) or denied
end
local waits = redis.call('ZCOUNT', queue_key, '0',
    '(' .. queue.score(queue.VOID, 0)) > 0
return {CLOSED, 2, waits and 1 or 0, denied and 1 or 0}
