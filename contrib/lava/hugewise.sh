#!/bin/sh
# One experiment as LAVA test cases: the answer and each condition from KTAP, and the medians of each policy as
# measurements. Without LAVA it prints the signals that LAVA reads. hugewise.yaml describes the variables.
set -u

# shellcheck disable=SC2034 # eval reads it
hugewise=${HUGEWISE:-hugewise}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

report() { # NAME RESULT [VALUE UNITS]
  if command -v lava-test-case >/dev/null 2>&1; then
    lava-test-case "$1" --result "$2" ${3:+--measurement "$3"} ${4:+--units "$4"}
  else
    echo "<LAVA_SIGNAL_TESTCASE TEST_CASE_ID=$1 RESULT=$2${3:+ MEASUREMENT=$3}${4:+ UNITS=$4}>"
  fi
}

# LAVA allows letters, digits and a few signs in names.
name() {
  printf %s "$1" | sed 's/ > +*/-above-/; s/ < -*/-below-/; s/%/pct/g; s/[^A-Za-z0-9_.-]/_/g'
}

set -- run --quiet --stdin /dev/null --max-time "${MAX_TIME:-5m}" --wait 10m \
  --export "ktap=$folder/ktap" --export "benchfmt=$folder/bench"
for policy in ${POLICIES:-}; do set -- "$@" --policy "$policy"; done
old=$IFS
IFS=';'
# shellcheck disable=SC2086 # conditions are separated by semicolons
for condition in ${FAIL_IF:-}; do set -- "$@" --fail-if "${condition# }"; done
IFS=$old
# Words of a shell, with quotes.
eval "\"\$hugewise\" \"\$@\" -- ${COMMAND:?is not set}"
code=$?

case $code in
  0 | 5) report hugewise pass ;;
  4) report hugewise skip ;;
  *) report hugewise fail ;;
esac
[ -s "$folder/ktap" ] || exit 0

while IFS= read -r line; do
  case $line in
    "ok "*" # SKIP "*) result=skip ;;
    "ok "*) result=pass ;;
    "not ok "*) result=fail line=${line#not } ;;
    *) continue ;;
  esac
  line=${line#ok * }
  report "$(name "${line%% # *}")" "$result"
done <"$folder/ktap"

# A line a trial: the name, a one, then pairs of value and unit.
for unit in sec/op peak-rss-B; do
  awk -v unit="$unit" '/^Benchmark/ {
    arm = $1; sub(/^[^\/]*\/(policy=)?/, "", arm)
    for (i = 3; i < NF; i += 2) if ($(i + 1) == unit) print arm, $i
  }' "$folder/bench" | sort -k1,1 -k2,2g | awk '
    function median() { if (n) print arm, n % 2 ? value[(n + 1) / 2] : (value[n / 2] + value[n / 2 + 1]) / 2 }
    $1 != arm { median(); arm = $1; n = 0 }
    { value[++n] = $2 }
    END { median() }' >"$folder/medians"
  case $unit in
    sec/op) metric=wall_seconds units=seconds ;;
    *) metric=peak_rss_bytes units=bytes ;;
  esac
  while read -r arm median; do
    report "$(name "$metric.$arm")" pass "$median" "$units"
  done <"$folder/medians"
done
