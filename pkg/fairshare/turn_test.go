package fairshare_test

import (
	"strings"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/pkg/fairshare"
	"github.com/ironic-throttle/ironic-throttle/pkg/slots"
)

var situations = []struct {
	name    string
	limits  slots.Limits
	weights map[string]float64
	lines   string
}{
	{"first asked, first served", slots.Limits{Total: 1}, nil, `
		ask a => yes
		ask b => 1
		ask c => 2
		ask d => 3
		end a
		ask d => 3
		ask c => 2
		ask b => yes`},
	{"who asks first takes the slot of one that does not ask, in the end", slots.Limits{Total: 1}, nil, `
		ask a => yes
		ask b => 1
		ask c => 2
		end a
		+5s ask c => 2
		+5s ask c => yes
		ask b => 1`},
	{"a silent host is in nobody's way, and comes back to its place", slots.Limits{Total: 1}, nil, `
		ask a => yes
		ask b => 1
		ask c => 2
		+100s ask c => 2
		+100s ask c => 1
		+1s ask b => 1
		ask c => 2`},
	{"tenants take turns, whatever their number of hosts", slots.Limits{Total: 1}, nil, `
		ask a => yes
		ask b => 1
		ask c => 2
		ask d => 3
		ask zeta/x => 1
		ask zeta/y => 3
		queue => zeta/x,b,zeta/y,c,d
		end a
		ask b => 2
		ask zeta/x => yes
		queue => b,zeta/y,c,d`},
	{"a weight of two is two turns for one", slots.Limits{Total: 1}, map[string]float64{"metal3": 2}, `
		ask a => yes
		ask b => 1
		ask c => 2
		ask d => 3
		ask e => 4
		ask zeta/x => 1
		ask zeta/y => 4
		queue => zeta/x,b,c,zeta/y,d,e`},
	{"absence earns nothing", slots.Limits{Total: 1}, nil, `
		ask zeta/x => yes
		end zeta/x
		ask a => yes
		ask b => 1
		ask c => 2
		end a
		ask b => yes
		end b
		ask c => yes
		ask d => 1
		ask e => 2
		ask zeta/y => 1
		ask zeta/z => 3`},
	{"being stopped earns nothing", slots.Limits{Total: 1}, nil, `
		ask zeta/x => yes
		ask zeta/y => 1
		stop zeta/y
		end zeta/x
		ask a => yes
		end a
		ask b => yes
		end b
		ask c => yes
		ask d => 1
		ask zeta/y => 1
		ask zeta/z => 3`},
	{"errors put a host behind others, and not behind those that come much later", slots.Limits{Total: 1}, nil, `
		ask a => yes
		ask bad errors=1 => 1
		ask b => 1
		ask c => 2
		ask d => 3
		ask e => 5
		queue => b,c,d,bad,e`},
	{"a host that failed keeps no slot, and nobody behind whom it must go loses its turn", slots.Limits{Total: 1}, nil, `
		ask a => yes
		ask b => 1
		ask c => 2
		fail a
		ask a errors=1 => 3
		ask b => yes
		fail b
		ask c => yes
		end c
		ask a errors=1 => yes`},
	{"a host that failed goes behind those that come next, as far as its errors say", slots.Limits{Total: 1}, nil, `
		ask a => yes
		ask b => 1
		fail a
		ask a errors=1 => 2
		ask c => 2
		ask d => 3
		ask e => 4
		ask f => 6
		queue => b,c,d,e,a,f`},
	{"a host that failed without an error of its own queues again at the end", slots.Limits{Total: 1}, nil, `
		ask a => yes
		ask b => 1
		ask c => 2
		fail a
		ask a => 3
		queue => b,c,a`},
	{"errors that come or go while a host waits move it, and it keeps what it has waited for", slots.Limits{Total: 1}, nil, `
		ask a => yes
		ask b => 1
		ask c => 2
		ask d => 3
		ask b errors=3 => 3
		ask b => 1`},
	{"failing hosts get a quarter while healthy ones wait", slots.Limits{Total: 4}, nil, `
		ask a => yes
		ask b => yes
		ask bad1 errors=2 => yes
		ask bad2 errors=2 => yes
		ask bad3 errors=2 => 1
		ask c => 1
		ask bad3 errors=2 => 2
		end a
		ask bad3 errors=2 => 2 capped
		ask c => yes
		end b
		ask bad3 errors=2 => yes`},
	{"failing hosts of a group are failing hosts of all", slots.Limits{Total: 8, Groups: map[string]int{"r1": 8}}, nil, `
		ask bad1 group=r1 errors=2 => yes
		ask a => yes
		ask b => yes
		ask c => yes
		ask d => yes
		ask e => yes
		ask f => yes
		ask g => yes
		ask h => 1
		ask i => 2
		ask bad2 group=r1 errors=2 => 3
		ask bad3 errors=2 => 3
		end a
		end b
		end c
		ask bad2 group=r1 errors=2 => yes
		ask bad3 errors=2 => 3 capped`},
	{"a host of a group may have any free slot", slots.Limits{Total: 2, Groups: map[string]int{"r1": 1}}, nil, `
		ask a => yes
		ask b => yes
		ask c => 1
		ask d group=r1 => 2
		end a
		ask d group=r1 => 2
		end b
		ask d group=r1 => yes`},
	{"a full group is in nobody's way, and no member passes another", slots.Limits{Total: 3, Groups: map[string]int{"r1": 1}}, nil, `
		ask a group=r1 => yes
		ask b group=r1 => 1
		ask c group=r1 => 2
		ask d => yes
		ask e => yes
		ask f => 1
		end d
		ask c group=r1 => 2
		ask f => yes
		end a
		ask c group=r1 => 2
		ask b group=r1 => yes`},
	{"who is stopped waits aside, and comes back to its place", slots.Limits{Total: 1}, nil, `
		ask a => yes
		ask b => 1
		ask c => 2
		stop b
		ask c => 1
		ask b => 1
		queue => b,c`},
	{"who leaves comes back to the end", slots.Limits{Total: 1}, nil, `
		ask a => yes
		ask b => 1
		ask c => 2
		leave b
		ask b => 2
		queue => c,b`},
	{"another record of a host gets its place and time, unless it has a place", slots.Limits{Total: 1}, nil, `
		ask a => yes
		ask b => 1
		ask d => 2
		leave d
		+5s ask b => 1
		+5s ask c => 2
		join b d
		queue => d,c
		waited d => 10s
		join c d
		queue => d`},
	{"a higher limit lets the first ones start, a lower one nobody", slots.Limits{Total: 1}, nil, `
		ask a => yes
		ask b => 1
		ask c => 2
		ask d => 3
		limit 3
		ask d => 3
		ask c => yes
		ask b => yes
		limit 1
		end a
		ask d => 1`},
}

