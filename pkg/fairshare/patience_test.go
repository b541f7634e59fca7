package fairshare

import (
	"fmt"
	"testing"
	"time"
)

// F-7 within a tenant: a host that asks every second gets no more slots than the
// others, which ask every 90 s; Redeem is not for it.
func TestF7_ImpatienceBringsNothing(t *testing.T) {
	whole(t)
	const (
		slots, hosts = 2, 20
		work         = 10 * time.Minute
	)
	s, err := New(DefaultConfig(slots))
	if err != nil {
		t.Fatal(err)
	}
	now, held := worldStart, 0
	next, gap, ends := map[*Host]time.Time{}, map[*Host]time.Duration{}, map[*Host]time.Time{}
	grants := make([]int, hosts)
	all := make([]*Host, hosts)
	for i := range all {
		all[i] = NewHost(fmt.Sprint(i), "a")
		gap[all[i]], next[all[i]] = 90*time.Second, now.Add(time.Duration(i)*4*time.Second)
	}
	gap[all[hosts-1]] = time.Second
	for end := now.Add(72 * time.Hour); now.Before(end); now = now.Add(time.Second) {
		for i, h := range all {
			switch at, working := ends[h]; {
			case working && !now.Before(at):
				s.Release(now, h, Finished)
				delete(ends, h)
				held--
				s.Update(now, slots-held)
				next[h] = now.Add(gap[h])
			case !working && !now.Before(next[h]):
				next[h] = now.Add(gap[h])
				if s.Ask(now, slots-held, h, 0).Yes {
					grants[i]++
					held++
					ends[h] = now.Add(work)
				}
			}
		}
	}
	sum := 0
	for _, n := range grants[:hosts-1] {
		sum += n
	}
	mean := float64(sum) / (hosts - 1)
	if got := float64(grants[hosts-1]); got > 1.3*mean {
		t.Errorf("the impatient host got %v slots, the others %.1f on average", got, mean)
	}
	if used := float64(sum+grants[hosts-1]) * work.Hours() / (slots * 72); used < 0.9 {
		t.Errorf("slots were used for %.3f of the time", used)
	}
}
