//go:build e2e

package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"sync"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/hosts"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/realkube"
)

// directory watches hosts, and keeps what it was told of them.
type directory struct {
	*hosts.Directory
	log child.LogBook

	mu   sync.Mutex
	told map[string]hosts.Host // by name
	odd  []string              // tales of a past that was not told
}

func (d *directory) changed(old, now *hosts.Host) {
	d.mu.Lock()
	defer d.mu.Unlock()
	was, is := cmp.Or(old, &hosts.Host{}), cmp.Or(now, &hosts.Host{})
	name := cmp.Or(was.Name, is.Name)
	if d.told[name] != *was {
		d.odd = append(d.odd, name)
	}
	if d.told[name] = *is; now == nil {
		delete(d.told, name)
	}
}

// shows compares a directory with what the API server has of a namespace, by name, by node, and by what was told.
func (d *directory) shows(t *testing.T, namespace string) bool {
	t.Helper()
	want := map[string]hosts.Host{}
	for _, o := range cluster.List(t, "metal3.io/v1alpha1", "BareMetalHostList", namespace) {
		text, err := o.MarshalJSON()
		var h hosts.Host
		if err = errors.Join(err, json.Unmarshal(text, &h)); err != nil {
			t.Fatal(err)
		}
		shown, _ := d.ByName(namespace, h.Name)
		if n, found := d.ByNode(h.NodeUUID); shown != h || found != (h.NodeUUID != "") || found && n != h {
			return false
		}
		want[h.Name] = h
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.Status().Hosts == len(want) && maps.Equal(d.told, want)
}

// TestEveryOperationOnHostsIsSeen makes, changes, deletes and remakes hosts while connections break: then the directory shows
// what the API server has, and what it told adds up to that.
func TestEveryOperationOnHostsIsSeen(t *testing.T) {
	t.Parallel()
	const all, operations = 40, 500
	ns, network := namespace(t, "hosts"), cluster.Proxy(t)
	deploy(t, ns, rights(t, testCases+"/namespace-scoped", ns))
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfigOf(t, ns, account, network.URL))
	if err != nil {
		t.Fatal(err)
	}
	d := &directory{told: map[string]hosts.Host{}}
	d.Directory, err = hosts.New(hosts.Options{
		Config: config, Namespaces: []string{ns}, Changed: d.changed, Log: slog.New(slog.NewTextHandler(&d.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- d.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	there := map[int]bool{}
	for n := range operations {
		i := rand.IntN(all)
		o := realkube.Host(ns, fmt.Sprintf("host-%02d", i))
		switch change := changes[rand.IntN(len(changes))]; {
		case !there[i]:
			o.Object["spec"] = map[string]any{"online": true}
			if err := cluster.Client.Create(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			id := ""
			if rand.IntN(5) > 0 { // BMO knows its node
				id = fmt.Sprintf("%08x-0000-4000-8000-0123456789AB", i)
			}
			cluster.Merge(t, o, `{"status": {"operationalStatus": "OK", "errorMessage": "", "errorCount": 0, "poweredOn": false,
				"provisioning": {"ID": "`+id+`", "state": "available"}}}`)
			there[i] = true
		case n%7 == 0:
			if err := cluster.Client.Delete(t.Context(), o); err != nil {
				t.Fatal(err)
			}
			there[i] = false
		default:
			cluster.Merge(t, o, change)
		}
		if rand.IntN(100) == 0 {
			network.Break()
		}
	}
	await(t, "what the API server has", func() bool { return d.shows(t, ns) }, d.log.Tail)
	if len(d.odd) > 0 {
		t.Errorf("told of what had not been: %q", d.odd)
	}
	t.Logf("%d hosts in the end", d.Status().Hosts)
}

// changes are merged into hosts.
var changes = []string{
	`{"status": {"errorCount": 7, "provisioningFailCount": 2, "operationalStatus": "OK", "errorMessage": "", "poweredOn": false}}`,
	`{"status": {"errorCount": 0, "errorType": "inspection error", "operationalStatus": "error", "errorMessage": "x", "poweredOn": false}}`,
	`{"status": {"errorCount": 0, "errorType": null, "operationalStatus": "OK", "errorMessage": "", "poweredOn": false}}`,
	`{"metadata": {"annotations": {"` + hosts.HoldoffAnnotation + `": "48h"}}}`,
	`{"metadata": {"annotations": {"` + hosts.HoldoffAnnotation + `": "x", "` + hosts.PlannedAnnotation + `": "true"}}}`,
	`{"metadata": {"annotations": {"` + hosts.HoldoffAnnotation + `": null, "baremetalhost.metal3.io/paused": ""}}}`,
	`{"metadata": {"annotations": {"baremetalhost.metal3.io/detached": "true", "` + hosts.PlannedAnnotation + `": null}}}`,
	`{"metadata": {"annotations": null}}`,
	`{"spec": {"image": {"url": "http://images/2"}, "consumerRef": {"name": "m", "namespace": "team"}}}`,
	`{"spec": {"image": null}}`,
	`{"spec": {"consumerRef": null}}`,
}
