#!/bin/sh
# Installs Debian's Chromium and a font, with which `make e2e` looks at the page, and gets axe-core
# from npm. A second run has nothing to do. Needs root and an apt that works.
set -eu

packages="chromium chromium-sandbox fonts-dejavu-core"

say() { printf 'install-chromium: %s\n' "$*"; }
die() { printf 'install-chromium: %s\n' "$*" >&2; exit 1; }

missing() {
	for p in $packages; do
		state=$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null) || state=""
		[ "$state" = installed ] || printf '%s ' "$p"
	done
}

command -v dpkg-query >/dev/null 2>&1 || die "this script knows Debian only (no dpkg-query here)"

want=$(missing)
if [ -z "$want" ]; then
	say "nothing to install: $packages are there"
else
	[ "$(id -u)" = 0 ] || die "must run as root to install: $want"
	say "installing: $want"
	export DEBIAN_FRONTEND=noninteractive
	apt-get -q -o Acquire::Retries=3 update
	# shellcheck disable=SC2086 # a list of words is meant
	apt-get -q -y -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 install --no-install-recommends $want
	want=$(missing)
	[ -z "$want" ] || die "still missing after the install: $want"
fi

# axe-core finds what people who cannot see or cannot use a mouse would stumble over. Where npm is not
# there the suite does without.
version=4.14.1
sum=e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745
axe=bin/axe-$version
cd "$(dirname "$0")/../.."
[ ! -e "$axe/axe.min.js" ] || exit 0
command -v npm >/dev/null 2>&1 || { say "no npm, so no axe-core"; exit 0; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
npm pack --silent --pack-destination "$scratch" "axe-core@$version" >/dev/null || { say "axe-core cannot be had from npm"; exit 0; }
echo "$sum  $scratch/axe-core-$version.tgz" | sha256sum -c --quiet || die "axe-core $version is not the one that was looked at"
tar -xzf "$scratch/axe-core-$version.tgz" -C "$scratch" package/axe.min.js
mkdir -p "$axe"
mv "$scratch/package/axe.min.js" "$axe/"
say "axe-core $version is in $axe"
