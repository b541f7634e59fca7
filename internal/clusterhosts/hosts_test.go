package clusterhosts

import (
	"strings"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/hosts"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// twoHosts is a directory: lab was moved to ns-02, and a new one has its old name.
type twoHosts map[string]hosts.Host

func (d twoHosts) ByName(namespace, name string) (hosts.Host, bool) {
	h, ok := d[namespace+"/"+name]
	return h, ok
}

func (d twoHosts) ByNode(uuid string) (hosts.Host, bool) {
	for _, h := range d {
		if strings.EqualFold(h.NodeUUID, uuid) {
			return h, true
		}
	}
	return hosts.Host{}, false
}

func (twoHosts) Status() api.Cluster         { return api.Cluster{} }
func (twoHosts) Knows(namespace string) bool { return namespace != "theirs" }

// A node keeps the name of a host that was moved, and the host its errors.
func TestLH28_AMovedHostIsFoundByItsNode(t *testing.T) {
	const moved, anew = "6e2b8a6e-0c1d-4e5f-8a9b-0c1d2e3f4a5b", "7e2b8a6e-0c1d-4e5f-8a9b-0c1d2e3f4a5b"
	d := twoHosts{
		"ns-02/lab": {Namespace: "ns-02", Name: "lab", NodeUUID: moved, ErrorCount: 6},
		"ns-01/new": {Namespace: "ns-01", Name: "new", NodeUUID: anew},
		"ns-01/raw": {Namespace: "ns-01", Name: "raw"},
	}
	for _, row := range []struct{ namespace, name, uuid, want string }{
		{"ns-01", "lab", moved, "ns-02/lab"},
		{"ns-01", "lab", strings.ToUpper(moved), "ns-02/lab"},
		{"ns-01", "new", moved, "ns-02/lab"},
		{"ns-01", "new", strings.ToUpper(anew), "ns-01/new"},
		{"ns-01", "new", "", "ns-01/new"},
		{"ns-01", "new", "8e2b8a6e-0c1d-4e5f-8a9b-0c1d2e3f4a5b", "ns-01/new"}, // as before: the decision sees that it is another
		{"ns-01", "raw", moved, "ns-01/raw"},                                  // it may be about to get that node
		{"", "", moved, "ns-02/lab"},
		{"", "lab", moved, "ns-02/lab"},
		{"theirs", "lab", moved, "/"}, // that namespace cannot be read: it is there, perhaps
		{"ns-01", "lab", "", "/"},
		{"ns-01", "lab", "8e2b8a6e-0c1d-4e5f-8a9b-0c1d2e3f4a5b", "/"},
		{"ns-01", "", "", "/"},
		{"", "", "", "/"},
	} {
		k := &Hosts{Directory: d, now: time.Now}
		h, ok := k.Host(row.namespace, row.name, row.uuid)
		if got := h.Namespace + "/" + h.Name; got != row.want || ok != (row.want != "/") || h.Name == "lab" && h.ErrorCount != 6 {
			t.Errorf("%s/%s %s: %+v, want %s", row.namespace, row.name, row.uuid, h, row.want)
		}
	}
}
