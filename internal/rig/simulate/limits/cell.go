package limits

import (
	"fmt"
	"strings"
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

// Cells lists all of them for storms of so many hosts. A site without a capacity has none to halve.
func Cells(hosts ...int) []Cell {
	var out []Cell
	for _, n := range hosts {
		for _, model := range []fakeironic.BootModel{fakeironic.BootCliff, fakeironic.BootShared} {
			for _, capacity := range []int{10, 25, 50, 100, simulate.NoBootLimit} {
				for _, failing := range []float64{0, 0.1, 0.3} {
					for _, halved := range []bool{false, true} {
						if !halved || capacity != simulate.NoBootLimit {
							out = append(out, Cell{model, capacity, failing, n, halved})
						}
					}
				}
			}
		}
	}
	return out
}

// Choose returns the cells whose name contains one of parts; no parts are all cells.
func Choose(cells []Cell, parts []string) []Cell {
	if len(parts) == 0 {
		return cells
	}
	var out []Cell
	for _, c := range cells {
		for _, part := range parts {
			if strings.Contains(c.String(), part) {
				out = append(out, c)
				break
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

// AtEnd is the site as it is at the end of the storm: what is learned then is true of it.
func (c Cell) AtEnd() Cell {
	if c.Halved {
		c.Capacity, c.Halved = c.Capacity/2, false
	}
	return c
}

// Storm returns the storm of the cell with a fixed limit.
func (c Cell) Storm(limit int, seed uint64) simulate.Options {
	o := simulate.DefaultOptions()
	o.Hosts, o.Failing, o.BootCapacity, o.BootModel, o.Limit, o.Seed = c.Hosts, c.Failing, c.Capacity, c.Model, limit, seed
	o.Tenants = min(o.Tenants, c.Hosts)
	if c.Halved {
		o.BootChange = simulate.BootChange{Capacity: c.Capacity / 2, At: c.middle()}
	}
	return o
}

// wanted is about the best limit of a site: a host boots for three fifths of its work.
func (c Cell) wanted() int {
	if c.Capacity == simulate.NoBootLimit {
		return c.Ceiling()
	}
	return min(c.Ceiling(), max(1, c.Capacity*17/10))
}

// middle is half of the time in which a good limit would be through with all hosts.
func (c Cell) middle() time.Duration {
	const life = 11 * time.Minute
	return time.Duration(c.Hosts) * life / time.Duration(2*c.wanted())
}
