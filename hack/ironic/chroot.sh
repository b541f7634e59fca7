#!/bin/sh
# Skeleton: prints where the chroot will be.
set -eu
echo "${IRONIC_CHROOT:-/var/cache/ironic-throttle/trixie}"
