package ironic

import (
	"net/http"
	"testing"
)

// FuzzOffer: whatever stands in front of Ironic answers, its versions are both known and not negative, or there is an error.
func FuzzOffer(f *testing.F) {
	f.Add("1.1", "1.81")
	f.Add("", "1.x")
	f.Add("1.+1", " 1.99999999999999999999")
	f.Fuzz(func(t *testing.T, minimum, maximum string) {
		low, high, err := offer(http.Header{headerMinimum: {minimum}, headerMaximum: {maximum}})
		if low < 0 || high < 0 || err != nil && (low != 0 || high != 0 || len(err.Error()) > 10*(len(minimum)+len(maximum))+1000) {
			t.Errorf("%d, %d, %v", low, high, err)
		}
	})
}
