-- SPDX-License-Identifier: MIT
-- plain_acquire: take permits if there are enough and nobody alive waits for
-- some, else queue for them.
-- uses: part_error part_clock part_lease part_void part_counter
-- uses: part_memo part_counter_memo part_line part_others part_counter_taker
--
-- KEYS[1]  counter  string  permits that are free
-- KEYS[2]  state    hash    that it is a bare counter; which waiters are gone
-- KEYS[3]  queue    zset    waiting claim -> ticket
-- KEYS[4]  tickets  hash    claim -> what it asks for; "#" -> last ticket
-- KEYS[5]  skipped  zset    claim passed over -> since when
-- KEYS[6]  memo     hash    who changed the counter -> by how much
-- KEYS[7]  void     zset    claim that must not acquire -> until when
-- KEYS[8]  leases   zset    Redisson's, of a semaphore of leased permits
-- ARGV[1]  owner    the claim
-- ARGV[2]  channel  Redisson's, for this name
-- ARGV[3]  interop  1: Redisson is there even if it is not seen
-- ARGV[4]  lease    of no use: permits have none
-- ARGV[5]  queue    1: queue if there are not enough
-- ARGV[6]  inbox    channel on which it is told to look; no space in it
-- ARGV[7]  reason   for operators; any bytes
-- ARGV[8]  check_void  1: refuse a claim that was given up
-- ARGV[9]  mode     c
-- ARGV[10] need     so many permits, > 0
-- ARGV[11] number   of no use
-- ARGV[12] settled  numbers of this client's changes that it will not ask for
--                   again
--
-- returns  {1, 0, 0, 0}  taken
--          {0, left, ticket, contend}  it is queued; left: after so many ms
--              the counter ends, -1: it does not; contend 1: it is next, and
--              Redisson's clients are there, which will not tell it; 2: it is
--              next, and what is free is left to them for another left ms
--          {2, left}  not enough, or others wait, and not queued
--          {5}  nothing is set
--          {7}  it was queued, and what it waited for is gone
--          error LKVOID  the claim was given up
--
-- Invariants: sending it again takes nothing more and gives no second ticket. A
-- full server refuses it before anything is written. Nobody is passed by who
-- waits and is alive. It takes as much as it asks for or nothing.

local owner = ARGV[1]
local ask = {kind = ARGV[9], need = tonumber(ARGV[10]), lease = 0,
    inbox = ARGV[6], reason = ARGV[7]}

-- Takes them for a claim that is not queued. Returns the answer.
local function take()
    return taker.take(ask) or memo.answer({1, 0, 0, 0}, ARGV[12])
end

clock.look()
if ARGV[8] == '1' and void.refuses(owner) then
    return redis.error_reply('LKVOID the claim was given up')
end
if made.count then
    return memo.answer({1, 0, 0, 0}, ARGV[12])
end

local slots = redis.call('HMGET', tickets, owner, '#')
local entry = line.unpack(slots[1])
if entry and taker.is_gone(entry) then
    return line.leave(owner) or memo.answer({7}, ARGV[12])
elseif not counter.value then
    return memo.answer({5}, ARGV[12])
elseif not entry and ARGV[5] == '1' and taker.may(ask)
        and not line.is_there() then
    return take()
elseif not entry and ARGV[5] ~= '1' then
    if taker.fit(ask) and not taker.are_wanted() then
        return take()
    end
    return memo.answer({2, counter.left()}, ARGV[12])
end

local bad
if entry then
    bad = line.touch(owner, entry)
else
    entry = ask
    bad = counter.sign() or line.append(owner, entry,
        math.max(tonumber(slots[2] or '') or 0, record.gone))
end
if bad then
    return bad
end
local mine, more = taker.serve(owner)
if mine then
    return taker.take_turn(owner, entry) or memo.answer({1, 0, 0, 0}, ARGV[12])
end
local left, contends = taker.outlook(owner, entry)
return memo.answer({0, more == 1 and 0 or left, entry.ticket, contends},
    ARGV[12])
