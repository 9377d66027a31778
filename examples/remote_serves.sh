#!/usr/bin/env bash
# Runs the remote worker against a server of its own, gives it an execution, reads its result, and stops both.
#
# usage: remote_serves.sh PATH-OF-example_remote
set -euo pipefail
program=$(realpath "${1:?usage: remote_serves.sh PATH-OF-example_remote}")
flowfabric=$(dirname "$program")/flowfabric
place=$(mktemp -d)
server='' worker=''
trap 'kill $server $worker 2>/dev/null || true; wait; rm -rf "$place"' EXIT

"$flowfabric" serve --store "sqlite:$place/jobs.db" --listen 127.0.0.1:0 >"$place/server.txt" 2>&1 &
server=$!
until grep -q 'FlowFabric serves' "$place/server.txt"; do
  kill -0 "$server" 2>/dev/null || { cat "$place/server.txt"; echo "the server did not start"; exit 1; }
  sleep 0.1
done
url=$(sed -n 's/^FlowFabric serves .* at //p' "$place/server.txt")

"$program" "$url" >"$place/worker.txt" 2>&1 &
worker=$!
id=$("$flowfabric" executions create --store "$url" --lane mail --kind send --payload '{"to": "ada@example.com"}')
until "$flowfabric" executions show "$id" --store "$url" --json | grep -q '"public_state":"completed"'; do
  kill -0 "$worker" 2>/dev/null || { cat "$place/worker.txt"; echo "the worker has ended"; exit 1; }
  sleep 0.1
done
kill -TERM "$worker"
status=0
wait "$worker" || status=$?
worker=''
[[ $status -eq 0 ]] || { cat "$place/worker.txt"; echo "the worker ended with status $status"; exit 1; }
grep -qx 'mail to ada@example.com' "$place/worker.txt" || { cat "$place/worker.txt"; echo "no mail was sent"; exit 1; }
"$flowfabric" executions show "$id" --store "$url" --result | tail -n 1