func TestTurns(t *testing.T) {
	for _, c := range situations {
		t.Run(c.name, func(t *testing.T) {
			s := newSite(c.limits, c.weights)
			for line := range strings.Lines(strings.TrimSpace(c.lines)) {
				event, want, _ := strings.Cut(strings.TrimSpace(line), "=>")
				if got := s.do(strings.TrimSpace(event)); got != strings.TrimSpace(want) {
					t.Errorf("%s came to %q, want %q", strings.TrimSpace(event), got, strings.TrimSpace(want))
				}
				if wrong := s.inconsistent(); wrong != "" {
					t.Errorf("after %s: %s", strings.TrimSpace(event), wrong)
				}
			}
		})
	}
}

func TestWeightsAreChecked(t *testing.T) {
	for _, c := range []struct {
		weights fairshare.Weights
		want    string // "": they are valid
	}{
		{nil, ""},
		{fairshare.Weights{"a": 0.01, "b": 100}, ""},
		{fairshare.Weights{"a": 0}, `weight of tenant "a": 0 is not within 0.01..100`},
		{fairshare.Weights{"a": 101}, `weight of tenant "a": 101 is not within 0.01..100`},
	} {
		got := ""
		if err := c.weights.Validate(); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%+v: %q, want %q", c.weights, got, c.want)
		}
	}
}
