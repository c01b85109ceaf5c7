#!/bin/sh
# There is no download yet: the programs of a release, or of `make build`, must be in PATH.
for program in hugewise hugewise-lab; do
  command -v $program > /dev/null || { echo "ERROR: $program is not in PATH"; echo 2 > ~/install-exit-status; exit; }
done

cat > hugewise <<'END'
#!/bin/sh
# Each trial is a line of the log; the report stands above them.
rm -f bench.txt
eval "hugewise run --quiet --stdin /dev/null --max-time ${HUGEWISE_MAX_TIME:-5m} --policy as-is --policy thp=never --export benchfmt=bench.txt \
  -- ${HUGEWISE_COMMAND:-hugewise-lab $*}" > "$LOG_FILE" 2>&1
echo $? > ~/test-exit-status
awk '/^Benchmark/ {
  arm = $1; sub(/^[^\/]*\/policy=/, "", arm); sub(/=/, "-", arm)
  for (i = 3; i < NF; i += 2) if ($(i + 1) == "sec/op") print arm ": " $i " seconds"
}' bench.txt >> "$LOG_FILE"
END
chmod +x hugewise
echo 0 > ~/install-exit-status
