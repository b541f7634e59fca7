#!/bin/sh
# Installs Debian's Chromium and a font, with which `make e2e` looks at the page: the packages
# only. A second run has nothing to do. Needs root and an apt that works.
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
	say "nothing to do: $packages are installed"
	exit 0
fi
[ "$(id -u)" = 0 ] || die "must run as root to install: $want"

say "installing: $want"
export DEBIAN_FRONTEND=noninteractive
apt-get -q -o Acquire::Retries=3 update
# shellcheck disable=SC2086 # a list of words is meant
apt-get -q -y -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 install --no-install-recommends $want

want=$(missing)
[ -z "$want" ] || die "still missing after the install: $want"
say "done: $(dpkg-query -W -f '${Package} ${Version}, ' $packages)nothing else is touched"
