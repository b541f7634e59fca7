package ironic

import (
	"context"
	"time"
)

// Run polls at once and then after each pause, until ctx ends; it then returns nil. While a host waits for a slot that
// may come free, the pause is a tenth of the usual one, but polls take at most a fifth of the time.
//
// It logs when Ironic stops answering, when the cause changes, and when Ironic answers again.
func (p *Poller) Run(ctx context.Context) error {
	var last Cause      // the cause of the last failure; "": the last poll completed
	var since time.Time // when the first poll failed
	for {
		begun := time.Now()
		err := p.PollOnce(ctx)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // the caller has ended ctx, so the error does not matter
		}
		switch cause := CauseOf(err); {
		case cause == last:
		case err != nil:
			p.opts.Log.Warn("ironic cannot be read", "cause", string(cause), "error", err)
			if last == "" {
				since = begun
			}
		default:
			p.opts.Log.Info("ironic can be read again", "after", time.Since(since).Round(time.Second))
		}
		last = CauseOf(err)
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
