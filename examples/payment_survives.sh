#!/usr/bin/env bash
# Runs the payment example again and again, killed with SIGKILL after each line that it writes to its ledger, and checks that
# every charge carries the same key, that the order ends, and that what was recorded was not done again.
#
# usage: payment_survives.sh PATH-OF-example_payment
set -euo pipefail
program=$(realpath "${1:?usage: payment_survives.sh PATH-OF-example_payment}")
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

deaths=0
for die_at in 1 2 3 4 5 6; do
  status=0
  PAYMENT_DIE_AT=$die_at "$program" "sqlite:$place/orders.db" "$place/ledger.txt" >"$place/out" 2>&1 || status=$?
  [[ $status -eq 137 ]] && deaths=$((deaths + 1)) && continue
  [[ $status -eq 0 ]] || { cat "$place/out"; echo "the example failed with status $status"; exit 1; }
  break
done

cat "$place/ledger.txt"
keys=$(grep '^charge ' "$place/ledger.txt" | sort -u | wc -l)
[[ $keys -eq 1 ]] || { echo "the charges carry $keys different keys"; exit 1; }
[[ $deaths -ge 3 ]] || { echo "it died only $deaths times"; exit 1; }
grep -q '^o-1 charge-' "$place/out" || { cat "$place/out"; echo "there is no receipt"; exit 1; }
echo "killed $deaths times; one order, one charge key, one receipt"
