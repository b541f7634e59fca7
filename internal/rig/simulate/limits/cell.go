package limits

import (
	"fmt"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/simulate"
)

// Cell is one kind of site and storm.
type Cell struct {
	Model    fakeironic.BootModel `json:"model"`
	Capacity int                  `json:"capacity"` // simulate.NoBootLimit: any number of hosts can boot at once
	Failing  float64              `json:"failing"`
	Hosts    int                  `json:"hosts"`
	Halved   bool                 `json:"halved"` // in the middle of the storm the capacity becomes half of that
}

// Cells lists all of them. A site without a capacity has none to halve.
func Cells() []Cell {
	var out []Cell
	for _, hosts := range []int{200, 3000} {
		for _, model := range []fakeironic.BootModel{fakeironic.BootCliff, fakeironic.BootShared} {
			for _, capacity := range []int{10, 25, 50, 100, simulate.NoBootLimit} {
				for _, failing := range []float64{0, 0.1, 0.3} {
					for _, halved := range []bool{false, true} {
						if !halved || capacity != simulate.NoBootLimit {
							out = append(out, Cell{model, capacity, failing, hosts, halved})
						}
					}
				}
			}
		}
	}
	return out
}

// String names the cell, such as cliff-25-0.1-3000-halved.
func (c Cell) String() string {
	capacity, halved := fmt.Sprint(c.Capacity), ""
	if c.Capacity == simulate.NoBootLimit {
		capacity = "any"
	}
	if c.Halved {
		halved = "-halved"
	}
	return fmt.Sprintf("%s-%s-%v-%d%s", c.Model, capacity, c.Failing, c.Hosts, halved)
}

// Ceiling is the highest limit that is tried, and what the adaptive one stays below: half of the hosts, at
// most 200. One as high as there are hosts is none.
func (c Cell) Ceiling() int { return min(200, c.Hosts/2) }

// Storm returns the storm of the cell with a fixed limit.
func (c Cell) Storm(limit int, seed uint64) simulate.Options {
	o := simulate.DefaultOptions()
	o.Hosts, o.Failing, o.BootCapacity, o.BootModel, o.Limit, o.Seed = c.Hosts, c.Failing, c.Capacity, c.Model, limit, seed
	if c.Halved {
		o.BootChange = simulate.BootChange{Capacity: c.Capacity / 2, At: c.middle()}
	}
	return o
}

// middle is half of the time in which a good limit would be through with all hosts.
func (c Cell) middle() time.Duration {
	const life = 11 * time.Minute
	if c.Capacity < 0 {
		return 0
	}
	slots := min(c.Ceiling(), c.Capacity*17/10)
	return time.Duration(c.Hosts) * life / time.Duration(2*slots)
}
