package api_test

import (
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Hour: "0s", 0: "0s", time.Millisecond: "1s", 45400 * time.Millisecond: "45s", 59700 * time.Millisecond: "1m",
		12*time.Minute + 59*time.Second: "12m", time.Hour: "1h", 65 * time.Minute: "1h5m", 47 * time.Hour: "1d23h",
		48 * time.Hour: "2d", 76 * time.Hour: "3d4h",
	} {
		if got := api.Age(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
	if got, want := api.Instant(time.Date(2026, 11, 21, 1, 0, 0, 999, time.FixedZone("CET", 3600))), "2026-11-21T00:00:00Z"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
