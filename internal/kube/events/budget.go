package events

import "time"

// budget lets at most a fixed number of requests begin within any minute, however it is
// laid: a tenth of them at once, the others spread. Times are since the board's start.
type budget struct {
	interval time.Duration // between two requests in the long run
	ahead    time.Duration // by how much a burst may be before that
	next     time.Duration // when the next request would be due without a burst
}

func newBudget(perMinute int) budget {
	burst := max(1, perMinute/10)
	spread := time.Duration(perMinute - burst + 1)
	interval := (time.Minute + spread - 1) / spread
	return budget{interval: interval, ahead: time.Duration(burst-1) * interval}
}

// wait returns for how long no request may begin.
func (b *budget) wait(now time.Duration) time.Duration {
	b.next = min(b.next, now+b.ahead+b.interval) // a clock that was set back
	return max(0, b.next-b.ahead-now)
}

// spend notes that a request begins.
func (b *budget) spend(now time.Duration) { b.next = max(b.next, now) + b.interval }
