#!/bin/sh
# Builds the BareMetal Operator that the tests run, as it was released, from Go modules
# alone, of the version in go.mod beside this file; its CustomResourceDefinitions are
# copied beside it. They land in a folder of the user's cache, named by the version, which all
# clones share; a second run has nothing to do.
#
# Prints the folder. Cold it takes about six minutes on two cores.
set -eu
cd "$(dirname "$0")"

go=${GO:-go}
module=github.com/metal3-io/baremetal-operator
version=$(sed -n "s|^.*$module \(v[0-9.]*\).*|\1|p" go.mod)
[ -n "$version" ] || { echo "install-bmo: go.mod names no version of $module" >&2; exit 1; }
folder=${XDG_CACHE_HOME:-$HOME/.cache}/ironic-throttle/bmo-$version
mkdir -p "$folder"

if ! [ -d "$folder/crds" ]; then
	source=$("$go" mod download -json "$module@$version" | sed -n 's|^.*"Dir": "\(.*\)".*|\1|p')
	mkdir -p "$folder/.crds.$$"
	cp "$source"/config/base/crds/bases/*.yaml "$folder/.crds.$$/"
	chmod u+w "$folder/.crds.$$"/*
	mv -T "$folder/.crds.$$" "$folder/crds" || [ -d "$folder/crds" ] # whole or not at all
fi
if ! [ -x "$folder/baremetal-operator" ]; then
	echo "install-bmo: building baremetal-operator of $version" >&2
	CGO_ENABLED=0 "$go" build -trimpath -ldflags "-s -w" -o "$folder/.operator.$$" "$module"
	mv "$folder/.operator.$$" "$folder/baremetal-operator"
fi
echo "$folder"
