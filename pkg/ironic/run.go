package ironic

import (
	"context"
	"time"
)

// Run polls at once and then again after each pause, until ctx ends; it then returns nil. While somebody waits for a
// slot that may come free the pause is a tenth of the usual one, but long enough that no more than a fifth of the time
// is spent on polls.
//
// It logs when Ironic stops answering, when the cause changes and when it answers again; never a single poll.
func (p *Poller) Run(ctx context.Context) error {
	var away Cause // "" while all is well
	var since time.Time
	for {
		begun := time.Now()
		err := p.PollOnce(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // stopped on request, whatever the last poll said
		}
		switch cause := CauseOf(err); {
		case cause == away:
		case err != nil:
			p.opts.Log.Warn("ironic cannot be read", "cause", string(cause), "error", err)
			if away == "" {
				since = begun
			}
		default:
			p.opts.Log.Info("ironic can be read again", "after", time.Since(since).Round(time.Second))
		}
		away = CauseOf(err)
		d := time.Duration(p.interval.Load())
		d += time.Duration((2*p.opts.Jitter() - 1) * jitterPart * float64(d))
		if err == nil && p.view.Hurries(p.opts.Now()) {
			d = min(d, max(d/hurryPart, hurryPause*time.Since(begun)))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-p.paced:
		case <-time.After(d):
		}
	}
}
