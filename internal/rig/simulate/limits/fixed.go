package limits

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/simulate"
)

// ladder is the fixed limits that are tried; usual is that of the settings, which always is.
var ladder = []int{4, 5, 6, 8, 10, 13, 16, 20, 25, 32, 40, 50, 63, 80, 100, 126, 160, 200}

const usual = 20

// Fixed is how long storms of a cell took with a fixed limit, in seconds by seed from 1 on.
type Fixed map[int][]float64

// Table is what is known of fixed limits.
type Table map[Cell]Fixed

// line is an entry of a table as it is kept.
type line struct {
	Cell  Cell  `json:"cell"`
	Fixed Fixed `json:"fixed"`
}

// ReadTable reads lines of JSON as Append writes them. Of a cell that is there twice the last counts.
func ReadTable(from io.Reader) (Table, error) {
	out := Table{}
	in := json.NewDecoder(from)
	in.DisallowUnknownFields()
	for n := 1; ; n++ {
		var l line
		err := in.Decode(&l)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err == nil {
			err = l.Fixed.check()
		}
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", n, err)
		}
		out[l.Cell] = l.Fixed
	}
}

func (f Fixed) check() error {
	if len(f) == 0 {
		return errors.New("fixed: must name at least one limit")
	}
	for limit, all := range f {
		if limit < 1 || len(all) == 0 || slices.Min(all) <= 0 {
			return fmt.Errorf("fixed: limit %d: makespans %v: limits must be 1 and more, each with makespans above 0", limit, all)
		}
	}
	return nil
}

// Append writes what is known of a cell behind a table.
func Append(to io.Writer, c Cell, f Fixed) error {
	text, err := json.Marshal(line{c, f})
	if err != nil {
		return err
	}
	_, err = to.Write(append(text, '\n'))
	return err
}

// Missing lists the cells that the table lacks, those of sites as they are at the end too.
func (t Table) Missing(cells []Cell) []Cell {
	var out []Cell
	for _, c := range cells {
		for _, c := range []Cell{c, c.AtEnd()} {
			if t[c] == nil && !slices.Contains(out, c) {
				out = append(out, c)
			}
		}
	}
	return out
}

// Sweep plays cells with fixed limits, several at a time, and hands each to done in their order.
func Sweep(ctx context.Context, cells []Cell, seeds int, done func(c Cell, f Fixed) error) error {
	play := func(ctx context.Context, i int) (Fixed, error) { return sweep(ctx, cells[i], seeds) }
	return simulate.InOrder(ctx, len(cells), play, func(i int, f Fixed) error { return done(cells[i], f) })
}

// sweep plays the limits of the ladder from a good one on in both directions, until two in a row are worse
// than the best, and the usual one.
func sweep(ctx context.Context, c Cell, seeds int) (Fixed, error) {
	out := Fixed{}
	play := func(limit int) (float64, error) {
		for seed := len(out[limit]) + 1; seed <= seeds; seed++ {
			r, err := simulate.Run(ctx, c.Storm(limit, uint64(seed)))
			if err == nil {
				err = ctx.Err()
			}
			if err == nil && r.Unfinished() != "" {
				err = errors.New(r.Unfinished())
			}
			if err != nil {
				return 0, fmt.Errorf("%s, limit %d, seed %d: %w", c, limit, seed, err)
			}
			out[limit] = append(out[limit], r.MakespanSeconds)
		}
		return Median(out[limit]), nil
	}
	steps := slices.DeleteFunc(slices.Clone(ladder), func(l int) bool { return l > max(c.Ceiling(), ladder[0]) })
	first, _ := slices.BinarySearch(steps, c.wanted())
	first = min(first, len(steps)-1)
	best, err := play(steps[first])
	if err != nil {
		return nil, err
	}
	const worse, twice = 1.04, 2
	for _, step := range []int{1, -1} {
		row := 0
		for i := first + step; i >= 0 && i < len(steps) && row < twice; i += step {
			m, err := play(steps[i])
			if err != nil {
				return nil, err
			}
			if m > worse*best {
				row++
			}
			best = min(best, m)
		}
	}
	_, err = play(usual)
	return out, err
}

// Best returns the limit with the shortest median up to the ceiling, and that; 0 where none is known.
func (f Fixed) Best(ceiling int) (limit int, makespan float64) {
	for _, l := range f.limits() {
		if m := Median(f[l]); l <= ceiling && (limit == 0 || m < makespan) {
			limit, makespan = l, m
		}
	}
	return limit, makespan
}

// limits lists those that were played, the lowest first.
func (f Fixed) limits() []int {
	var out []int
	for l := range f {
		out = append(out, l)
	}
	slices.Sort(out)
	return out
}

// asGood is the part of the best makespan that a limit may take longer, and near how far a recommended
// limit may be from it.
const asGood, near = 0.05, 0.20

// Right reports whether a limit is near one that is as good as the best. Nobody has played limits above the
// ceiling: they count as that.
func (f Fixed) Right(limit, ceiling int) bool {
	_, best := f.Best(ceiling)
	limit = min(limit, ceiling)
	return slices.ContainsFunc(f.limits(), func(l int) bool {
		off := max(limit-l, l-limit)
		return l <= ceiling && Median(f[l]) <= (1+asGood)*best && float64(off) <= near*float64(l)
	})
}

// Median returns the middle of all; 0 of none.
func Median(all []float64) float64 {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return (sorted[len(sorted)/2] + sorted[(len(sorted)-1)/2]) / 2
}
