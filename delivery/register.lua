-- Brings a fan's connections on one instance up to date, and forgets those that no instance renewed for a lifetime: a
-- killed instance's would otherwise stand as long as the fan is connected elsewhere.
-- KEYS: the fan's connections, a hash of connection to "<time> <instance>".
-- ARGV: instance, lifetime in seconds, how many connections to set, those, then those to remove.
local now = tonumber(redis.call('TIME')[1])
local ttl = tonumber(ARGV[2])
local last = 3 + tonumber(ARGV[3])
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  local at = tonumber(string.match(all[i + 1], '^(%d+) '))
  if not at or now - at >= ttl then
    redis.call('HDEL', KEYS[1], all[i])
  end
end
for i = 4, last do
  redis.call('HSET', KEYS[1], ARGV[i], now .. ' ' .. ARGV[1])
end
for i = last + 1, #ARGV do
  redis.call('HDEL', KEYS[1], ARGV[i])
end
return redis.call('EXPIRE', KEYS[1], ttl)
