-- SPDX-License-Identifier: MIT
-- plain_drain: take all permits that are free.
-- uses: part_error part_clock part_lease part_counter part_memo
-- uses: part_counter_memo
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
-- ARGV[4]  settled  as in plain_acquire
--
-- returns  {1, 0, 0, taken}  done, now or before; taken is below 0 if so many
--              were owed
--          {5}  nothing is set
--
-- Invariants: sending it again takes nothing more and answers the same. The TTL
-- stays. A full server does not refuse it.

clock.look()
if made.count then
    return memo.answer({1, 0, 0, made.count}, ARGV[4])
elseif not counter.value then
    return memo.answer({5}, ARGV[4])
end
local taken = counter.value
local bad = memo.open() or counter.add(-taken)
if bad then
    return bad
end
bad = counter.sign() or made.note(taken)
if bad then
    counter.add(taken)
    return bad
end
return memo.answer({1, 0, 0, taken}, ARGV[4])
