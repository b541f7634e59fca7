#!/bin/sh
# Builds throttled-provisioner.so inside a checkout of the BareMetal Operator (BMO_SRC), from
# v0.14 on, and lets the operator's own test load it. The checkout is only read: our files and
# pkg/api are laid over it. A plugin loads into the operator that was built from the same folder,
# by the same Go, with the same flags (GOFLAGS, CGO_ENABLED=1).
#
# Prints the path of the plugin.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
[ -d "${BMO_SRC:-}/cmd/plugin-load-test" ] || {
	echo "build-plugin: BMO_SRC=\"${BMO_SRC:-}\" must be a checkout of baremetal-operator that has provisioner plugins (from v0.14 on)" >&2
	exit 2
}
go=${GO:-go}
client=github.com/ironic-throttle/ironic-throttle/pkg/api
plugin=$(cd "$here/.." && pwd)/bin/plugins/throttled-provisioner.so
mkdir -p "$(dirname "$plugin")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$BMO_SRC"
export CGO_ENABLED=1

cp go.mod go.sum "$work/"
"$go" mod edit -require=$client@v0.0.0 -replace=$client="$here/../pkg/api" "$work/go.mod"
at=$(pwd)/pkg/provisioner/throttled
{
	printf '{"Replace": {"%s": "%s"' "$at/main.go" "$here/_bmo/main.go"
	for file in "$here"/asker/*.go; do
		printf ', "%s": "%s"' "$at/asker/${file##*/}" "$file"
	done
	echo '}}'
} >"$work/overlay.json"
echo "build-plugin: building the plugin, then the operator's load test" >&2
"$go" build -buildmode=plugin -modfile="$work/go.mod" -overlay="$work/overlay.json" -o "$plugin" ./pkg/provisioner/throttled
"$go" build -o "$work/load" ./cmd/plugin-load-test

# The test makes a provisioner, which wants an Ironic that answers: the fake one.
cd "$here/.."
"$go" build -o "$work/lab" ./cmd/ironic-throttle-lab
"$work/lab" fake-ironic --listen 127.0.0.1:0 --max-minor 110 --ready-file "$work/ready" &
trap 'kill $! 2>/dev/null || true; rm -rf "$work"' EXIT
until [ -e "$work/ready" ]; do
	kill -0 $! || exit 1
	sleep 0.1
done
IRONIC_ENDPOINT=$(sed 's|^.*"api":"\([^"]*\)".*$|\1/|' "$work/ready") METAL3_AUTH_ROOT_DIR=/nonexistent \
	DEPLOY_KERNEL_URL=http://127.0.0.1:9/kernel DEPLOY_RAMDISK_URL=http://127.0.0.1:9/ramdisk \
	"$work/load" "$plugin" throttled >&2
echo "$plugin"
