#!/bin/sh
# Installs what a Debian 12 machine needs to run a real Ironic for `make e2e`, its
# clients, nginx to compare the gateway with, and Prometheus to ask the dashboard's and the
# alerts' questions: the packages only. No service is started or left enabled, nothing of
# theirs in /etc is used, and a second run has nothing to do.
#
# Needs root and an apt that works. internal/rig/realironic starts what is
# installed here.
set -eu

packages="ironic-api ironic-conductor sqlite3 apache2-utils python3-ironicclient nginx-light prometheus"
# Services that come with them, and the package of each.
units="ironic-api:ironic-api ironic-conductor:ironic-conductor nginx:nginx-common prometheus:prometheus"
policy=/usr/sbin/policy-rc.d
saved=""
ours=""

say() { printf 'install-ironic: %s\n' "$*"; }
die() { printf 'install-ironic: %s\n' "$*" >&2; exit 1; }

installed() {
	state=$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) || state=""
	[ "$state" = installed ]
}

missing() {
	for p in $packages; do
		installed "$p" || printf '%s ' "$p"
	done
}

# Units of which the package is not here yet: one that was here before stays as it
# is.
fresh() {
	for u in $units; do
		installed "${u#*:}" || printf '%s ' "${u%%:*}"
	done
}

# Debian starts a service as soon as it is unpacked unless policy-rc.d says no.
# A policy that was here before comes back as it was.
forbid_services() {
	if [ -e "$policy" ] || [ -L "$policy" ]; then
		saved=$policy.before-ironic-throttle.$$
		mv "$policy" "$saved"
	fi
	ours=yes
	printf '#!/bin/sh\nexit 101\n' >"$policy"
	chmod 0755 "$policy"
}

restore_services() {
	[ -n "$ours" ] || return 0
	rm -f "$policy"
	[ -z "$saved" ] || mv "$saved" "$policy"
	ours=""
}

command -v dpkg-query >/dev/null 2>&1 || die "this script knows Debian only (no dpkg-query here)"

want=$(missing)
if [ -z "$want" ]; then
	say "nothing to do: $packages are installed"
	exit 0
fi
[ "$(id -u)" = 0 ] || die "must run as root to install: $want"

trap restore_services EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

new=$(fresh)
say "installing: $want"
export DEBIAN_FRONTEND=noninteractive
apt-get -q -o Acquire::Retries=3 update
forbid_services
# shellcheck disable=SC2086 # a list of words is meant
apt-get -q -y -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 -o Dpkg::Options::=--force-confold \
	-o Dpkg::Use-Pty=0 install --no-install-recommends $want
restore_services

# Enabled by the packages; ours are started by hand, never at boot.
for unit in $new; do
	DPKG_MAINTSCRIPT_PACKAGE=ironic-throttle deb-systemd-helper disable "$unit.service" >/dev/null || say "could not disable $unit.service"
done

want=$(missing)
[ -z "$want" ] || die "still missing after the install: $want"
say "done: $(dpkg-query -W -f '${Package} ${Version}, ' $packages)no service started"
