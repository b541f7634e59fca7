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
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/ironic-throttle/ironic-throttle/internal/kube/hosts"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/realkube"
)

// seenWithin is how soon after its return what the API server has is seen.
const seenWithin = 15 * time.Second

// mayWatch lets the ServiceAccount of home watch the hosts of a namespace.
func mayWatch(t *testing.T, k *realkube.Kube, home, namespace string) {
	t.Helper()
	if err := k.Account(t.Context(), home, account); err != nil {
		t.Fatal(err)
	}
	objects, err := realkube.Decode(fmt.Sprintf(`
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: watch, namespace: %[2]s},
  rules: [{apiGroups: [metal3.io], resources: [baremetalhosts], verbs: [list, watch]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: watch, namespace: %[2]s},
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: watch},
  subjects: [{kind: ServiceAccount, name: %[3]s, namespace: %[1]s}]}`, home, namespace, account))
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if _, err := k.Apply(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}

// directory watches hosts, and keeps what it was told of them.
type directory struct {
	*hosts.Directory
	log child.LogBook

	mu   sync.Mutex
	told map[string]hosts.Host // by name
	odd  []string              // tales of a past that was not told
}

// watch starts a directory with the rights of the ServiceAccount of home.
func watch(t *testing.T, kubeconfig string, namespaces ...string) *directory {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	d := &directory{told: map[string]hosts.Host{}}
	d.Directory, err = hosts.New(hosts.Options{
		Config: config, Namespaces: namespaces, Changed: d.changed, Log: slog.New(slog.NewTextHandler(&d.log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- d.Run(ctx) }()
	t.Cleanup(func() { cancel(); <-ended })
	return d
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
	list, err := cluster.Hosts(namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]hosts.Host{}
	for _, o := range list.Items {
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
	const hosts = 40
	ns := namespace(t, "hosts")
	network, err := cluster.Proxy()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(network.Stop)
	mayWatch(t, cluster, ns, ns)
	d := watch(t, kubeconfigOf(t, ns, account, network.URL), ns)
	operations := 0
	for end := time.Now().Add(30 * time.Second); operations < 500 && time.Now().Before(end); operations++ {
		i := rand.IntN(hosts)
		if err := operate(t, ns, fmt.Sprintf("host-%02d", i), fmt.Sprintf("%08x-0000-4000-8000-0123456789AB", i)); err != nil {
			t.Fatal(err)
		}
		if rand.IntN(100) == 0 {
			network.Break()
		}
	}
	awaitFor(t, seenWithin, "what the API server has", func() bool { return d.shows(t, ns) }, d.log.Tail)
	if len(d.odd) > 0 {
		t.Errorf("told of what had not been: %q", d.odd)
	}
	t.Logf("%d operations, %d hosts in the end", operations, d.Status().Hosts)
}

// operate makes a host, or does something to the one that is there.
func operate(t *testing.T, namespace, name, node string) error {
	all, ctx := cluster.Hosts(namespace), t.Context()
	if _, err := all.Get(ctx, name, metav1.GetOptions{}); err != nil {
		h := realkube.Host{Namespace: namespace, Name: name, NodeUUID: node, ErrorCount: rand.IntN(4)}
		if rand.IntN(5) == 0 {
			h.NodeUUID = ""
		}
		return cluster.AddHosts(ctx, []realkube.Host{h})
	}
	pick := func(of ...string) string { return of[rand.IntN(len(of))] }
	switch rand.IntN(7) {
	case 0:
		return all.Delete(ctx, name, metav1.DeleteOptions{})
	case 1:
		return cluster.PatchStatus(ctx, namespace, name, map[string]any{"errorCount": rand.IntN(100), "provisioningFailCount": rand.IntN(3)})
	case 2:
		return cluster.PatchStatus(ctx, namespace, name, map[string]any{"errorType": []any{"inspection error", "provisioning error", nil}[rand.IntN(3)]})
	case 3:
		return cluster.Annotate(ctx, namespace, name, hosts.HoldoffAnnotation, pick("", "48h", "0", "x"))
	case 4:
		key := pick(hosts.PlannedAnnotation, "baremetalhost.metal3.io/paused", "baremetalhost.metal3.io/detached", "other")
		return cluster.Annotate(ctx, namespace, name, key, pick("", "true"))
	case 5:
		return patchSpec(t, namespace, name, pick(`{"image": null}`, `{"image": {"url": "http://images/2"}}`,
			`{"consumerRef": {"name": "m", "namespace": "team"}}`, `{"consumerRef": null}`))
	}
	return cluster.PatchStatus(ctx, namespace, name, map[string]any{"provisioning": map[string]any{"state": pick("provisioning", "available", "deprovisioning")}})
}

// patchSpec merges into the spec of a host.
func patchSpec(t *testing.T, namespace, name, spec string) error {
	_, err := cluster.Hosts(namespace).Patch(t.Context(), name, types.MergePatchType, []byte(`{"spec": `+spec+`}`), metav1.PatchOptions{})
	return err
}
