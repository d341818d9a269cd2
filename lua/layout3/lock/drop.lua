-- SPDX-License-Identifier: MIT
--
-- Takes a hold away whose close was refused or not answered. next goes behind it.
--
-- KEYS    N
-- ARGV    claim
-- returns 6 it went, 0 it did not hold
--
-- A full server accepts the only write, which may be repeated.
return 6 * redis.call('HDEL', KEYS[1], ARGV[1])
