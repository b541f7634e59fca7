package ironic

import (
	"strings"
	"testing"
)

// FuzzOffer: whatever stands in front of Ironic answers, its versions are both known and not negative, or there is an error.
func FuzzOffer(f *testing.F) {
	f.Add("1.1", "1.81", "")
	f.Add("", "", `{"version":{"min_version":"1.1","version":"1.81"}}`)
	f.Add("", "1.x", `{"version":{"min_version":1.1}}`)
	f.Add("1.+1", " 1.99999999999999999999", `<html>`)
	f.Fuzz(func(t *testing.T, minimum, maximum, body string) {
		low, high, err := offer(minimum, maximum, strings.NewReader(body))
		if low < 0 || high < 0 || err != nil && (low != 0 || high != 0 || len(err.Error()) > 10*(len(minimum)+len(maximum)+len(body))+1000) {
			t.Errorf("%d, %d, %v", low, high, err)
		}
	})
}
