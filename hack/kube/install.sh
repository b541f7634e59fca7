#!/bin/sh
# Builds what the tests run as a Kubernetes: kube-apiserver and etcd, from Go
# modules alone, of the versions in go.mod beside this file. They land in a folder of the user's
# cache, named by the version, which all clones share; a second run has nothing to do.
#
# Prints the folder, for KUBEBUILDER_ASSETS. Cold it takes about five minutes on two
# cores and 2.2 GB of build cache.
set -eu
cd "$(dirname "$0")"

go=${GO:-go}
version=$(sed -n 's|^.*k8s.io/kubernetes \(v[0-9.]*\).*|\1|p' go.mod)
[ -n "$version" ] || { echo "install-kube: go.mod names no version of k8s.io/kubernetes" >&2; exit 1; }
assets=${XDG_CACHE_HOME:-$HOME/.cache}/ironic-throttle/kube-$version

# The server tells its version by these; without them it would be v0.0.0-master.
minor=${version#v*.}
stamp="-X k8s.io/component-base/version.gitVersion=$version
 -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=${minor%%.*}"

mkdir -p "$assets"
build() { # name, package
	[ -x "$assets/$1" ] && return 0
	echo "install-kube: building $1 of $version" >&2
	CGO_ENABLED=0 "$go" build -trimpath -ldflags "-s -w $(echo $stamp)" -o "$assets/.$1.$$" "$2"
	mv "$assets/.$1.$$" "$assets/$1" # whole or not at all
}
build etcd go.etcd.io/etcd/server/v3
build kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver
echo "$assets"
