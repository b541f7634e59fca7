package statusview

import (
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

func TestTextOfTheCluster(t *testing.T) {
	for _, row := range []struct {
		name    string
		cluster *api.Cluster
		want    []string // lines in this order
	}{
		{"none", nil, nil},
		{"at first", &api.Cluster{}, []string{"cluster   BareMetalHosts are not read yet"}},
		{"one of two namespaces", &api.Cluster{Hosts: 7, LastError: `namespace b: forbidden`}, []string{
			"cluster   7 BareMetalHosts so far, not all are read; the watch is broken: namespace b: forbidden",
		}},
		{"an empty one of two", &api.Cluster{LastError: `namespace b: forbidden`}, []string{
			"cluster   0 BareMetalHosts so far, not all are read; the watch is broken: namespace b: forbidden",
		}},
		{"at work", &api.Cluster{Hosts: 250}, []string{"cluster   250 BareMetalHosts so far, not all are read"}},
		{"well", &api.Cluster{Hosts: 2000, Synced: true, Errors: map[string]int{"provisioning error": 12, "inspection error": 3}}, []string{
			`cluster   2000 BareMetalHosts, 3 with "inspection error", 12 with "provisioning error"`,
		}},
		{"broken", &api.Cluster{Hosts: 7, Synced: true, LastError: "for\x1bbidden"}, []string{"cluster   7 BareMetalHosts; the watch is broken: for?bidden"}},
		{"leads", &api.Cluster{Synced: true, Leader: &api.Leader{Leads: true, Identity: "a", Holder: "a"}, Events: &api.EventCounts{Sent: 4, Pending: 3, Dropped: 2, Failed: 1}}, []string{
			"leader    this replica, a", "cluster   0 BareMetalHosts",
		}},
		{"BMO", &api.Cluster{Synced: true, Operator: &api.Operator{Workers: 32, WorkersFrom: "BMO_CONCURRENCY in its env", Limit: 20, MayReach: 51}}, []string{
			"cluster   0 BareMetalHosts", "BMO       32 workers (BMO_CONCURRENCY in its env); by its own limit of 20 up to 51 hosts at work",
		}},
		{"BMO as it may be", &api.Cluster{Synced: true, Operator: &api.Operator{Workers: 8, WorkersFrom: "BMO's own rule for 16 CPUs", Estimated: true}}, []string{
			"cluster   0 BareMetalHosts", "BMO       about 8 workers (BMO's own rule for 16 CPUs)",
		}},
		{"no BMO", &api.Cluster{Synced: true, Operator: &api.Operator{LastError: "not\x1bfound"}}, []string{
			"cluster   0 BareMetalHosts", "BMO       how many workers BMO has is not known; not?found",
		}},
		{"stands by", &api.Cluster{Synced: true, Leader: &api.Leader{Identity: "a", Holder: "b"}}, []string{"leader    b; this replica stands by"}},
		{"nobody", &api.Cluster{Synced: true, Leader: &api.Leader{Identity: "a"}}, []string{"leader    nobody yet"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var got []string
			for l := range strings.Lines(Text(Content{Status: api.Status{Cluster: row.cluster}}, 0)) {
				if l = strings.TrimSpace(l); strings.HasPrefix(l, "cluster") || strings.HasPrefix(l, "leader") || strings.HasPrefix(l, "BMO") {
					got = append(got, l)
				}
			}
			if strings.Join(got, "\n") != strings.Join(row.want, "\n") {
				t.Errorf("%q, want %q", got, row.want)
			}
		})
	}
}
