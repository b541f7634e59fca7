package fairshare

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// maxMin shares capacity among demands so that nobody's share, divided by its
// weight, could be raised without lowering one that is as small: water rises evenly
// in all vessels, each as wide as its weight, and those that are full are closed.
func maxMin(capacity float64, demand, weight []float64) []float64 {
	share := make([]float64, len(demand))
	open := map[int]bool{}
	for i := range demand {
		open[i] = true
	}
	for len(open) > 0 && capacity > 0 {
		var width float64
		for i := range demand {
			if open[i] {
				width += weight[i]
			}
		}
		// The water rises until a vessel is full or none is left.
		rise, full := capacity/width, -1
		for i := range demand {
			if need := (demand[i] - share[i]) / weight[i]; open[i] && need <= rise {
				rise, full = need, i
			}
		}
		for i := range demand {
			if open[i] {
				share[i] += rise * weight[i]
			}
		}
		if full < 0 {
			break
		}
		capacity -= rise * width
		share[full] = demand[full]
		delete(open, full)
	}
	return share
}

func TestMaxMinByHand(t *testing.T) {
	for _, c := range []struct {
		capacity               float64
		demand, weight, shares []float64
	}{
		{10, []float64{20, 20}, []float64{1, 1}, []float64{5, 5}},
		{10, []float64{2, 20}, []float64{1, 1}, []float64{2, 8}},
		{10, []float64{2, 2}, []float64{1, 1}, []float64{2, 2}},
		{10, []float64{2, 3, 4, 5}, []float64{1, 1, 1, 1}, []float64{2, 8. / 3, 8. / 3, 8. / 3}},
		{10, []float64{2, 2.6, 4, 5}, []float64{1, 1, 1, 1}, []float64{2, 2.6, 2.7, 2.7}},
		{12, []float64{20, 20, 20}, []float64{1, 2, 3}, []float64{2, 4, 6}},
		{12, []float64{20, 20, 3}, []float64{1, 2, 3}, []float64{3, 6, 3}},
		{16, []float64{4, 2, 10, 4}, []float64{2.5, 4, 0.5, 1}, []float64{4, 2, 6, 4}},
		{0, []float64{4}, []float64{1}, []float64{0}},
		{5, []float64{0, 9}, []float64{100, 0.01}, []float64{0, 5}},
	} {
		got := maxMin(c.capacity, c.demand, c.weight)
		for i := range got {
			if math.Abs(got[i]-c.shares[i]) > 1e-9 {
				t.Errorf("%v for demands %v with weights %v: %v, want %v", c.capacity, c.demand, c.weight, got, c.shares)
				break
			}
		}
	}
}

// An allocation is max-min fair exactly when all of it is used or all demands are
// met, and whoever gets less than it wants has the largest share for its weight.
func TestMaxMinIsMaxMin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(t, "tenants")
		numbers := func(name string, low, high int) (list []float64) {
			for range n {
				list = append(list, float64(rapid.IntRange(low, high).Draw(t, name)))
			}
			return list
		}
		capacity, demand, weight := float64(rapid.IntRange(0, 60).Draw(t, "capacity")), numbers("demand", 0, 30), numbers("weight", 1, 10)
		share := maxMin(capacity, demand, weight)
		if err := isMaxMin(capacity, demand, weight, share); err != nil {
			t.Fatalf("%v of %v for demands %v with weights %v: %v", share, capacity, demand, weight, err)
		}
		// Nor is it fair any more when somebody gives to somebody.
		from, to := rapid.IntRange(0, n-1).Draw(t, "from"), rapid.IntRange(0, n-1).Draw(t, "to")
		if d := min(share[from], demand[to]-share[to]) / 2; from != to && d > 1e-6 {
			other := slices.Clone(share)
			other[from], other[to] = share[from]-d, share[to]+d
			if isMaxMin(capacity, demand, weight, other) == nil {
				t.Fatalf("both %v and %v of %v for demands %v with weights %v", share, other, capacity, demand, weight)
			}
		}
	})
}

func isMaxMin(capacity float64, demand, weight, share []float64) error {
	const tiny = 1e-9
	var sum, all float64
	for i := range share {
		sum, all = sum+share[i], all+demand[i]
		if share[i] < -tiny || share[i] > demand[i]+tiny {
			return fmt.Errorf("number %d gets what it does not want", i)
		}
		for j := range share {
			if share[i] < demand[i]-tiny && share[j] > tiny && share[i]/weight[i] < share[j]/weight[j]-tiny {
				return fmt.Errorf("number %d has less than number %d and wants more", i, j)
			}
		}
	}
	if math.Abs(sum-min(capacity, all)) > tiny*float64(len(share)+1) {
		return fmt.Errorf("%v is given of %v", sum, min(capacity, all))
	}
	return nil
}
