#!/bin/sh
# A fake Ironic and the throttle beside it, on loopback; when one ends, both do.
# BINARY and LAB are the programs, NODES how many nodes the fake has (see make run).
set -eu
ironic=127.0.0.1:6385

stop() {
  trap - INT TERM EXIT
  kill $fake $throttle 2>/dev/null || true
  wait
  rm -rf "$scratch"
}
fake='' throttle=''
scratch=$(mktemp -d)
trap 'stop; exit 0' INT TERM
trap stop EXIT

"$LAB" fake-ironic --listen "$ironic" --nodes "$NODES" --ready-file "$scratch/fake" &
fake=$!
# Not before the fake listens: somebody else may be at that address.
until [ -e "$scratch/fake" ]; do
  kill -0 "$fake" 2>/dev/null || exit 1
  sleep 0.1
done
IRONIC_ENDPOINT="http://$ironic/v1/" "$BINARY" serve --health-probe-bind-address 127.0.0.1:9441 &
throttle=$!
echo "Ironic (fake): http://$ironic/v1   throttle: http://127.0.0.1:8087/ (page, /v1/status, /v1/queue)   Ctrl-C ends both" >&2
while kill -0 "$fake" 2>/dev/null && kill -0 "$throttle" 2>/dev/null; do
  sleep 0.5
done
exit 1
