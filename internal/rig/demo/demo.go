package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/fakeironic"
	"github.com/ironic-throttle/ironic-throttle/internal/rig/simulate"
	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// Summary has the figures of a storm.
type Summary struct {
	simulate.Summary
	Interrupted bool `json:"interrupted"`
}

const (
	sampling  = 100 * time.Millisecond // real time between two looks
	lineEvery = 3 * time.Second        // real time between two lines of progress
)

// Run plays the storm of valid options. It prints the summary to Stdout, and progress to Stderr. An error is a part
// that broke; a limit that did not hold is not an error: see Summary.Exceeded. If ctx ends early, the summary is of the
// storm so far.
func Run(ctx context.Context, o Options, out simulate.Output) (Summary, error) {
	o = o.usual()
	fmt.Fprintf(out.Stderr, "demo:     starts a fake Ironic with %d nodes, a fake BMO, and what decides; "+
		"an hour of the storm takes about %s\n", o.Hosts, time.Duration(float64(time.Hour)/o.Speed).Round(time.Second))
	s, err := newStage(ctx, o)
	if err != nil {
		return Summary{}, errors.Join(err, s.close())
	}
	sum, err := play(ctx, s, out)
	return sum, errors.Join(err, s.close())
}

func play(ctx context.Context, s *stage, out simulate.Output) (Summary, error) {
	if _, err := io.WriteString(out.Stderr, s.announcement()); err != nil {
		return Summary{}, err
	}
	if err := s.ready(s.ctx); err != nil {
		if ctx.Err() != nil {
			err = errors.New("interrupted before the storm began")
		}
		return Summary{}, err
	}
	s.begin()
	sum := watch(s, out.Stderr)
	if err := context.Cause(s.ctx); err != nil && ctx.Err() == nil {
		return Summary{}, fmt.Errorf("a part of the demo ended: %w", err)
	}
	if err := sum.print(out); err != nil {
		return sum, err
	}
	if s.opt.Keep && ctx.Err() == nil {
		fmt.Fprintln(out.Stderr, "everything runs on; interrupt to end it")
		<-s.ctx.Done()
	}
	return sum, nil
}

// watch looks until the storm is over or interrupted.
func watch(s *stage, progress io.Writer) Summary {
	var line time.Time
	tick := time.NewTicker(sampling)
	defer tick.Stop()
	for {
		interrupted := false
		select {
		case <-s.ctx.Done():
			interrupted = true
		case <-tick.C:
		}
		sum, truth := s.look()
		sum.Interrupted = interrupted
		over := sum.Provisioned+sum.Failed == sum.Hosts
		if over || interrupted || time.Since(line) >= lineEvery {
			line = time.Now()
			fmt.Fprintf(progress, "%8s  slots %d/%d  working %d (peak %d)  provisioned %d/%d  given up %d\n",
				lasts(sum.MakespanSeconds), s.app.Status().Slots.Total.Occupied, sum.Limit, truth.Working,
				sum.PeakWorking, sum.Provisioned, sum.Hosts, sum.Failed)
		}
		if over || interrupted {
			return sum
		}
	}
}

func lasts(seconds float64) time.Duration {
	return time.Duration(seconds * float64(time.Second)).Round(time.Second)
}

// look returns the summary so far.
func (s *stage) look() (Summary, fakeironic.Truth) {
	o, t := s.opt, s.ironic.Truth()
	sum := Summary{Summary: simulate.Summary{
		Policy: o.Policy, Via: o.Via, Hosts: o.Hosts, Limit: o.Limit, PeakWorking: t.PeakWorking,
		OverLimitSeconds: t.OverLimit.Seconds() * o.Speed, MakespanSeconds: time.Since(s.begun).Seconds() * o.Speed,
		IronicRequests: t.Requests.All, IronicListRequests: t.Requests.Lists,
	}}
	for _, h := range s.bmo.Hosts() {
		switch {
		case h.State == api.BMHProvisioned:
			sum.Provisioned++
		case h.GaveUp:
			sum.Failed++
		}
	}
	return sum, t
}

// announcement says which storm is played, and at which URLs one can look at it.
func (s *stage) announcement() string {
	o := s.opt
	text := fmt.Sprintf("storm:    %d hosts, limit %d, %d workers, via %s; one second plays %s\n",
		o.Hosts, o.Limit, o.Workers, o.Via, time.Duration(o.Speed*float64(time.Second)))
	text += fmt.Sprintf("Ironic:   %s/v1 (fake; truth at %s/fake/truth)\n", s.url, s.url)
	at := s.app.Addresses()
	text += fmt.Sprintf("throttle: %s/ (page), %s/v1/status, %s/metrics\n", at["api"], at["api"], at["metrics"])
	if o.Via == simulate.ViaGateway {
		text += fmt.Sprintf("gateway:  %s/v1 (IRONIC_ENDPOINT of the fake BMO)\n", at["gateway"])
	}
	return text
}

// print prints the summary as a table or as JSON.
func (s Summary) print(out simulate.Output) error {
	if out.JSON {
		return json.NewEncoder(out.Stdout).Encode(s)
	}
	w := tabwriter.NewWriter(out.Stdout, 0, 0, 2, ' ', 0)
	verdict := "the limit held"
	if s.Exceeded() {
		verdict = "ABOVE THE LIMIT for " + lasts(s.OverLimitSeconds).String()
	}
	fmt.Fprintf(w, "via\t%s\nhosts\t%d: %d provisioned, %d given up\nlimit\t%d\n",
		s.Via, s.Hosts, s.Provisioned, s.Failed, s.Limit)
	fmt.Fprintf(w, "peak of working hosts\t%d, %s\nmakespan\t%s\n", s.PeakWorking, verdict, lasts(s.MakespanSeconds))
	fmt.Fprintf(w, "requests to Ironic\t%d, of these %d lists\n", s.IronicRequests, s.IronicListRequests)
	if s.Interrupted {
		fmt.Fprintf(w, "NOT FINISHED\tinterrupted\n")
	}
	return w.Flush()
}
