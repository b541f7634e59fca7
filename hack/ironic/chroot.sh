#!/bin/sh
# Makes the Debian 13 (trixie) in which internal/rig/realironic runs Ironic 29, beside the
# machine's own Debian 12 with Ironic 21: a folder outside of the repository, which all
# clones of it share. Prints that folder. The programs of MariaDB are there too: realironic
# starts a server of its own for each Ironic that is to have one (Options.MariaDB).
#
#   IRONIC_CHROOT   the folder (default /var/cache/ironic-throttle/trixie)
#
# Needs root and an apt that works. Mirror, proxies, certificates and passwords are those
# of this machine's apt, and nothing else uses the network. Took 4 min 36 s on two busy
# cores, and 587 MB, 62 of them for MariaDB; a second run has nothing to do, and one after a kill begins anew.
#
# Nothing is ever mounted in the folder, so `rm -rf` is safe: while it is built /proc, /sys
# and /dev are there in a mount namespace that ends with the build, and Ironic needs none
# of them but the plain /dev/null and the like that are made there: the file system must
# not be mounted nodev.
set -eu
umask 022

recipe=2 # counts up when what is below makes something else
root=${IRONIC_CHROOT:-/var/cache/ironic-throttle/trixie}
packages=ironic-api,ironic-conductor,sqlite3,apache2-utils,mariadb-server-core,mariadb-client-core,python3-pymysql

say() { printf 'ironic-chroot: %s\n' "$*" >&2; }
die() { say "$@"; exit 1; }
ready() { [ "$(cat "$root/.ironic-throttle" 2>/dev/null)" = "$recipe" ]; }

case $root in
/?*) ;;
*) die "IRONIC_CHROOT=$root: must be an absolute path" ;;
esac
if ready; then
	echo "$root"
	exit 0
fi
[ "$(id -u)" = 0 ] || die "must run as root to make $root"
command -v apt-get >/dev/null 2>&1 || die "this script knows Debian only (no apt-get here)"

# One at a time.
mkdir -p "$(dirname "$root")"
exec 9>"$root.lock"
flock 9
if ready; then # somebody else has made it
	echo "$root"
	exit 0
fi
[ ! -e "$root" ] || [ -e "$root/.ironic-throttle" ] || die "$root is there and was not made here: remove it, or set IRONIC_CHROOT"

export DEBIAN_FRONTEND=noninteractive
apt="apt-get -q -o Acquire::Retries=3"

# What this machine calls Debian: the label of a repository, its address.
repository() {
	apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' "Label: $1" | head -n 1
}
mirror=$(repository Debian)
if [ -z "$mirror" ] || ! command -v mmdebstrap >/dev/null 2>&1; then
	$apt update >&2
	mirror=$(repository Debian)
	command -v mmdebstrap >/dev/null 2>&1 ||
		$apt -y -o DPkg::Lock::Timeout=300 -o Dpkg::Use-Pty=0 install --no-install-recommends mmdebstrap >&2
fi
[ -n "$mirror" ] || die "apt on this machine knows no repository of Debian"
security=$(repository Debian-Security)

new=$root.new
rm -rf "$new"
settings=$root.apt # it may have a password
(umask 077 && : >"$settings")
trap 'rm -rf "$settings" "$new"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
apt-config dump | grep '^Acquire::' | grep -v '^Acquire::\(IndexTargets\|Changelogs\|CompressionTypes\)' >"$settings"
echo 'Acquire::Retries "3";' >>"$settings"

say "making $root from $mirror"
# No pages for people, and no compiling of all Python modules: that takes longer than
# everything else. A kill of this script ends the build with it.
setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child --mount-proc \
	mmdebstrap --mode=root --variant=essential --format=directory --skip=cleanup/apt/lists \
	--aptopt="$settings" --dpkgopt=force-unsafe-io \
	--dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
	--dpkgopt='path-exclude=/usr/share/locale/*' --dpkgopt='path-exclude=/usr/bin/py3compile' \
	--essential-hook='printf "#!/bin/sh\n" >"$1/usr/bin/py3compile" && chmod +x "$1/usr/bin/py3compile"' \
	--setup-hook='for f in /etc/apt/auth.conf /etc/apt/auth.conf.d; do [ ! -e "$f" ] || cp -a "$f" "$1/etc/apt/"; done' \
	--include="$packages" trixie "$new" \
	"deb $mirror trixie main" ${security:+"deb $security trixie-security main"} >&2

# What apt was told may be a secret, and is needed no more.
rm -rf "$new/etc/apt" "$new/var/lib/apt/lists" "$new/var/cache/apt"

# 29.0.5 sets parent_node of a node to the node itself at every PATCH, and then refuses to
# power it off (ChildNodeLocked). Later ones have this condition.
node=$new/usr/lib/python3/dist-packages/ironic/api/controllers/v1/node.py
before="            corrected_values['parent_node'] = parent_node.uuid"
[ "$(grep -cxF "$before" "$node")" = 1 ] || die "parent_node in $node is not as expected: is this another Ironic than 29.0.5?"
sed -i "s/^$(printf %s "$before" | sed 's/[][]/\\&/g')\$/            if parent_node.uuid != rpc_node.uuid:\\n    &/" "$node"
grep -qxF "    $before" "$node" || die "the fix of parent_node did not take"

# Those that Ironic loads are compiled now, so that its first start is no slower than others.
chroot "$new" python3 -W ignore -c '
from importlib.metadata import distribution
for entry in distribution("ironic").entry_points:
    try:
        entry.load()
    except ImportError:
        pass  # a driver of which the library is only suggested
' >&2 || die "the Ironic in $new cannot be loaded"

echo "$recipe" >"$new/.ironic-throttle"
rm -rf "$root"
mv "$new" "$root"
say "done: $(sed -n '/^Package: ironic-api$/,/^$/s/^Version: /ironic-api /p' "$root/var/lib/dpkg/status")"
echo "$root"
