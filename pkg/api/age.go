package api

import (
	"fmt"
	"strings"
	"time"
)

// Age returns d as people read it, in its two largest units: 45s, 12m, 1h5m, 3d4h. Less than a second becomes 1s, and
// less than nothing 0s.
func Age(d time.Duration) string {
	const day = 24 * time.Hour
	if d > 0 {
		d = max(d.Round(time.Second), time.Second)
	}
	switch d = max(d, 0); {
	case d >= day && d%day < time.Hour:
		return fmt.Sprintf("%dd", d/day)
	case d >= day:
		return fmt.Sprintf("%dd%dh", d/day, d%day/time.Hour)
	case d >= time.Minute:
		d = d.Truncate(time.Minute)
	}
	return strings.NewReplacer("h0m0s", "h", "m0s", "m").Replace(d.String())
}

// Seconds returns a number of seconds as Age does.
func Seconds(s float64) string { return Age(time.Duration(s * float64(time.Second))) }

// Instant returns t as people read it: RFC 3339 in UTC, to the second.
func Instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }
