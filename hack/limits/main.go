// Command limits.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/simulate"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/simulate/limits"
	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
)

type line struct {
	Cell  limits.Cell  `json:"cell"`
	Fixed limits.Fixed `json:"fixed"`
}

func main() {
	sweep := flag.Bool("sweep", false, "")
	seeds := flag.Int("seeds", 3, "")
	only := flag.String("only", "", "")
	file := flag.String("file", "/tmp/grid/best.jsonl", "")
	warm := flag.Int("warm", 0, "")
	j := flag.Int("j", 2, "")
	flag.Parse()
	debug.SetGCPercent(400)
	known := map[limits.Cell]limits.Fixed{}
	if f, err := os.Open(*file); err == nil {
		d := json.NewDecoder(f)
		for {
			var l line
			if d.Decode(&l) != nil {
				break
			}
			known[l.Cell] = l.Fixed
		}
		f.Close()
	}
	out, _ := os.OpenFile(*file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	work := make(chan limits.Cell)
	var mu sync.Mutex
	var wg sync.WaitGroup
	ctx := context.Background()
	var worst, sums []float64
	okMed, okMax, n := 0, 0, 0
	for range *j {
		wg.Go(func() {
			for c := range work {
				if *sweep {
					f, err := limits.Sweep(ctx, c, *seeds)
					if err != nil {
						panic(err)
					}
					mu.Lock()
					b, _ := json.Marshal(line{c, f})
					out.Write(append(b, '\n'))
					l, m := f.Best(c.Ceiling())
					fmt.Println(c, l, m)
					mu.Unlock()
					continue
				}
				limit, best := known[c].Best(c.Ceiling())
				if limit == 0 {
					continue
				}
				var ratios []float64
				at20 := limits.Median(known[c][20])
				var end []int
				for seed := 1; seed <= *seeds; seed++ {
					o := c.Storm(c.Ceiling(), uint64(seed))
					o.Adaptive = true
					if *warm > 0 {
						first := c
						first.Halved, first.Hosts = false, *warm
						lo := first.Storm(c.Ceiling(), uint64(seed+1000))
						lo.Adaptive = true
						lr, err := simulate.Run(ctx, lo)
						if err != nil {
							panic(err)
						}
						rec := lr.Learned.Pools[""]
						rec.BadAt = rec.BadAt.Add(-time.Duration(lr.MakespanSeconds) * time.Second)
						o.Learned = sizing.State{Pools: map[string]sizing.Record{"": rec}}
						end = append(end, rec.Limit)
					}
					r, err := simulate.Run(ctx, o)
					if err != nil {
						panic(err)
					}
					ratios = append(ratios, r.MakespanSeconds/best)
				}
				mu.Lock()
				m, x := limits.Median(ratios), 0.0
				for _, r := range ratios {
					x = max(x, r)
				}
				n++
				mark := ""
				if m <= 1.10 {
					okMed++
				} else {
					mark += " MED"
				}
				if x <= 1.35 {
					okMax++
				} else {
					mark += " MAX"
				}
				worst, sums = append(worst, x), append(sums, m)
				fmt.Printf("%-32s best %3d %7.0f  at20 %5.2f  median %.3f worst %.3f%s %v\n", c, limit, best, at20/best, m, x, mark, end)
				mu.Unlock()
			}
		})
	}
	for _, c := range limits.Cells() {
		if strings.Contains(c.String(), *only) && (!*sweep || known[c] == nil) {
			work <- c
		}
	}
	close(work)
	wg.Wait()
	if n > 0 {
		fmt.Printf("%s cells %d, median<=1.10 %d, worst<=1.35 %d; median of medians %.3f, of worsts %.3f\n", os.Getenv("TAG"), n, okMed, okMax, limits.Median(sums), limits.Median(worst))
	}
}
