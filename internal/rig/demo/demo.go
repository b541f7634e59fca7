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

// Output is where a demo speaks to. The summary goes to Stdout, all progress to
// Stderr.
type Output struct {
	Stdout, Stderr io.Writer
	// Terminal tells that Stderr is one: progress is a live view there, and a
	// line now and then elsewhere.
	Terminal bool
	JSON     bool // the summary is one JSON object
}

// sampling is the time between two looks, real.
const sampling = 25 * time.Millisecond

// Run plays the storm and prints its summary. Errors are a wrong option, or a
// part that broke; a limit that did not hold is not one, see Summary.Exceeded
// and Summary.Unfinished. A ctx that ends early ends the storm with the summary
// so far.
func Run(ctx context.Context, o Options, out Output) (Summary, error) {
	if err := o.Validate(); err != nil {
		return Summary{}, err
	}
	o = o.usual()
	fmt.Fprintf(out.Stderr, "demo:     starts a fake Ironic with %d nodes, a fake BMO, and what decides; %s\n", o.Hosts, length(o))
	s, err := newStage(ctx, o)
	if err != nil {
		return Summary{}, errors.Join(err, s.close())
	}
	sum, err := play(ctx, s, out)
	return sum, errors.Join(err, s.close())
}

func play(ctx context.Context, s *stage, out Output) (Summary, error) {
	if err := announce(s, out.Stderr); err != nil {
		return Summary{}, err
	}
	if err := s.ready(s.ctx); err != nil {
		if ctx.Err() != nil {
			err = errors.New("interrupted before the storm began")
		}
		return Summary{}, err
	}
	m := newMeter(s.opt, s.fleet, s.look())
	view := newView(s, m, out)
	if err := s.spoil(); err != nil {
		return Summary{}, err
	}
	s.begin()
	why := watch(s, m, view, patience(s.opt.Speed))
	view.end(m)
	if err := context.Cause(s.ctx); err != nil && ctx.Err() == nil {
		return Summary{}, fmt.Errorf("a part of the demo ended: %w", err)
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

// watch samples until the storm is over and says why it was not played to its
// end, if so: interrupted, or nothing has begun or ended for patience, real.
func watch(s *stage, m *meter, view view, patience time.Duration) string {
	var still lull
	tick := time.NewTicker(sampling)
	defer tick.Stop()
	for {
		select {
		case <-s.ctx.Done():
			m.add(s.look())
			return "interrupted"
		case <-tick.C:
		}
		m.spoilt = s.fault.lasts
		m.add(s.look())
		view.show(m)
		simulated := time.Duration(float64(m.last.at.Sub(m.first.at)) * s.opt.Speed)
		silent := still.lasts(m.last.at, movesOf(m.last))
		if err := s.mend(simulated); err != nil {
			return err.Error()
		}
		switch {
		case provisioned(m.last)+gaveUp(m.last) == len(s.fleet):
			return ""
		case s.opt.Duration > 0 && simulated >= s.opt.Duration:
			return ""
		case s.opt.Duration == 0 && silent >= patience:
			return fmt.Sprintf("stopped after %s of simulated time: nothing began or ended any more", simulated.Round(time.Second))
		}
	}
}

// length says how long the usual storm takes, and what others depend on.
func length(o Options) string {
	usual := DefaultOptions().usual()
	if o.Hosts == usual.Hosts && o.Limit == usual.Limit && o.Speed == usual.Speed && o.Scenario == "" && o.Via == usual.Via {
		return "the storm takes about a minute"
	}
	return fmt.Sprintf("an hour of the storm takes about %s", time.Duration(float64(time.Hour)/o.Speed).Round(time.Second))
}

// patience is the real time without the begin or end of any work after which a storm is
// not going to end: longer than what Ironic, operator and breakers wait for one after
// the other, and than a machine that others use is away.
func patience(speed float64) time.Duration {
	return 2*time.Minute + time.Duration(float64(3*time.Hour)/speed)
}

// moves changes whenever a storm goes on.
type moves struct{ started, finished, failed, aborted, provisioned, gaveUp int }

func movesOf(s sample) moves {
	t := s.truth
	return moves{t.Started, t.Finished, t.Failed, t.Aborted, provisioned(s), gaveUp(s)}
}

func summarize(s *stage, m *meter, why string) Summary {
	o := s.opt
	sum := Summary{Summary: measure.Summary{
		Policy: o.Policy, Via: o.Via, Hosts: o.Hosts, Limit: o.Limit, Asks: s.asks(), Why: why,
	}, Failures: s.failures(m), Sizing: s.sizing()}
	m.fill(&sum.Summary, o.Speed)
	sum.MeanWaitSeconds, sum.P95WaitSeconds = measure.Waits(s.bmo.Waits(), o.Speed)
	return sum
}

// announce tells what is played and where it can be looked at.
func announce(s *stage, to io.Writer) error {
	o := s.opt
	text := fmt.Sprintf("storm:    %d hosts, limit %d, %d workers, policy %s, via %s; one second plays %s\nIronic:   %s/v1 (fake; truth at %s/fake/truth)\n",
		o.Hosts, o.Limit, o.Workers, o.Policy, o.Via, time.Duration(o.Speed*float64(time.Second)), s.url, s.url)
	if o.Scenario != "" {
		text += fmt.Sprintf("scenario: the image is bad for the first %v, breaker %s\n", o.FixedAfter, o.Breaker)
	}
	if s.app != nil {
		text += fmt.Sprintf("throttle: %s/ (page), %s/v1/status, %s/metrics\n", s.app.URL(), s.app.URL(), s.app.MetricsURL())
	}
	if o.Via == ViaGateway {
		text += fmt.Sprintf("gateway:  %s/v1 (IRONIC_ENDPOINT of the fake BMO)\n", s.app.GatewayURL())
	}
	text += "storm:    begins as soon as the parts have found each other; a line or a picture follows, the summary comes last\n"
	_, err := io.WriteString(to, text)
	return err
}

// report prints the summary.
func report(sum Summary, out Output) error {
	if sum.Why != "" {
		fmt.Fprintln(out.Stderr, "not finished:", sum.Why)
	}
	if !out.JSON {
		return sum.Write(out.Stdout)
	}
	text, err := json.Marshal(sum)
	if err != nil {
		return err
	}
	_, err = out.Stdout.Write(append(text, '\n'))
	return err
}
