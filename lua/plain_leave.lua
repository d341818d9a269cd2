-- SPDX-License-Identifier: MIT
-- plain_leave: end a claim, whatever became of it: a waiter leaves the queue,
-- and what it took is given back.
-- uses: part_error part_clock part_lease part_void part_counter
-- uses: part_memo part_counter_memo part_line part_counter_taker
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
-- ARGV[4]  tombstone_ms  > 0: for so long plain_acquire refuses the claim
--
-- returns  {n, more, degraded}  n 0: it neither took nor waited, 1: it waited,
--              2: it had taken; more 1: call plain_pass; degraded 1: the server
--              denied something, waiters must look for themselves
--
-- Invariants: afterwards the claim neither waits nor has taken anything. It is
-- given back once, and only to the counter that it was taken from. A full
-- server does not refuse it.

local owner, stone_ms = ARGV[1], tonumber(ARGV[4])

-- Gives back what it took. That it may be forgotten has been seen by now: who
-- may not delete a field could not leave the queue. Returns an error, and then
-- nothing is given back, or nil.
local function give_back()
    local amount = 0
    if counter.value and made.gone == record.gone then
        amount = made.count
    end
    return amount ~= 0 and counter.add(amount) or memo.drop()
end

clock.look()
local answer = line.find(owner) and 1 or 0
line.is_there() -- a queue of the wrong type ends the script here
local bad = line.leave(owner)
if not bad and stone_ms > 0 then
    bad = void.bury(owner, stone_ms)
end
if not bad and made.count then
    answer = 2
    bad = give_back()
end
if bad or answer == 0 then
    return bad or {0, 0, 0}
end

local denied = answer == 2 and counter.value and counter.tell()
local _, more, bad_serve = taker.serve()
return {answer, more, (denied or bad_serve) and 1 or 0}
