package api

import (
	"fmt"
	"time"
)

// Age is d as people read it, in its two largest units: 45s, 12m, 1h5m, 3d4h. What is less than a second counts as one.
func Age(d time.Duration) string {
	const day = 24 * time.Hour
	if d > 0 {
		d = max(d.Round(time.Second), time.Second)
	}
	switch d = max(d, 0); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < day:
		return two(d/time.Hour, "h", d%time.Hour/time.Minute, "m")
	}
	return two(d/day, "d", d%day/time.Hour, "h")
}

// Seconds is Age of a number of seconds.
func Seconds(s float64) string { return Age(time.Duration(s * float64(time.Second))) }

// Instant is t as people read it: RFC 3339 in UTC, to the second.
func Instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func two(large time.Duration, unit string, small time.Duration, smallUnit string) string {
	if small == 0 {
		return fmt.Sprintf("%d%s", large, unit)
	}
	return fmt.Sprintf("%d%s%d%s", large, unit, small, smallUnit)
}
