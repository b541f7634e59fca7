package leader

import (
	"net/http"
	"testing"
	"time"
)

func TestWhoLeads(t *testing.T) {
	fault := http.ErrServerClosed
	seen := time.Date(2026, 11, 22, 3, 4, 5, 0, time.UTC)
	for _, row := range []struct {
		s    Status
		want string
	}{
		{Status{Identity: "a"}, "nobody leads yet"},
		{Status{Identity: "a", Err: fault}, "nobody leads, as far as is known: http: Server closed"},
		{Status{Identity: "a", Holder: "b", Seen: seen}, "b leads"},
		{Status{Identity: "a", Holder: "b", Seen: seen, Err: fault}, "b led when the Lease was seen last, at 03:04:05Z; since then: http: Server closed"},
		{Status{Identity: "a", Holder: "a", Seen: seen}, "it leads no more: its Lease could not be renewed in time"},
	} {
		if got := row.s.Standby(); got != row.want {
			t.Errorf("%q, want %q", got, row.want)
		}
	}
}
