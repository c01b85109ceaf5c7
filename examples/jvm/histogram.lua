-- For wrk with four connections (-c4): prints how long every request took, as a table that
-- --latency hgrm reads, so that percentiles of all trials can be made of all requests. wrk itself
-- prints no more than p99.
--
-- wrk adds requests that it did not send: for each that took longer than two usual ones it counts
-- others, each shorter by a usual one (stats_correct in its stats.c). They are taken out again, so
-- that what is printed was measured; that the numbers agree is checked.
local connections = 4

local function measured(summary, latency)
  local counts, longest, sum, agrees = {}, 0, 0, true
  for index = 1, #latency do
    local micros, count = latency(index)
    counts[micros] = tonumber(count)
    longest = math.max(longest, micros)
  end
  local each = math.floor(summary.requests / connections)
  local usual = math.max(1, math.floor(summary.duration / math.max(each, 1)))
  for micros = longest, 1, -1 do
    local count = counts[micros] or 0
    local added = each > 0 and micros >= 2 * usual and count > 0 and micros - usual or 0
    while added > usual do
      counts[added] = counts[added] - count
      added = added - usual
    end
    sum = sum + count
    agrees = agrees and count >= 0
  end
  -- What took longer than wrk's timeout is among the requests, but was not counted.
  local missed = summary.requests - sum
  if not agrees or missed < 0 or missed > summary.errors.timeout then
    io.stderr:write("histogram.lua: the numbers do not agree: is it -c" .. connections .. "?\n")
    os.exit(1)
  end
  return counts, longest, sum
end

done = function(summary, latency, requests)
  local counts, longest, all = measured(summary, latency)
  local counted = 0
  local function row(micros)
    print(string.format("%.3f %.9f %d", micros / 1000, counted / all, counted))
  end
  print("Value Percentile TotalCount 1/(1-Percentile)")
  -- With the microsecond before each, up to which there was no more: nothing lies between.
  for micros = 1, longest do
    if (counts[micros] or 0) > 0 then
      row(micros - 1)
      counted = counted + counts[micros]
      row(micros)
    end
  end
  print("#[errors " .. summary.errors.status + summary.errors.connect + summary.errors.read
    + summary.errors.write + summary.errors.timeout .. "]")
end
