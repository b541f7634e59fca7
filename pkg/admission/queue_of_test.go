package admission_test

import (
	"slices"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// TestQueueOf: by namespace and reason those are found too that are stopped and stand in no order.
func TestQueueOf(t *testing.T) {
	f := newFront(t, 1, holding(hour))
	f.failedAndCleaned(4)
	f.linger()
	f.want(by(4, api.OpProvision), api.ReasonHold)
	f.starts(1)
	other := by(3, api.OpProvision)
	other.Namespace = "other"
	f.of(2)
	f.of(3).Name = "other~host-3"
	f.want(by(2, api.OpProvision), api.ReasonFull)
	f.want(other, api.ReasonFull)
	for _, row := range []struct {
		query    api.QueueQuery
		hosts    []string
		matching int
	}{
		{api.QueueQuery{Limit: 9}, []string{"metal3~host-2", "other~host-3"}, 0},
		{api.QueueQuery{Limit: 9, Namespace: "metal3"}, []string{"metal3~host-2", "metal3~host-4"}, 2},
		{api.QueueQuery{Limit: 1, Namespace: "metal3"}, []string{"metal3~host-2"}, 2},
		{api.QueueQuery{Limit: 9, Reason: api.ReasonHold}, []string{"metal3~host-4"}, 1},
		{api.QueueQuery{Limit: 9, Reason: api.ReasonFull, Namespace: "other"}, []string{"other~host-3"}, 1},
		{api.QueueQuery{Limit: 9, Namespace: "nobody"}, nil, 0},
	} {
		q := f.QueueOf(f.now, row.query).Pools[0]
		var names []string
		for _, h := range q.Hosts {
			names = append(names, h.Name)
			if (h.Position == 0) != (h.Reason == api.ReasonHold) || h.Reason == "" {
				t.Errorf("%+v: %+v", row.query, h)
			}
		}
		if !slices.Equal(names, row.hosts) {
			t.Errorf("%+v: %q, want %q", row.query, names, row.hosts)
		}
		if q.Matching != row.matching {
			t.Errorf("%+v: %d match", row.query, q.Matching)
		}
	}
}

// BenchmarkQueueOf is what an operator's question costs with 100,000 hosts that wait.
func BenchmarkQueueOf(b *testing.B) {
	c, now := settled(b, 20)
	for i := range 100_000 {
		c.IsReady(now, by(i, api.OpProvision))
	}
	listed(c, now.Add(time.Second), 0)
	b.ResetTimer()
	for b.Loop() {
		if q := c.QueueOf(now, api.QueueQuery{Limit: 20, Reason: api.ReasonFull}); q.Pools[0].Matching < 99_000 {
			b.Fatal(q.Pools[0].Matching)
		}
	}
}
