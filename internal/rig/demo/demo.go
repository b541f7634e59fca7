package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/measure"
)

// Output is where a demo speaks to. The summary goes to Stdout, all progress to Stderr.
type Output struct {
	Stdout, Stderr io.Writer
	JSON           bool // the summary is one JSON object
}

const (
	sampling  = 25 * time.Millisecond // between two looks, real
	lineEvery = 3 * time.Second       // between two lines of progress, real
)

// Run plays the storm and prints its summary. Errors are a wrong option, or a part that broke; a limit that did not
// hold is not one, see Summary.Exceeded and Summary.Unfinished. A ctx that ends early ends the storm with the summary
// so far.
func Run(ctx context.Context, o Options, out Output) (measure.Summary, error) {
	if err := o.Validate(); err != nil {
		return measure.Summary{}, err
	}
	o = o.usual()
	fmt.Fprintf(out.Stderr, "demo:     starts a fake Ironic with %d nodes, a fake BMO, and what decides; an hour of the storm takes about %s\n",
		o.Hosts, time.Duration(float64(time.Hour)/o.Speed).Round(time.Second))
	s, err := newStage(ctx, o)
	if err != nil {
		return measure.Summary{}, errors.Join(err, s.close())
	}
	sum, err := play(ctx, s, out)
	return sum, errors.Join(err, s.close())
}

func play(ctx context.Context, s *stage, out Output) (measure.Summary, error) {
	if _, err := io.WriteString(out.Stderr, s.announcement()); err != nil {
		return measure.Summary{}, err
	}
	if err := s.ready(s.ctx); err != nil {
		if ctx.Err() != nil {
			err = errors.New("interrupted before the storm began")
		}
		return measure.Summary{}, err
	}
	m := newMeter(s.opt, s.fleet, s.look())
	s.begin()
	why := watch(s, m, out.Stderr, patience(s.opt.Speed))
	if err := context.Cause(s.ctx); err != nil && ctx.Err() == nil {
		return measure.Summary{}, fmt.Errorf("a part of the demo ended: %w", err)
	}
	sum := summarize(s, m, why)
	if err := report(sum, out); err != nil {
		return sum, err
	}
	if s.opt.Keep && ctx.Err() == nil {
		fmt.Fprintln(out.Stderr, "everything runs on; interrupt to end it")
		<-s.ctx.Done()
	}
	return sum, nil
}

// watch samples until the storm is over and says why it was not played to its end, if so: interrupted, or nothing has
// begun or ended for patience, real.
func watch(s *stage, m *meter, progress io.Writer, patience time.Duration) string {
	var line time.Time
	before, moved := movesOf(m.last), m.last.at
	tick := time.NewTicker(sampling)
	defer tick.Stop()
	for {
		select {
		case <-s.ctx.Done():
			m.add(s.look())
			return "interrupted"
		case <-tick.C:
		}
		m.add(s.look())
		now := m.last.at
		over := provisioned(m.last)+gaveUp(m.last) == len(s.fleet)
		if over || now.Sub(line) >= lineEvery {
			line = now
			fmt.Fprintln(progress, m.line(s.opt.Speed))
		}
		if moves := movesOf(m.last); moves != before {
			before, moved = moves, now
		}
		switch {
		case over:
			return ""
		case now.Sub(moved) >= patience:
			return fmt.Sprintf("stopped after %s of simulated time: nothing began or ended any more", m.simulated(s.opt.Speed))
		}
	}
}

// patience is the real time without the begin or end of any work after which a storm is not going to end: longer than
// what Ironic, operator and breakers wait for one after the other, and than a machine that others use is away.
func patience(speed float64) time.Duration {
	return 2*time.Minute + time.Duration(float64(3*time.Hour)/speed)
}

// moves changes whenever a storm goes on.
type moves struct{ started, finished, failed, aborted, provisioned, gaveUp int }

func movesOf(s sample) moves {
	t := s.truth
	return moves{t.Started, t.Finished, t.Failed, t.Aborted, provisioned(s), gaveUp(s)}
}

func summarize(s *stage, m *meter, why string) measure.Summary {
	o := s.opt
	sum := measure.Summary{Policy: o.Policy, Via: o.Via, Hosts: o.Hosts, Limit: o.Limit, Asks: s.asks(), Why: why}
	m.fill(&sum, o.Speed)
	sum.MeanWaitSeconds, sum.P95WaitSeconds = measure.Waits(s.bmo.Waits(), o.Speed)
	return sum
}

// announcement tells what is played and where it can be looked at.
func (s *stage) announcement() string {
	o := s.opt
	text := fmt.Sprintf("storm:    %d hosts, limit %d, %d workers, policy %s, via %s; one second plays %s\nIronic:   %s/v1 (fake; truth at %s/fake/truth)\n",
		o.Hosts, o.Limit, o.Workers, o.Policy, o.Via, time.Duration(o.Speed*float64(time.Second)), s.url, s.url)
	if s.app != nil {
		at := s.app.Addresses()
		text += fmt.Sprintf("throttle: %s/ (page), %s/v1/status, %s/metrics\n", at.API, at.API, at.Metrics)
	}
	if o.Via == measure.ViaGateway {
		text += fmt.Sprintf("gateway:  %s/v1 (IRONIC_ENDPOINT of the fake BMO)\n", s.app.Addresses().Gateway)
	}
	return text
}

// report prints the summary.
func report(sum measure.Summary, out Output) error {
	if sum.Why != "" {
		fmt.Fprintln(out.Stderr, "not finished:", sum.Why)
	}
	if !out.JSON {
		return sum.Write(out.Stdout)
	}
	return json.NewEncoder(out.Stdout).Encode(sum)
}
