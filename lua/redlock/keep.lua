-- SPDX-License-Identifier: MIT
-- keep: lengthen the lease of a token that still stands.
--
-- code: 0 there is no key, 2 it holds something else.
--
-- Invariants: a key is never made, so *kept* proves that the token has stood since
-- it was planted. A lease is only lengthened; a key without an end gets one. A
-- full server does not refuse it.
-- needs: failed lengthen state

local has, bad = state(name_key, token)
if has == 1 then
    bad = failed(lengthen(name_key, tonumber(lease)))
end
return bad or (has == 1 and {KEPT} or {LOST, has})
