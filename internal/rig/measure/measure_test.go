package measure

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestJain(t *testing.T) {
	for _, c := range []struct {
		x    []float64
		want float64
	}{
		{[]float64{5, 5, 5}, 1}, {[]float64{9, 0, 0}, 1.0 / 3}, {[]float64{0, 0}, 1}, {[]float64{4, 1, 1}, 2.0 / 3},
	} {
		if got := Jain(c.x); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("Jain(%v) = %v, want %v", c.x, got, c.want)
		}
	}
}

func TestWaits(t *testing.T) {
	var all []time.Duration
	for i := range 100 {
		all = append(all, time.Duration(100-i)*time.Second)
	}
	if mean, p95 := Waits(all, 2); mean != 101 || p95 != 190 {
		t.Errorf("mean %v, p95 %v", mean, p95)
	}
	if mean, p95 := Waits(nil, 2); mean != 0 || p95 != 0 {
		t.Errorf("of nothing: mean %v, p95 %v", mean, p95)
	}
}

func TestSummaryWrite(t *testing.T) {
	for _, c := range []struct {
		sum  Summary
		want []string
	}{
		{Summary{Policy: PolicyThrottle, Via: ViaCheck, Limit: 10, PeakWorking: 10, SlotUse: 0.5}, []string{"10, the limit held", "50.0 % occupied"}},
		{Summary{Limit: 10, PeakWorking: 12, OverLimitSeconds: 61}, []string{"12, ABOVE THE LIMIT for 1m1s"}},
		{Summary{Why: "too late"}, []string{"NOT FINISHED", "too late"}},
	} {
		var out strings.Builder
		if err := c.sum.Write(&out); err != nil {
			t.Fatal(err)
		}
		for _, want := range c.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q is not in\n%s", want, out.String())
			}
		}
		if c.sum.Exceeded() != strings.Contains(out.String(), "ABOVE") {
			t.Error("Exceeded and the text say different things")
		}
	}
}
