-- SPDX-License-Identifier: MIT
-- leader_look: in which term somebody leads.
-- uses: part_error part_master part_record
--
-- KEYS[1]  lock   hash  owner -> 1; its TTL is the lease
-- KEYS[2]  state  hash  record of the last grant
-- ARGV[1]  owner    the claim that observes; it never holds
--
-- returns  {0, lease left in ms, 1, 0, 0, term}  as a claim that is queued; a
--              term of 0: nobody leads, or one that has no term
--
-- Invariants: nothing is changed.

local refused = replica_refuses()
if refused then
    return refused
end

local term = 0
if record.holder and record.holder == record.claim then
    term = tonumber(record.fence) or 0
end
return {0, redis.call('PTTL', lock), 1, 0, 0, term}
