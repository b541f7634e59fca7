//go:build e2e

package kube

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/internal/kube"
	"github.com/ironic-throttle/ironic-throttle/internal/store"
)

// TestNoEarlierLeaderWrites lets processes with the rights of the manifests take the ConfigMap from each other, all of which
// believe that they lead. Each goes on counting from what it has read: a number that is saved twice was saved by one that
// another had followed already. Then it is filled.
func TestNoEarlierLeaderWrites(t *testing.T) {
	t.Parallel()
	const handOvers, atOnce = 200, 4
	ns := namespace(t, "claim")
	c, err := kube.Connect(kube.Options{Kubeconfig: deploy(t, ns, rights(t, highAvailability, ns)), Namespace: ns, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	claimant := func(name string) *kube.ConfigMap {
		return &kube.ConfigMap{
			Client: c.Client, Namespace: c.Namespace, Name: "ironic-throttle", Identity: name, Leading: func() bool { return true },
		}
	}
	var saved sync.Map
	var loads, late, twice atomic.Int64
	race := func(g int) {
		for loads.Load() < handOvers {
			p := claimant(fmt.Sprintf("p%d-%d", g, loads.Load()))
			value, err := p.Load(context.Background())
			if err != nil {
				continue // the others were faster, four times
			}
			n, _ := strconv.Atoi(string(value)) // 0: there is none
			for loads.Add(1); err == nil && loads.Load() < handOvers; {
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
	if _, some := saved.Load(1); twice.Load() > 0 || late.Load() < handOvers/2 || !some {
		t.Errorf("%d hand-overs, %d told that another one keeps the holds, %d by an earlier one", loads.Load(), late.Load(), twice.Load())
	}
	p := claimant("last")
	_, err = p.Load(t.Context())
	full := make([]byte, p.Room())
	_, _ = rand.Read(full)
	value, errFull := []byte(nil), errors.Join(err, p.Save(t.Context(), full))
	if errFull == nil {
		value, errFull = claimant("next").Load(t.Context())
	}
	if errFull != nil || len(value) != len(full) {
		t.Errorf("%d bytes of %d are kept: %v", len(value), len(full), errFull)
	}
}
