-- SPDX-License-Identifier: MIT
-- lock_acquire: take the lock if it is free, else queue for it.
-- uses: part_error part_record part_clock part_lease part_fences part_hold
-- uses: part_line
--
-- KEYS[1]  lock     hash    owner -> 1; its TTL is the lease
-- KEYS[2]  state    hash    record of the last grant, and the turn
-- KEYS[3]  queue    zset    waiting claim -> ticket
-- KEYS[4]  tickets  hash    claim -> what it asks for; "#" -> last ticket
-- KEYS[5]  skipped  zset    claim passed over -> since when
-- KEYS[6]  token    string  Redisson's count of grants
-- KEYS[7]  void     zset    claim that must not acquire -> until when
-- KEYS[8]  fairq    list    Redisson's fair queue
-- KEYS[9]  spin     string  there while a client spins
-- ARGV[1]  owner    the claim
-- ARGV[2]  channel  Redisson's, for this name
-- ARGV[3]  interop  1: Redisson is there even if it is not seen
-- ARGV[4]  lease    milliseconds, > 0
-- ARGV[5]  queue    1: queue if it is held
-- ARGV[6]  inbox    channel on which grants are received; no space in it
-- ARGV[7]  reason   for operators; any bytes
-- ARGV[8]  check_void  1: refuse a claim that was given up
--
-- returns  {1, fence, lease left in ms, top}  it holds; the fences up to top
--              are reserved to it
--          {0, lease left, ticket, contend}  it is queued; contend 1: it is
--              next, and the holder will not hand over
--          {2, lease left}  held by another, and not queued
--          error LKVOID  the claim was given up
--
-- Invariants: a lock that exists has an owner and a TTL. Sending it again
-- neither gives a second ticket nor a second hold nor changes a TTL. A full
-- server refuses it before anything is written. A claim that holds does not
-- wait.

local owner = ARGV[1]
local ask = {ticket = 0, lease = tonumber(ARGV[4]), inbox = ARGV[6],
    reason = ARGV[7]}

clock.look()
if ARGV[8] == '1' then
    local till = redis.call('ZSCORE', KEYS[7], owner)
    if till and tonumber(till) > clock.ms then
        return redis.error_reply('LKVOID the claim was given up')
    end
end

if record.mine then
    local range, bad = {fence = tonumber(record.fence), top = record.top}, nil
    if record.claim ~= owner then
        range, bad = hold.sign(owner, ask)
    end
    return bad or {1, range.fence, redis.call('PTTL', lock), range.top}
end

local slots = redis.call('HMGET', tickets, owner, '#')
local entry = line.unpack(slots[1])

if not record.holder then
    ask.ticket = entry and entry.ticket or 0
    local range, bad = hold.take(owner, ask, ask.lease)
    if not bad and entry then
        bad = line.leave(owner)
        if bad then
            hold.undo(owner)
        end
    end
    return bad or {1, range.fence, ask.lease, range.top}
end

local left = redis.call('PTTL', lock)
if ARGV[5] ~= '1' then
    return {2, left}
end

local bad
if entry then
    bad = line.touch(owner, entry)
else
    entry = ask
    bad = line.append(owner, entry, slots[2])
end
return bad or {0, left, entry.ticket, line.contends(owner)}
