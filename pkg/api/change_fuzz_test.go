package api

import (
	"encoding/json"
	"testing"
)

// FuzzParseChange: the bodies that change something. What is taken can be written and read again as the same.
func FuzzParseChange(f *testing.F) {
	f.Add([]byte(`{"episode":"0123456789ab"}`))
	f.Add([]byte(`{"for":"30m"}`))
	f.Add([]byte(`{"for":"30m","for":"1s"}`))
	f.Add([]byte(" \n"))
	f.Fuzz(func(t *testing.T, body []byte) {
		if r, err := ParseRelease(body); err == nil {
			text, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := ParseRelease(text); again != r || err != nil {
				t.Errorf("%+v, %v, want %+v", again, err, r)
			}
		}
		if r, err := ParseTrip(body); err == nil {
			d, err := r.Duration()
			if err != nil || d != 0 && (d < minTrip || d > maxTrip) {
				t.Errorf("%+v: %v, %v", r, d, err)
			}
			text, err := json.Marshal(r)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := ParseTrip(text); again != r || err != nil {
				t.Errorf("%+v, %v, want %+v", again, err, r)
			}
		}
	})
}
