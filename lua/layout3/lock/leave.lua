-- SPDX-License-Identifier: MIT
--
-- Takes a claim out of the line that does not want the name any more.
--
-- KEYS    N, line, side
-- ARGV    member, the side from which it is nearer: 1 the head, -1 the tail
-- returns -1 it has left, 0 it was nowhere, 5 it holds alone: close
--
-- A full server accepts the first write. A claim beside another in N holds nothing, goes,
-- and gives the name to nobody: the other may have been told already.
local call, lock, member = redis.call, KEYS[1], ARGV[1]
local claim = string.sub(member, 1, 49)
local left = call('LREM', KEYS[2], ARGV[2], member) + call('HDEL', KEYS[3], 'p' .. member)
if call('HEXISTS', lock, claim) == 0 then
    return left == 0 and 0 or -1
elseif call('HLEN', lock) == 1 then
    return 5
end
call('HDEL', lock, claim)
return -1
