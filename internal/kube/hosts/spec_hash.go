package hosts

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// specParts is what a person changes to mend a host that fails (BO-11). Image (or what
// is deployed instead), RAID and firmware are taken whole, so that a field which a later version of the API adds counts
// too.
type specParts struct {
	image, custom, raid, firmware       []byte
	bmcAddress                          string
	credentialsName, credentialsVersion string
}

// specScheme names how specs are hashed. It changes with every change of specParts: holds
// of before then learn the new hash, and none is released by it.
const specScheme = "k1"

// bare reports whether nothing is to be deployed.
func (s *specParts) bare() bool { return s.image == nil && s.custom == nil }

// hash tells apart any two different specs, as holdoff compares them: first what is to be
// deployed, and "-" where that is nothing, for a host from which the image is taken is the
// same when it has it again; then the rest.
func (s *specParts) hash() string {
	image := "-"
	if !s.bare() {
		image = sumOf(s.image, s.custom)
	}
	return specScheme + ":" + image + "/" +
		sumOf(s.raid, s.firmware, []byte(s.bmcAddress), []byte(s.credentialsName), []byte(s.credentialsVersion))
}

// sumOf is a short hash of parts, each with its length before it, so that none can run
// into the next.
func sumOf(parts ...[]byte) string {
	sum := sha256.New()
	for _, part := range parts {
		sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(part))))
		sum.Write(part)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}
