package server

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// FuzzQueueQuery: what is read is within its bounds; what is not, names a field and a rule.
func FuzzQueueQuery(f *testing.F) {
	for _, seed := range []string{"", "limit=0&pool=", "namespace=a&reason=queued", "limit=1&limit=2", "limit=%zz", "pool=RACK;x=1", "\x00=1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		q, fault := parseQueueQuery(raw)
		if fault != nil {
			if fault.Field == "" || fault.Rule == "" || len(fault.Field)+len(fault.Value) > 1000 {
				t.Errorf("%q: %+v", raw, fault)
			}
			return
		}
		if q.Limit < 0 || q.Limit > maxQueueRows || q.Pool != strings.ToLower(q.Pool) ||
			strings.Contains(raw, "reason=") && q.Reason != "" && !slices.Contains(api.Reasons(), q.Reason) {
			t.Errorf("%q: %+v", raw, q)
		}
	})
}

// FuzzLastEventID: whatever a reader says that it has seen, it is sent well-formed events: a gap, or those that
// are kept, and of these none twice.
func FuzzLastEventID(f *testing.F) {
	d := seen()
	for n := range 3 {
		d.events = append(d.events, api.Event{Seq: uint64(n + 5)})
	}
	s := made(f, d)
	for _, seed := range []string{"", "5", "-", s.eventsOf, s.eventsOf + "-5", s.eventsOf + "-18446744073709551615", s.eventsOf + "--1", "x-1"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, last string) {
		e := s.newEventReader(last)
		text := e.next(time.Unix(0, 0))
		ours := strings.HasPrefix(last, s.eventsOf+"-")
		if told := bytes.Contains(text, []byte("event: gap\n")); !told && !ours && last != "" {
			t.Errorf("%q: nothing of what it missed: %s", last, text)
		}
		if again := e.next(time.Unix(0, 0)); bytes.Contains(again, []byte("event: event\n")) {
			t.Errorf("%q: told again: %s", last, again)
		}
		for block := range strings.SplitSeq(strings.TrimSuffix(string(text), "\n\n"), "\n\n") {
			for line := range strings.SplitSeq(block, "\n") {
				name, value, ok := strings.Cut(line, ": ")
				if !ok || !slices.Contains([]string{"retry", "event", "id", "data"}, name) || name == "data" && !json.Valid([]byte(value)) {
					t.Errorf("%q: line %q", last, line)
				}
			}
		}
	})
}
