-- SPDX-License-Identifier: MIT
-- plain_add: give permits back, add some, or take some away.
-- uses: part_error part_clock part_lease part_counter part_memo
-- uses: part_counter_memo
-- uses: part_line part_counter_taker
--
-- KEYS[1]  counter  string  permits that are free
-- KEYS[2]  state    hash    that it is a bare counter; which waiters are gone
-- KEYS[3]  queue    zset    waiting claim -> ticket
-- KEYS[4]  tickets  hash    claim -> what it asks for; "#" -> last ticket
-- KEYS[5]  skipped  zset    claim passed over -> since when
-- KEYS[6]  memo     hash    who changed the counter -> by how much
-- KEYS[7]  void     zset    claim that must not acquire -> until when
-- KEYS[8]  leases   zset    Redisson's, of a semaphore of leased permits
-- ARGV[1]  op       of the client: a claim or a number like a claim's
-- ARGV[2]  channel  Redisson's, for this name
-- ARGV[3]  interop  1: Redisson is there even if it is not seen
-- ARGV[4]  amount   what is added, below 0: taken away
-- ARGV[5]  must     1: only if something is set
-- ARGV[6]  settled  as in plain_acquire
--
-- returns  {1, more, degraded}  done, now or before; the rest as in plain_leave
--          {4}  the counter would leave the range of 32 bits
--          {5}  nothing is set
--
-- Invariants: sending it again changes nothing more. The TTL stays. A full
-- server does not refuse it, unless it would have to make the counter.

local MAX = 2147483647
local amount, was_set = tonumber(ARGV[4]), counter.value ~= nil
local after = (counter.value or 0) + amount

-- Returns an error, and then the counter is as it was, or nil.
local function change()
    local bad = was_set and memo.open() or counter.add(amount)
    if bad then
        return bad
    end
    bad = counter.sign() or made.note(amount)
    if bad and was_set then
        counter.add(-amount)
    elseif bad then
        redis.pcall('DEL', lock)
    end
    return bad
end

clock.look()
if made.count then
    return memo.answer({1, 0, 0}, ARGV[6])
elseif not was_set and ARGV[5] == '1' then
    return memo.answer({5}, ARGV[6])
elseif amount > 0 and after > MAX or amount < 0 and after < -MAX then
    return memo.answer({4}, ARGV[6])
end
line.is_there() -- a queue of the wrong type ends the script here
local bad = change()
if bad then
    return bad
end
local denied = counter.tell()
local _, more, bad_serve = taker.serve()
return memo.answer({1, more, (denied or bad_serve) and 1 or 0}, ARGV[6])
