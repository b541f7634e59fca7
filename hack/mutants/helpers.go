package main

// helperText has what the mutants of a package call. MUTANT=-1 chooses none and writes the number of each that
// the tests reach to the file MUTANTS_REACHED.
const helperText = `package %s

import (
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
)

var (
	mutActive, _ = strconv.Atoi(os.Getenv("MUTANT"))
	mutRecords   = mutActive < 0
	mutSeen      [%d]atomic.Bool
)

func mutOn(id int) bool { return id == mutActive || mutRecords && mutReach(id) }

func mutReach(id int) bool {
	if !mutSeen[id].Swap(true) {
		if f, err := os.OpenFile(os.Getenv("MUTANTS_REACHED"), os.O_APPEND|os.O_WRONLY|os.O_CREATE, 0o600); err == nil {
			fmt.Fprintln(f, id)
			f.Close()
		}
	}
	return false
}

type mutInteger interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr
}

type mutNumber interface {
	mutInteger | ~float32 | ~float64
}

func mutZero[T any](on bool, v T) T {
	if on {
		var zero T
		return zero
	}
	return v
}

func mutAdd[T mutNumber](on bool, v, by T) T {
	if on {
		return v + by
	}
	return v
}

func mutSub[T mutNumber](on bool, v, by T) T {
	if on {
		return v - by
	}
	return v
}

func mutPlus[T mutNumber](on bool, a, b T) T {
	if on {
		return a - b
	}
	return a + b
}

func mutMinus[T mutNumber](on bool, a, b T) T {
	if on {
		return a + b
	}
	return a - b
}

func mutTimes[T mutNumber](on bool, a, b T) T {
	if on {
		return a / b
	}
	return a * b
}

func mutOver[T mutNumber](on bool, a, b T) T {
	if on {
		return a * b
	}
	return a / b
}

func mutRest[T mutInteger](on bool, a, b T) T {
	if on {
		return a * b
	}
	return a %% b
}

func mutMin[T mutNumber](on bool, a, b T) T {
	if on {
		return max(a, b)
	}
	return min(a, b)
}

func mutMax[T mutNumber](on bool, a, b T) T {
	if on {
		return min(a, b)
	}
	return max(a, b)
}
`
