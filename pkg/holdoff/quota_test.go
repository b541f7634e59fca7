package holdoff_test

import (
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/pkg/holdoff"
)

func TestBO14_Quota(t *testing.T) {
	for _, row := range []struct {
		text           string
		total, allowed int
	}{
		{"40%", 5, 2}, {"40%", 4, 1}, {"40%", 2, 0}, {"40%", 0, 0}, {"40%", -3, 0}, {"40%", 7, 2}, {"40%", 10, 4},
		{"100%", 5, 5}, {"0%", 5, 0}, {"1%", 99, 0}, {"1%", 100, 1}, {"99%", 100, 99}, {"99%", 199, 197}, {"33%", 250, 82},
		{"100%", math.MaxInt, math.MaxInt}, {"50%", math.MaxInt, math.MaxInt / 2},
		{"3", 5, 3}, {"3", 1, 3}, {"0", 5, 0}, {"1000000", 5, 1_000_000}, {"007", 5, 7},
	} {
		q, err := holdoff.ParseQuota(row.text)
		if err != nil || q.Allowed(row.total) != row.allowed {
			t.Errorf("%s of %d: %d, %v, want %d", row.text, row.total, q.Allowed(row.total), err, row.allowed)
		}
		if q.Limits() != (row.text != "100%") {
			t.Errorf("%s: limits %v", row.text, q.Limits())
		}
		if again, err := holdoff.ParseQuota(q.String()); again != q || err != nil {
			t.Errorf("%s: read again %v, %v", row.text, again, err)
		}
	}
}

func TestBO14_BadTextPauses(t *testing.T) {
	for _, text := range []string{
		"", "%", "-1", "+1", "-1%", "101%", "40 %", " 40%", "40%%", "4O%", "0.5%", "1e3", "0x10", "1_000", "1000001", "nothing",
		"99999999999999999999", strings.Repeat("9", 1000),
	} {
		q, err := holdoff.ParseQuota(text)
		if err == nil || q != (holdoff.Quota{}) || len(err.Error()) > 250 || !strings.Contains(err.Error(), "max failed: ") {
			t.Errorf("%q: %v, %v", text, q, err)
		}
	}
	var zero holdoff.Quota
	if zero.Allowed(100) >= 0 || !zero.Limits() || zero.String() != "nothing" {
		t.Errorf("%d of 100, %v", zero.Allowed(100), zero)
	}
}

func FuzzParseQuota(f *testing.F) {
	for _, text := range []string{"40%", "3", "100%", "", "%", "-1", "1000000"} {
		f.Add(text, 5)
	}
	f.Fuzz(func(t *testing.T, text string, total int) {
		q, err := holdoff.ParseQuota(text)
		if (err != nil) != (q == holdoff.Quota{}) {
			t.Fatalf("%v, %v", q, err)
		}
		if err != nil {
			return
		}
		if again, err := holdoff.ParseQuota(q.String()); again != q || err != nil {
			t.Errorf("%q is %v, which is %v, %v", text, q, again, err)
		}
		got := q.Allowed(total)
		if got < 0 {
			t.Errorf("%v of %d: %d", q, total, got)
		}
		if digits, ok := strings.CutSuffix(q.String(), "%"); ok && total >= 0 {
			want, _ := new(big.Int).SetString(digits, 10)
			want.Mul(want, big.NewInt(int64(total))).Quo(want, big.NewInt(100))
			if want.Cmp(big.NewInt(int64(got))) != 0 {
				t.Errorf("%v of %d: %d, want %v", q, total, got, want)
			}
		}
	})
}
