-- SPDX-License-Identifier: MIT
-- lock_acquire: take the lock if it is free, else queue for it.
-- uses: part_quick_take part_error part_record part_clock part_lease
-- uses: part_fences part_line
-- uses: part_hold part_others part_pass part_void
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
-- ARGV[5]  queue    1: queue if it is held; s: do not, but note that somebody
--                   spins
-- ARGV[6]  inbox    channel on which grants are received; no space in it
-- ARGV[7]  reason   for operators; any bytes
-- ARGV[8]  check_void  1: refuse a claim that was given up
-- ARGV[9]  mode     f: fair, nobody alive who waits is passed by; else, or not
--                   there: a name that is free is taken
--
-- returns  {1, fence, lease left in ms, top}  it holds; the fences up to top
--              are reserved to it
--          {0, lease left, ticket, contend, more}  it is queued; contend 1: it
--              is next, and the holder will not hand over; more, if it is
--              there, 1: call lock_recheck at once, the dead are not all passed
--          {2, lease left}  held by another, and not queued
--          error LKVOID  the claim was given up
--
-- Invariants: a lock that exists has an owner and a TTL. Sending it again
-- neither gives a second ticket nor a second hold nor changes a TTL. A full
-- server refuses it before anything is written. A claim that holds does not
-- wait.

local owner, is_fair = ARGV[1], ARGV[9] == 'f'
local ask = {ticket = 0, kind = 'x', need = 1, lease = tonumber(ARGV[4]),
    inbox = ARGV[6], reason = ARGV[7]}

-- Takes the free name. Returns the answer.
local function take(entry)
    ask.ticket = entry and entry.ticket or 0
    local range, bad = room.take(owner, ask, ask.lease)
    if not bad and entry then
        bad = line.leave(owner)
        if bad then
            room.undo(owner)
        end
    end
    return bad or {1, range.fence, ask.lease, range.top}
end

-- A free name for which others wait goes to the first of them that is alive.
-- This claim queues, and has it if that is itself.
local function take_turn(entry, last)
    local bad
    if entry then
        bad = line.touch(owner, entry)
    else
        entry = ask
        bad = line.append(owner, entry, last)
    end
    if bad then
        return bad
    end
    local _, more, _, mine = pass.give(owner)
    if mine then
        return take(entry)
    elseif ARGV[5] ~= '1' then
        return line.leave(owner) or {2, redis.call('PTTL', lock)}
    end
    return {0, redis.call('PTTL', lock), entry.ticket, 0, more}
end

clock.look()
if ARGV[8] == '1' and void.refuses(owner) then
    return redis.error_reply('LKVOID the claim was given up')
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
    local first = is_fair and line.first()
    if first and first ~= owner then
        return take_turn(entry, slots[2])
    end
    return take(entry)
end

local left = redis.call('PTTL', lock)
if ARGV[5] == 's' then
    redis.pcall('SET', KEYS[9], '1', 'PX', '1000')
end
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
return bad or {0, left, entry.ticket, hold.contends(owner)}
