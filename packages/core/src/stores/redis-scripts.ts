import { createHash } from 'node:crypto';

/** A Lua script that uses one key, so that it also runs on Redis Cluster. */
export interface RedisScript {
  readonly source: string;
  readonly sha1: string;
}

function script(source: string): RedisScript {
  return { source, sha1: createHash('sha1').update(source).digest('hex') };
}

/**
 * Sliding window log: a list of microseconds, oldest first, by the server's clock. If that clock steps back (another
 * node took over), time stands still until the clock has caught up, for at most one window. A log from further in the
 * future is discarded.
 *
 * ARGV: limit, window in microseconds, lifetime of the key in milliseconds, '1' to record. Returns: 1 if allowed,
 * remaining, microseconds until the next unit is back, time of the hit.
 */
export const HIT = script(`
local key, limit, window = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local clock = tonumber(time[1]) * 1000000 + tonumber(time[2])
local now = clock
local newest = tonumber(redis.call('LINDEX', key, -1) or 0)
if newest > clock + window then
  redis.call('DEL', key)
elseif newest > clock then
  now = newest
end
local oldest = redis.call('LINDEX', key, 0)
while oldest and tonumber(oldest) + window <= now do
  redis.call('LPOP', key)
  oldest = redis.call('LINDEX', key, 0)
end
local size = redis.call('LLEN', key)
local allowed = size < limit
if allowed and ARGV[4] == '1' then
  redis.call('RPUSH', key, string.format('%.0f', now))
  redis.call('PEXPIRE', key, ARGV[3])
  size = size + 1
end
local leaver = redis.call('LINDEX', key, math.max(0, size - limit))
local reset = leaver and tonumber(leaver) + window - clock or 0
return { allowed and 1 or 0, math.max(0, limit - size), reset, now }
`);

/**
 * A value is stored after the number of its wrong tries and a colon.
 *
 * ARGV: value, most tries. Returns: 'missing', 'mismatched', or 'matched' with milliseconds left and wrong tries.
 */
export const TAKE = script(`
local key, value, most = KEYS[1], ARGV[1], tonumber(ARGV[2])
local stored = redis.call('GET', key)
if not stored then return { 'missing' } end
local colon = string.find(stored, ':', 1, true)
local tries = tonumber(string.sub(stored, 1, colon - 1))
local matched = tries < most and string.sub(stored, colon + 1) == value
if matched then
  local left = redis.call('PTTL', key)
  redis.call('DEL', key)
  return { 'matched', math.max(1, left), tries }
end
if tries + 1 >= most then
  redis.call('DEL', key)
else
  redis.call('SET', key, (tries + 1) .. string.sub(stored, colon), 'KEEPTTL')
end
return { tries < most and 'mismatched' or 'missing' }
`);

/** ARGV: value. Returns 1 if the value was equal and is now removed. */
export const REMOVE_IF_EQUAL = script(`
local stored = redis.call('GET', KEYS[1])
if not stored or string.sub(stored, string.find(stored, ':', 1, true) + 1) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
`);
