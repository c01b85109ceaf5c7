-- For wrk: prints every latency that it counted, as a table that --latency hgrm reads, so that
-- percentiles of all trials can be made of all requests. wrk itself prints no more than p99.
done = function(summary, latency, requests)
  local all, counted = 0, 0
  for index = 1, #latency do
    local _, count = latency(index)
    all = all + count
  end
  print("Value Percentile TotalCount 1/(1-Percentile)")
  for index = 1, #latency do
    local micros, count = latency(index)
    counted = counted + count
    print(string.format("%.3f %.9f %d", micros / 1000, counted / all, counted))
  end
  print("#[errors " .. summary.errors.status + summary.errors.connect + summary.errors.read
    + summary.errors.write + summary.errors.timeout .. "]")
end
