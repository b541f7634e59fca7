package httpserve

import (
	"math"
	"testing"
)

// Whatever the limit: what all listeners and the gateway's connections to Ironic take
// together leaves the process its own.
func TestConnectionsFitTheDescriptors(t *testing.T) {
	for _, c := range []struct {
		descriptors uint64
		want        int
	}{
		{64, 4}, {0, 4}, {256, 36}, {1024, 164}, {4096, 676}, {6184, MaxConns}, {1 << 20, MaxConns}, {math.MaxUint64, MaxConns},
	} {
		got := ConnsWithin(c.descriptors)
		if got != c.want {
			t.Errorf("%d descriptors: %d connections for each listener, want %d", c.descriptors, got, c.want)
		}
		if taken := uint64(shares*got + ownDescriptors); c.descriptors >= 64 && taken > c.descriptors {
			t.Errorf("%d descriptors: %d may be taken", c.descriptors, taken)
		}
	}
}
