#!/bin/sh
# There is no download yet: the programs of a release, or of `make build`, must be in PATH.
for program in hugewise hugewise-lab; do
  command -v $program > /dev/null || { echo "ERROR: $program is not in PATH"; echo 2 > ~/install-exit-status; exit; }
done

cat > hugewise <<'SCRIPT'
#!/bin/sh
# The log has the report, then the median of each policy: a mean would follow the slowest trials of a noisy machine.
rm -f bench.txt
eval "hugewise run --quiet --stdin /dev/null --wait 10m --max-time ${HUGEWISE_MAX_TIME:-5m} --policy as-is --policy thp=never --export benchfmt=bench.txt \
  -- ${HUGEWISE_COMMAND:-hugewise-lab $*}" > "$LOG_FILE" 2>&1
echo $? > ~/test-exit-status
awk '/^Benchmark/ {
  arm = $1; sub(/^[^\/]*\/policy=/, "", arm); sub(/=/, "-", arm)
  for (i = 3; i < NF; i += 2) if ($(i + 1) == "sec/op") print arm, $i
}' bench.txt | sort -k1,1 -k2,2g | awk '
  function median() { if (n) print arm ": " (n % 2 ? value[(n + 1) / 2] : (value[n / 2] + value[n / 2 + 1]) / 2) " seconds" }
  $1 != arm { median(); arm = $1; n = 0 }
  { value[++n] = $2 }
  END { median() }' >> "$LOG_FILE"
SCRIPT
chmod +x hugewise
echo 0 > ~/install-exit-status
