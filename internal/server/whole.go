package server

import (
	"maps"
	"slices"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Lists are never null in the JSON, and counts by the words of a closed set have all of them: metrics are read from
// them too, and a series must not begin with its first event. What the Decider has given may be its own, so nothing
// in it is changed.

// list is given, or an empty list.
func list[T any](given []T) []T {
	if given == nil {
		return []T{}
	}
	return given
}

// complete is counts with all of words.
func complete(counts map[string]uint64, words []string) map[string]uint64 {
	all := map[string]uint64{}
	for _, word := range words {
		all[word] = 0
	}
	maps.Copy(all, counts)
	return all
}

func wholeStatus(st api.Status) api.Status {
	st.Slots.Occupants = list(st.Slots.Occupants)
	st.Asks, st.Refusals = list(st.Asks), list(st.Refusals)
	t := &st.Turns
	t.Waits.Bounds, t.Waits.Counts = list(t.Waits.Bounds), list(t.Waits.Counts)
	t.Waiting = list(t.Waiting)
	st.Sizing = wholeSizing(st.Sizing)
	st.Breakers = wholeBreakers(st.Breakers)
	f := &st.Storm
	f.Opened, f.HoldsReleased = complete(f.Opened, api.ScopeKinds()), complete(f.HoldsReleased, api.HoldEnds())
	f.Outcomes, f.Pools = list(f.Outcomes), list(f.Pools)
	return st
}

func wholeBreakers(breakers []api.Breaker) []api.Breaker {
	all := list(slices.Clone(breakers))
	for i, b := range all {
		all[i].Causes = list(slices.Clone(b.Causes))
		for j, cause := range all[i].Causes {
			all[i].Causes[j].Hosts = list(cause.Hosts)
		}
	}
	return all
}

func wholeSizing(s api.Sizing) api.Sizing {
	s.Pools, s.Boots = list(s.Pools), list(slices.Clone(s.Boots))
	for i := range s.Boots {
		s.Boots[i].Up.Buckets = list(s.Boots[i].Up.Buckets)
	}
	return s
}

func wholeQueue(q api.Queue) api.Queue {
	pools := list(slices.Clone(q.Pools))
	for i, p := range pools {
		pools[i].Tenants, pools[i].Hosts = list(p.Tenants), list(p.Hosts)
	}
	return api.Queue{Pools: pools}
}
