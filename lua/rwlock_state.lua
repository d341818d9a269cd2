-- SPDX-License-Identifier: MIT
-- rwlock_state: how the name is held.
-- uses: part_error part_master part_rw_record part_rw_readers
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
-- KEYS[12] none      not used
--
-- returns  {how}  0: by nobody, 1: by readers, 2: by the writer
--
-- Invariants: nothing is changed. A reader whose lease has run out is none.

local refused = replica_refuses()
if refused then
    return refused
end

if record.mode == 'write' then
    return {2}
end
local lives, bad = readers.any()
return bad or {lives and 1 or 0}
