package app

import (
	"bytes"
	"time"

	"github.com/ironic-throttle/ironic-throttle/pkg/sizing"
)

// limitsInterval is how often it is checked whether something was learned of limits: that takes
// minutes, and to learn it again after a kill takes no longer.
const limitsInterval = 30 * time.Second

// limitStore is a place of holds that keeps what is known of limits too.
type limitStore interface {
	LoadLimits() (sizing.State, error)
	SaveLimits(text []byte) error
}

// loadLimits reads what an earlier process has learned of limits. Without it we begin as a site
// does that nobody knows: no reason not to start.
func (a *App) loadLimits(s limitStore) {
	learned, err := s.LoadLimits()
	if err != nil {
		a.log.Warn("what was learned of the limits cannot be read: it is learned anew, and what is there stays until then", "error", err)
	} else if len(learned.Pools) > 0 {
		a.log.Info("what was learned of the limits was read", "pools", len(learned.Pools))
	}
	a.kept.learned = learned
}

// beginLimits notes with what the term begins: that is not saved before something is learned.
func (k *holdKeeper) beginLimits() {
	k.saving.Lock()
	defer k.saving.Unlock()
	learned := k.app.controller.LearnedLimits()
	k.learned, _ = learned.Text() // a fault shows when it is saved
}

// saveLimits writes what is known of limits where that has changed. A failure is logged when it is
// new, and tried again. The holds do not count as unsaved by it.
func (k *holdKeeper) saveLimits() error {
	k.saving.Lock()
	defer k.saving.Unlock()
	store, _ := k.place()
	kept, ok := store.(limitStore)
	if !ok { // what is in memory is all there is
		return nil
	}
	learned := k.app.controller.LearnedLimits()
	text, err := learned.Text()
	if err == nil && bytes.Equal(text, k.learned) {
		return nil
	}
	if err == nil {
		err = kept.SaveLimits(text)
	}
	if k.limitFault.note(k.app.log, err); err == nil {
		k.learned = text
	}
	return err
}
