package holdoff_test

import (
	"errors"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

// TestBO16_ARecordOfALaterVersionHolds: a rollback lets nobody go. What cannot be read is held from the start on, as
// often as that happens.
func TestBO16_ARecordOfALaterVersionHolds(t *testing.T) {
	for _, row := range []struct {
		name, text string
		held       bool
	}{
		{"as ours, with more", `{"version":2,"uuid":"a","name":"metal3~a","more":[1],"episodes":[{"id":"e","kind":"deployment","failures":1,"since":"2020-01-01T00:00:00Z"}]}`, true},
		{"of other kinds", `{"version":7,"uuid":"a","episodes":[{"kind":"burning","since":5}]}`, true},
		{"without episodes", `{"version":2,"uuid":"a","name":"metal3~a","holds":{"until":"2030-01-01T00:00:00Z"}}`, true},
		{"other types", `{"version":2,"uuid":"a","name":5,"uid":[],"episodes":{"e":1}}`, true},
		{"released", `{"version":2,"uuid":"a","episodes":[{"kind":"deployment","released":true}]}`, false},
		{"the last one is not released", `{"version":2,"uuid":"a","episodes":[{"kind":"cleaning","released":true},{"kind":"deployment"}]}`, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := holdoff.ParseRecord([]byte(row.text))
			var later *holdoff.LaterError
			if !errors.As(err, &later) {
				t.Fatalf("error %v", err)
			}
			s := newStage(t)
			for range 2 {
				s.restart(map[string]holdoff.Record{"a": later.Instead})
				if !row.held {
					s.isFree(provision())
					continue
				}
				s.isHeld(provision(), hold)
				s.wait(time.Hour)
				s.isHeld(provision(), hold-time.Hour)
			}
			if !row.held {
				return
			}
			// Saved by then, it goes on.
			batch := s.save()
			if len(batch.Puts) != 1 {
				t.Fatalf("%+v", batch)
			}
			s.restart(map[string]holdoff.Record{"a": batch.Puts[0]})
			s.isHeld(provision(), hold-time.Hour)
		})
	}
}

// TestALaterRecordThatNamesNobody: there is nobody to be held.
func TestALaterRecordThatNamesNobody(t *testing.T) {
	for _, text := range []string{`{"version":2}`, `{"version":2,"uuid":{"id":"a"}}`} {
		_, err := holdoff.ParseRecord([]byte(text))
		var later *holdoff.LaterError
		if !errors.As(err, &later) || later.Instead.UUID != "" {
			t.Errorf("%s: %v, %+v", text, err, later)
		}
	}
}
