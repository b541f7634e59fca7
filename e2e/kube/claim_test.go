//go:build e2e

package kube

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/ironic-throttle/ironic-throttle/internal/kube"
	"github.com/ironic-throttle/ironic-throttle/internal/kube/claim"
	"github.com/ironic-throttle/ironic-throttle/internal/store"
)

// claimant is a process with the rights of the manifests that always believes that it leads.
func claimant(c *kube.Cluster, name string) *claim.ConfigMap {
	return &claim.ConfigMap{
		Client: c.Client, Namespace: c.Namespace, Name: "ironic-throttle", Identity: name,
		Leading: func() bool { return true },
	}
}

// TestNoEarlierLeaderWrites lets processes take the ConfigMap from each other, all of which believe that they lead. Each goes on
// counting from what it has read: a number that is saved twice was saved by one that another had followed already.
func TestNoEarlierLeaderWrites(t *testing.T) {
	t.Parallel()
	const handOvers, atOnce = 200, 4
	ns := namespace(t, "claim")
	c, err := kube.Connect(kube.Options{Kubeconfig: deploy(t, ns, rights(t, highAvailability, ns)), Namespace: ns})
	if err != nil {
		t.Fatal(err)
	}
	var saved sync.Map
	var loads, saves, late, twice atomic.Int64
	race := func(g int) {
		for loads.Load() < handOvers {
			p := claimant(c, fmt.Sprintf("p%d-%d", g, loads.Load()))
			value, err := p.Load(context.Background())
			if err != nil {
				continue // the others were faster, four times
			}
			n, _ := strconv.Atoi(string(value)) // 0: there is none
			for loads.Add(1); err == nil && loads.Load() < handOvers; saves.Add(1) {
				n++
				if err = p.Save(context.Background(), fmt.Append(nil, n)); err != nil {
					break
				}
				if _, again := saved.LoadOrStore(n, p.Identity); again {
					twice.Add(1)
				}
			}
			if errors.Is(err, store.ErrTakenOver) {
				late.Add(1)
			}
		}
	}
	var all sync.WaitGroup
	for g := range atOnce {
		all.Go(func() { race(g) })
	}
	all.Wait()
	t.Logf("%d hand-overs, %d saves, %d told that another one keeps the holds, %d by an earlier one", loads.Load(), saves.Load(), late.Load(), twice.Load())
	if twice.Load() > 0 || late.Load() < handOvers/2 || saves.Load() == 0 {
		t.Fail()
	}
}

// TestTheConfigMapIsEditedAndFull edits and deletes the ConfigMap of a leader, and fills it.
func TestTheConfigMapIsEditedAndFull(t *testing.T) {
	t.Parallel()
	ns := namespace(t, "claim")
	c, err := kube.Connect(kube.Options{Kubeconfig: deploy(t, ns, rights(t, highAvailability, ns)), Namespace: ns})
	if err != nil {
		t.Fatal(err)
	}
	admin, err := kubernetes.NewForConfig(cluster.Config())
	if err != nil {
		t.Fatal(err)
	}
	p := claimant(c, "p")
	if value, err := p.Load(t.Context()); err != nil || value != nil {
		t.Fatalf("%q, %v", value, err)
	}
	save := func(value []byte) *corev1.ConfigMap {
		t.Helper()
		if err := p.Save(t.Context(), value); err != nil {
			t.Fatal(err)
		}
		o, err := admin.CoreV1().ConfigMaps(ns).Get(t.Context(), p.Name, metav1.GetOptions{})
		if err != nil || !bytes.Equal(o.BinaryData["holds.jsonl.gz"], value) {
			t.Fatalf("%+v, %v", o, err)
		}
		return o
	}
	o := save([]byte("1"))
	if again := save([]byte("1")); again.ResourceVersion != o.ResourceVersion {
		t.Error("a value that is there already is written again")
	}
	o.BinaryData["holds.jsonl.gz"] = []byte("by hand")
	if _, err := admin.CoreV1().ConfigMaps(ns).Update(t.Context(), o, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	save([]byte("1"))
	if err := admin.CoreV1().ConfigMaps(ns).Delete(t.Context(), p.Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	save([]byte("2"))
	full := make([]byte, p.Room())
	_, _ = rand.Read(full)
	begun := time.Now()
	save(full)
	t.Logf("%d KiB saved and read in %v", len(full)>>10, time.Since(begun).Round(time.Millisecond))
	if value, err := claimant(c, "q").Load(t.Context()); err != nil || len(value) != len(full) {
		t.Errorf("%d bytes, %v", len(value), err)
	}
}
