// Soak plays random histories of the whole system in virtual time (internal/rig/soak) until one breaks a law:
//
//	go run ./hack/soak -histories 10000
//	go run ./hack/soak -for 1h -seed 1000000
//	go run ./hack/soak -only 17
//
// It ends with 1 when a law is broken, and tells the history with as few faults as it takes.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/soak"
)

func main() {
	debug.SetGCPercent(-1) // nothing else runs here, and a history leaves little behind
	debug.SetMemoryLimit(512 << 20)
	switch err := run(os.Args[1:], os.Stdout, os.Stderr); {
	case errors.Is(err, flag.ErrHelp):
	case errors.Is(err, errBroken):
		os.Exit(1)
	case err != nil:
		fmt.Fprintln(os.Stderr, "soak:", err)
		os.Exit(2)
	}
}

var errBroken = errors.New("a law is broken")

// order is what is to be played.
type order struct {
	histories int
	lasts     time.Duration
	seed      uint64
	only      uint64
	workers   int
	lines     int
	match     string
	shrink    bool
	plain     bool
}

func run(args []string, stdout, stderr io.Writer) error {
	var o order
	flags := flag.NewFlagSet("soak", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.IntVar(&o.histories, "histories", 10000, "how many histories")
	flags.DurationVar(&o.lasts, "for", 0, "play for so long instead")
	flags.Uint64Var(&o.seed, "seed", 1, "the first seed")
	flags.Uint64Var(&o.only, "only", 0, "tell the history of this seed")
	flags.IntVar(&o.workers, "workers", 1, "histories side by side")
	flags.IntVar(&o.lines, "lines", 60, "how many of the last lines of a broken history to show")
	flags.StringVar(&o.match, "match", "", "of a history that is told, show the lines alone that match this regular expression")
	flags.BoolVar(&o.shrink, "shrink", false, "with -only, tell it with as few faults as it still breaks a law with")
	flags.BoolVar(&o.plain, "plain", false, "do not tell the history that broke a law")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 || o.histories < 1 || o.workers < 1 || o.lasts < 0 || o.lines < 1 {
		return fmt.Errorf("%v: want histories, workers and lines above 0, and no further words", args)
	}
	if o.only != 0 {
		how := soak.Tell
		if o.shrink {
			how = soak.Shrink
		}
		o.lines = 1 << 30
		return o.tell(stdout, how(o.only))
	}
	return play(o, stdout, stderr)
}

func play(o order, stdout, stderr io.Writer) error {
	var (
		mu     sync.Mutex
		all    sync.WaitGroup
		sum    soak.Tally
		played int
		next   = o.seed
		broken *soak.Result
	)
	begin, told := time.Now(), time.Now()
	for range o.workers {
		all.Go(func() {
			for {
				mu.Lock()
				over := o.lasts == 0 && next-o.seed >= uint64(o.histories) || o.lasts > 0 && time.Since(begin) >= o.lasts
				if over || broken != nil {
					mu.Unlock()
					return
				}
				seed := next
				next++
				mu.Unlock()
				r := soak.Play(seed)
				mu.Lock()
				sum.Add(&r.Tally)
				played++
				if r.Broken != "" && (broken == nil || seed < broken.Seed) {
					broken = &r
				}
				if time.Since(told) > 30*time.Second {
					told = time.Now()
					fmt.Fprintf(stderr, "%d histories, %.0f a second\n", played, float64(played)/time.Since(begin).Seconds())
				}
				mu.Unlock()
			}
		})
	}
	all.Wait()
	fmt.Fprintf(stdout, "%d histories from seed %d in %v, %.0f a second\n", played, o.seed,
		time.Since(begin).Round(time.Second), float64(played)/time.Since(begin).Seconds())
	fmt.Fprint(stdout, sum.String())
	if broken == nil {
		fmt.Fprintln(stdout, "no law was broken")
		return nil
	}
	fmt.Fprintf(stdout, "\nBROKEN, seed %d: %s\n", broken.Seed, broken.Broken)
	if o.plain {
		return errBroken
	}
	return o.tell(stdout, soak.Shrink(broken.Seed))
}

// tell writes the last lines of a history.
func (o order) tell(stdout io.Writer, r soak.Result) error {
	match, err := regexp.Compile(o.match)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "seed %d with %s; hash %016x\n", r.Seed, strings.Join(r.Faults, ", "), r.Hash)
	story := slices.DeleteFunc(r.Story, func(line string) bool { return !match.MatchString(line) })
	story = story[max(0, len(story)-o.lines):]
	fmt.Fprintln(stdout, strings.Join(story, "\n"))
	if r.Broken != "" {
		fmt.Fprintf(stdout, "%s\n(see all of it with -only %d)\n", r.Broken, r.Seed)
		return errBroken
	}
	return nil
}
