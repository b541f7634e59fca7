#!/bin/sh
# make release-check: builds the release of this commit twice and compares the bytes. The second time it is a
# clone in another folder, with an empty build cache, so that neither path nor cache can hide a difference.
set -eu
cd "$(dirname "$0")/../.."
dir=$(mktemp -d)
trap 'chmod -R u+w "$dir"; rm -rf "$dir"' EXIT

git clone -q --no-hardlinks . "$dir/another-folder"
make --no-print-directory release RELEASE_FLAGS="$RELEASE_FLAGS -out $dir/first"
GOCACHE="$dir/cache" make --no-print-directory -C "$dir/another-folder" release RELEASE_FLAGS="$RELEASE_FLAGS -out $dir/second"

diff "$dir/first/SHA256SUMS" "$dir/second/SHA256SUMS" || {
  echo "release-check: the same commit gave other bytes (a tree with changes does, too)"
  exit 1
}
(cd "$dir/second" && sha256sum --quiet -c SHA256SUMS)
echo "release-check: $(wc -l <"$dir/first/SHA256SUMS") files, twice the same bytes"
