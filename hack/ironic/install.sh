#!/bin/sh
# Installs what a Debian 12 machine needs to run a real Ironic for `make e2e`:
# the packages only. Ironic's services are neither started nor left enabled,
# nothing in /etc/ironic is used, and a second run has nothing to do.
#
# Needs root and an apt that works. internal/realironic starts what is
# installed here.
set -eu

packages="ironic-api ironic-conductor sqlite3 apache2-utils"
policy=/usr/sbin/policy-rc.d
saved=""
ours=""

say() { printf 'install-ironic: %s\n' "$*"; }
die() { printf 'install-ironic: %s\n' "$*" >&2; exit 1; }

missing() {
	for p in $packages; do
		state=$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null) || state=""
		[ "$state" = installed ] || printf '%s ' "$p"
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

say "installing: $want"
export DEBIAN_FRONTEND=noninteractive
apt-get -q -o Acquire::Retries=3 update
forbid_services
# shellcheck disable=SC2086 # a list of words is meant
apt-get -q -y -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 -o Dpkg::Options::=--force-confold \
	-o Dpkg::Use-Pty=0 install --no-install-recommends $want
restore_services

# Enabled by the packages; ours are started by hand, never at boot.
for unit in ironic-api ironic-conductor; do
	case " $want" in
	*" $unit "*) deb-systemd-helper disable "$unit.service" >/dev/null || say "could not disable $unit.service" ;;
	esac
done

want=$(missing)
[ -z "$want" ] || die "still missing after the install: $want"
say "done: $(dpkg-query -W -f '${Package} ${Version}, ' $packages)no service started"
