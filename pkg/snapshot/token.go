package snapshot

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"sync/atomic"
)

// Token is what a probe says of the source: equal tokens mean that nothing changed.
// Tokens are compared, never ordered. The zero Token is that of a cache without a probe.
type Token [16]byte

// The top bit of the first byte keeps the tokens of Unlike apart from those of TokenOf.
const unlikeBit = 0x80

// TokenOf returns the token of parts, a hash of 127 bits. Where one part ends and the
// next begins counts.
func TokenOf(parts ...[]byte) Token {
	h := sha256.New()
	var size [8]byte
	for _, p := range parts {
		binary.BigEndian.PutUint64(size[:], uint64(len(p)))
		h.Write(size[:])
		h.Write(p)
	}
	var sum [sha256.Size]byte
	t := Token(h.Sum(sum[:0])[:len(Token{})])
	t[0] &^= unlikeBit
	return t
}

// Unlike returns a token that differs from every other one of this process. A probe that cannot
// tell whether something changed returns it, and the source is listed.
func Unlike() Token {
	var t Token
	binary.BigEndian.PutUint64(t[:8], boot)
	binary.BigEndian.PutUint64(t[8:], unlikes.Add(1))
	t[0] |= unlikeBit
	return t
}

var (
	// boot differs from start to start, so that what a client kept from before a
	// restart matches nothing (GC-18).
	boot    = random()
	unlikes atomic.Uint64
	// epochs counts the entries of all caches, from boot on: no two have the same.
	epochs = func() *atomic.Uint64 {
		var n atomic.Uint64
		n.Store(boot)
		return &n
	}()
)

func random() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails: the process ends instead
	return binary.BigEndian.Uint64(b[:])
}

// Generation identifies the state of the source and the overlay that a snapshot shows. It is
// only ever compared field by field with ==: sums and hashes of counters cancel out (GC-3).
type Generation struct {
	// Epoch is another one after a restart, and for a key that was dropped and
	// came again (GC-11, GC-18).
	Epoch uint64
	// Probe is what the probe said before the list began.
	Probe Token
	// Events counts Bumps of the key.
	Events uint64
	// Overlay counts the key's revisions of the overlay.
	Overlay uint64
}
