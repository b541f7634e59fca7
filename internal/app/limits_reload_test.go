package app

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/store"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
)

// learnedBefore leaves at path what a process before has learned of limits.
func learnedBefore(t *testing.T, path string, pools map[string]sizing.Record) {
	t.Helper()
	value, _, err := store.Pack(store.Value{Limits: sizing.State{Pools: pools}}, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, value, 0o600); err != nil {
		t.Fatal(err)
	}
}

// The ceiling may change while the throttle finds the limit below it: lowered, it cuts the limit at
// once, and nobody loses a slot; raised, it leaves the limit to what boots show.
func TestSZ8_HotReloadOfTheCeiling(t *testing.T) {
	path := filepath.Join(t.TempDir(), "holds.db")
	learnedBefore(t, path, map[string]sizing.Record{"": {Limit: 30}, "rack1": {Limit: 12}})
	base := fmt.Sprintf("limitMode: adaptive\nholdoffFile: %s\nmaxConcurrentProvisioningHosts: ", path)
	file, fromFile := fileOf(t, base+"40\npoolLimits: {rack1: 15}")
	play(t, fromFile, func(s *stage) {
		write := func(text string) {
			all := base + text
			file.Store(&all)
			s.pass(10 * time.Second)
		}
		demand := func(what string, total int, pools map[string]int) {
			t.Helper()
			slots, sizes := s.app.Status().Slots, s.app.Status().Sizing.Pools
			if slots.Total.Limit != total || len(sizes) != 1+len(pools) {
				t.Errorf("%s: limit %d, want %d; %+v", what, slots.Total.Limit, total, sizes)
			}
			for pool, limit := range pools {
				if got := slots.Pools[pool].Limit; got != limit {
					t.Errorf("%s: limit of %s: %d, want %d", what, pool, got, limit)
				}
			}
		}
		names := []string{"host-00001", "host-00002", "host-00003", "host-00004", "host-00005", "host-00006", "host-00007"}
		s.pass(70 * time.Second)
		demand("at first", 30, map[string]int{"rack1": 12})
		for _, name := range append(names, "host-00008") {
			_ = s.ask(name) // now their groups are read
		}
		s.pass(20 * time.Second)
		for _, name := range names {
			s.says(name, api.ReasonGranted)
		}
		write("5\npoolLimits: {rack1: 5}")
		demand("lowered", 5, map[string]int{"rack1": 5})
		for _, name := range names {
			s.says(name, api.ReasonHeldSlot)
		}
		s.says("host-00008", api.ReasonFull)
		if got := s.app.Status().Slots.Total; got.Occupied != len(names) || got.Free != 0 {
			t.Errorf("%+v", got)
		}
		write("40\npoolLimits: {rack1: 40, rack2: 3, rack3: 30}")
		demand("raised", 5, map[string]int{"rack1": 5, "rack2": 3, "rack3": 5}) // none above the total
		s.says("host-00008", api.ReasonFull)
		write("40\npoolLimits: {rack3: 4}")
		demand("without two of the pools", 5, map[string]int{"rack3": 4})
		write("0")
		demand("a broken file", 5, map[string]int{"rack3": 4})
		write("4\npoolLimits: {rack9: 3}\nfailingCap: 4")
		demand("with the cap of failing hosts set", 4, map[string]int{"rack9": 3})
		write("40\npoolLimits: {rack9: 30}\nfailingCap: 20")
		demand("with a cap that is larger than the limit", 4, map[string]int{"rack9": 3})
		for _, name := range names {
			s.says(name, api.ReasonHeldSlot)
		}
		s.pass(limitsInterval)
		if kept := keptIn(path).Limits; kept.Pools[""].Limit != 4 {
			t.Errorf("%+v", kept)
		}
	})
	again := base + "40"
	file.Store(&again)
	play(t, fromFile, func(s *stage) {
		if s.limit() != 4 {
			t.Errorf("limit %d after a restart", s.limit())
		}
	})
}
