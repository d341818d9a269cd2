-- SPDX-License-Identifier: MIT
-- plain_delete: remove the counter; who waits for it is told that it is gone.
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
-- ARGV[4]  settled  as in plain_acquire
--
-- returns  {1, more, degraded}  done, now or before; the rest as in plain_leave
--          {5}  nothing is set
--
-- Invariants: sending it again does nothing more, also if the counter was set
-- meanwhile. Who waited before waits for no counter that is set afterwards. A
-- full server does not refuse it.

-- Marks all waiters as gone and removes the counter. Returns an error, and then
-- it is as it was, or nil.
local function remove(gone)
    local bad = memo.open() or counter.sign() or made.note(0)
    if bad then
        return bad
    end
    bad = counter.remove(gone)
    if bad then
        memo.drop()
    end
    return bad
end

clock.look()
if made.count then
    return memo.answer({1, 0, 0}, ARGV[4])
elseif not counter.value then
    return memo.answer({5}, ARGV[4])
end
line.is_there() -- a queue of the wrong type ends the script here
local last = tonumber(redis.call('HGET', tickets, '#') or '') or 0
local bad = remove(math.max(last, record.gone + 1))
if bad then
    return bad
end
local _, more, denied = taker.serve()
return memo.answer({1, more, denied and 1 or 0}, ARGV[4])
