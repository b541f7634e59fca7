package events

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/ironic-throttle/ironic-throttle/pkg/api"
)

// "Has its turn" was told half a minute after the end of the work: a host is told of once a
// minute, and the Event waited for that.
func TestAnEventThatIsOverIsNotSent(t *testing.T) {
	var waits, works atomic.Bool // the sender asks
	stands := func(string, string) (bool, bool) { return waits.Load(), works.Load() }
	set := func(waiting, working bool) {
		waits.Store(waiting)
		works.Store(working)
	}
	inRoom(t, Options{Stands: stands}, func(r *room) {
		waits.Store(true)
		r.Answered("metal3", "a", *no(api.ReasonFull, 3))
		r.wants("a ProvisioningWaiting")
		set(false, true)
		r.Answered("metal3", "a", *yes(api.ReasonGranted))
		r.Answered("metal3", "a", *yes(api.ReasonHeldSlot))
		works.Store(false) // within the minute
		r.after(perHost)
		r.wants()
		if s := r.Stats(); s.Events != (Tally{Sent: 1, Dropped: 1}) || s.Hosts != 0 {
			t.Errorf("%+v", s)
		}
		// The next wait is told anew, and its turn while that lasts.
		waits.Store(true)
		r.Answered("metal3", "a", *no(api.ReasonFull, 5))
		r.wants("a ProvisioningWaiting")
		set(false, true)
		r.Answered("metal3", "a", *yes(api.ReasonGranted))
		r.after(perHost)
		r.wants("a ProvisioningTurn")
	})
	// Started by somebody else, or gone from the queue, it waits for nothing.
	inRoom(t, Options{Stands: stands, PerMinute: 10}, func(r *room) {
		set(true, false)
		for i := range 4 {
			r.Answered("metal3", fmt.Sprint("h", i), *no(api.ReasonFull, 1)) // one goes at once
		}
		r.after(0)
		set(false, true)
		r.after(perHost)
		r.wants("h0 ProvisioningWaiting")
		works.Store(false)
		r.Answered("metal3", "b", *no(api.ReasonBreakerOpen, 0))
		r.Answered("metal3", "c", *no(api.ReasonStale, 0))
		r.Answered("metal3", "d", *hold("e1"))
		r.after(settleUnknown)
		r.wants("d ProvisioningHeld",
			"b ProvisioningPaused",
			"c ProvisioningUndecided")
	})
	// What is told beside it is a fact.
	inRoom(t, Options{Stands: stands}, func(r *room) {
		set(true, false)
		r.Answered("metal3", "a", *no(api.ReasonFull, 3))
		r.ReleaseRefused("metal3", "a", "the present episode is e2")
		r.after(0)
		r.api.told()
		r.Answered("metal3", "a", *yes(api.ReasonGranted))
		r.Ignored("metal3", "a", "The annotation is no duration")
		r.after(perHost)
		r.wants("a ProvisioningAnnotationIgnored")
	})
}
