#!/usr/bin/env bash
# Runs the payment example again and again, killed with SIGKILL inside each of its steps in turn, after the step's work is done
# and before it is recorded. Checks that every charge carries the same key, that the order ends, and that what was recorded was
# not done again.
#
# usage: payment_survives.sh PATH-OF-example_payment
set -euo pipefail
program=$(realpath "${1:?usage: payment_survives.sh PATH-OF-example_payment}")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

deaths=0
for die_at in 1 2 3 4; do
  status=0
  # In a shell of its own, so that bash does not report each death.
  bash -c '"$@"; exit $?' - env PAYMENT_DIE_AT=$die_at "$program" "sqlite:$place/orders.db" "$place/ledger.txt" \
    >"$place/out" 2>&1 || status=$?
  [[ $status -eq 137 ]] && deaths=$((deaths + 1)) && continue
  [[ $status -eq 0 ]] || { cat "$place/out"; echo "the example failed with status $status"; exit 1; }
  break
done

cat "$place/ledger.txt"
keys=$(grep '^charge ' "$place/ledger.txt" | sort -u | wc -l)
[[ $keys -eq 1 ]] || { echo "the charges carry $keys different keys"; exit 1; }
[[ $deaths -eq 3 ]] || { echo "it died $deaths times instead of 3"; exit 1; }
# Each step was done once before its death and once after it, and never again.
for step in charge ship mail; do
  times=$(grep -c "^$step " "$place/ledger.txt")
  [[ $times -eq 2 ]] || { echo "$step was done $times times instead of 2"; exit 1; }
done
grep -q '^o-1 charge-' "$place/out" || { cat "$place/out"; echo "there is no receipt"; exit 1; }
echo "killed $deaths times; one order, one charge key, one receipt"
