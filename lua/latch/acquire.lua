-- SPDX-License-Identifier: MIT
-- acquire: begin to wait for a latch.
--
-- how: q waits, t tries. gen: of one that is armed even, of the gap before the
-- next odd; a look makes sense after look ms, -1: nothing is known to happen.
-- nonce: of a generation, known to those who were told; -: of a gap.
--
-- Invariants: a wait takes nothing: sent twice or late it changes nothing for
-- anybody. It opens nothing; what others opened is written down and told. A full
-- server does not refuse it.
-- needs: generation noted waits master

local it, bad = generation.read(count_key, record_key, arrived_key)
if not it then
    return bad
end
bad = master(record_key) or noted.catch_up({count = count_key,
    record = record_key, queue = queue_key, arrived = arrived_key, db = db,
    news = news, life = life, nonce = nonce}, it)
if bad then
    return bad
end
if it.phase ~= 'open' and how == 'q' then
    waits.note(queue_key, own, nil)
end
if it.phase == 'open' then
    return {OPENED, it.gen, it.opened, it.gone}
elseif how == 't' then
    return {BUSY, generation.look(it)}
end
return {WAITS, generation.look(it), generation.awaited(it),
    generation.secret(it), it.opened, it.gone}
