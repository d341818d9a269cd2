-- SPDX-License-Identifier: MIT
-- plain_set: set the permits where none are set.
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
-- ARGV[4]  permits  so many, >= 0
-- ARGV[5]  ttl      the counter ends after so many ms; 0: never
-- ARGV[6]  settled  as in plain_acquire
--
-- returns  {1, more, degraded}  done, now or before; the rest as in plain_leave
--          {2}  it was set
--
-- Invariants: sending it again changes nothing more, also if the counter has
-- changed meanwhile. A full server refuses it before anything is written.

local value, ttl = tonumber(ARGV[4]), tonumber(ARGV[5])

-- Returns an error, and then the counter is unset, or nil.
local function set()
    local bad = counter.set(value, ttl)
    if bad then
        return bad
    end
    bad = counter.sign() or made.note(value)
    if bad then
        redis.pcall('DEL', lock)
    end
    return bad
end

clock.look()
if made.count then
    return memo.answer({1, 0, 0}, ARGV[6])
elseif counter.value then
    return memo.answer({2}, ARGV[6])
end
line.is_there() -- a queue of the wrong type ends the script here
local bad = set()
if bad then
    return bad
end
local denied = counter.tell()
local _, more, bad_serve = taker.serve()
return memo.answer({1, more, (denied or bad_serve) and 1 or 0}, ARGV[6])
