-- SPDX-License-Identifier: MIT
-- rwlock_import: a hold that was exported becomes another client's, under a new
-- fence, with its lease begun anew.
-- uses: part_error part_rw_record part_clock part_lease part_line
-- uses: part_rw_readers part_rw_share part_void part_revoke
--
-- KEYS[1]  lock      hash    mode -> read or write; reader -> its holds; or
--                            <writer>:write -> its holds; its TTL is the lease
-- KEYS[2]  state     hash    record of the last writer, the phase, and the turn
-- KEYS[3]  queue     zset    claim that waits to write -> ticket
-- KEYS[4]  tickets   hash    claim -> what it asks for; "#" -> last ticket
-- KEYS[5]  skipped   zset    claim passed over -> since when
-- KEYS[6]  readers   zset    claim that waits to read -> ticket
-- KEYS[7]  void      zset    claim that must not acquire -> until when
-- KEYS[8]  holders   hash    claim that reads -> record of its grant
-- KEYS[9]  spin      string  there while a client spins
-- KEYS[10] upgraders zset    claim that waits to read, to write later
-- KEYS[11] upgrades  zset    claim that waits to write, and reads already
-- KEYS[12] timeout   string  lives as long as the claim's lease as a reader
-- ARGV[1]  owner    the claim
-- ARGV[2]  channel  Redisson's, for this name
-- ARGV[3]  interop  1: Redisson is there even if it is not seen
-- ARGV[4]  fence    under which the claim was exported
-- ARGV[5]  lease    milliseconds, > 0
-- ARGV[6]  inbox    the importer's; no space in it
-- ARGV[7]  id       of no use here
--
-- returns  {1, lease left in ms, fence, fence}  it is the importer's
--          {0, code}  it does not hold, or another has imported it; codes as in
--              lock_renew
--
-- Invariants: of those who import one fence one is told 1: the next fence is
-- another, and under the old one nothing is renewed or released any more. The
-- importer may ask again, and gets the same fence: in the record its inbox and,
-- in place of the ticket, the fence it came with say that it is the one. A
-- lease is only lengthened. On a mismatch nothing changes. A full server does
-- not refuse it. A hold without a record is nobody's to import.

local owner, fence, ms, inbox = ARGV[1], ARGV[4], tonumber(ARGV[5]), ARGV[6]

if not record.writes and not record.reads then
    return {0, share.code(owner)}
end
local mark, ticket, own_inbox, has
if record.writes and record.claim == owner then
    ticket, own_inbox = record.ticket, redis.call('HGET', state, 'inbox')
    has = tonumber(record.fence)
elseif not record.writes then
    mark = mark_of(redis.call('HGET', holders, owner))
    if mark then
        ticket, own_inbox, has = mark.ticket, mark.inbox, mark.fence
    end
end
if not has then
    return {0, 0}
elseif has ~= tonumber(fence)
        and (tonumber(ticket) ~= tonumber(fence) or own_inbox ~= inbox) then
    return {0, 3}
elseif revoke.is_void(owner) then
    return {0, 4}
end

clock.look()
local left = share.lengthen(owner, ms)
if failed(left) then
    return left
end
lease.keep(state, record.kept, ms)
if has ~= tonumber(fence) then
    return {1, left, has, has}
end

-- The state may be gone, and the clock behind it.
local new = math.max(record.top + 1, has + 1, clock.us)
-- Changes nothing; a full server lets through what follows such a write.
local bad = beyond(new, 'fences')
    or failed(redis.pcall('PEXPIRE', lock, redis.call('PTTL', lock)))
if not bad and record.writes then
    bad = failed(redis.pcall('HSET', state, 'fence', new, 'top', new, 'ticket',
        fence, 'inbox', inbox, 'lease', ms))
elseif not bad then
    bad = failed(redis.pcall('HSET', state, 'top', new))
        or failed(redis.pcall('HSET', holders, owner, string.format(
            '%.0f %s %s %.0f %.0f ', new, fence, mark.mode, mark.since, ms)
            .. inbox .. ' ' .. mark.reason))
end
return bad or {1, left, new, new}
