package server

import (
	"slices"
	"strings"
	"testing"

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
