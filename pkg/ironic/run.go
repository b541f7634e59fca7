package ironic

import (
	"context"
	"time"
)

// Run polls at once and then again after each pause, until ctx ends; it then returns nil. While somebody waits for a
// slot that may come free the pause is a tenth of the usual one, but long enough that no more than a fifth of the time
// is spent on polls. The first pause after a failure is the usual one, each further one MaxPause.
//
// It logs when Ironic stops answering, when the cause changes and when it answers again; never a single poll.
func (p *Poller) Run(ctx context.Context) error {
	var spell failing
	for {
		begun := time.Now()
		err := p.PollOnce(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // stopped on request, whatever the last poll said
		}
		p.report(&spell, err)
		d := p.delay(spell.polls)
		if err == nil && p.view.Hurries(p.opts.Now()) {
			d = min(d, max(d/hurryPart, hurryPause*time.Since(begun)))
		}
		timer := time.NewTimer(d)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
}

// delay is the pause after so many failures in a row.
func (p *Poller) delay(failures int) time.Duration {
	d := p.opts.Interval
	if failures > 1 {
		d = max(d, p.opts.MaxPause)
	}
	return d + time.Duration((2*p.opts.Jitter()-1)*jitterPart*float64(d))
}

// failing is the spell for which Ironic has not answered; the zero value is none.
type failing struct {
	cause Cause // "" while all is well
	since time.Time
	polls int
}

// report logs a change of state, once.
func (p *Poller) report(spell *failing, err error) {
	now, cause := p.opts.Now(), CauseOf(err)
	switch {
	case err == nil && spell.cause == "":
		return
	case err == nil:
		p.opts.Log.Info("ironic can be read again",
			"after", now.Sub(spell.since).Round(time.Second), "failedPolls", spell.polls)
		*spell = failing{}
		return
	case spell.cause == "":
		*spell = failing{since: now}
		p.opts.Log.Warn("ironic cannot be read", "cause", string(cause), "error", err)
	case spell.cause != cause:
		p.opts.Log.Warn("ironic still cannot be read, for another cause",
			"cause", string(cause), "was", string(spell.cause), "error", err)
	}
	spell.cause = cause
	spell.polls++
}
