#!/bin/sh
# A fake Ironic and the throttle beside it, on loopback; both end together.
# BINARY is the program, NODES how many nodes the fake has (see make run).
set -eu
ironic=127.0.0.1:6385

stop() {
  trap - INT TERM EXIT
  kill "$fake" "$throttle" 2>/dev/null || true
  wait
}
fake='' throttle=''
trap 'stop; exit 0' INT TERM
trap stop EXIT

"$BINARY" fake-ironic --listen "$ironic" --nodes "$NODES" &
fake=$!
IRONIC_ENDPOINT="http://$ironic/v1/" "$BINARY" serve &
throttle=$!
echo "Ironic (fake): http://$ironic/v1   throttle: http://127.0.0.1:8087/v1/status   Ctrl-C ends both" >&2
wait "$throttle"
