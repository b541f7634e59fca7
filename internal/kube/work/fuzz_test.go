package work

import (
	"bytes"
	"encoding/json"
	"testing"
)

// FuzzTaints: our taint comes and goes, and those of others stay as they are, to the byte.
func FuzzTaints(f *testing.F) {
	f.Add([]byte(`[{"key":"a","effect":"NoSchedule","more":{"x":[1]}}]`))
	f.Add([]byte(`null`))
	f.Add([]byte(`[null,{},{"KEY":1}]`))
	f.Fuzz(func(t *testing.T, before []byte) {
		without, err := withTaint(before, false)
		if err != nil {
			return
		}
		text, err := json.Marshal(without)
		if err != nil {
			t.Fatal(err)
		}
		with, err := withTaint(text, true)
		if err != nil || len(with) != len(without)+1 {
			t.Fatalf("%s, %v", with, err)
		}
		for i := range without {
			var tight bytes.Buffer
			if err := json.Compact(&tight, without[i]); err != nil || !sameJSON(t, tight.Bytes(), with[i]) {
				t.Errorf("%s became %s", without[i], with[i])
			}
		}
		if text, err = json.Marshal(with); err != nil {
			t.Fatal(err)
		}
		if again, err := withTaint(text, true); err != nil || len(again) != len(with) {
			t.Errorf("set twice: %s, %v", again, err)
		}
		if gone, err := withTaint(text, false); err != nil || len(gone) != len(without) {
			t.Errorf("not removed: %s, %v", gone, err)
		}
	})
}

// sameJSON compares two values as they are written: encoding/json escapes a few characters when it writes.
func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	one, err := json.Marshal(json.RawMessage(a))
	if err != nil {
		t.Fatal(err)
	}
	other, err := json.Marshal(json.RawMessage(b))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Equal(one, other)
}
