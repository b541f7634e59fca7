package config

import (
	"bytes"
	"context"
	"errors"
	"time"
)

// watchEvery is how often Watch reads the file. Comparing the content needs
// no file events, which mounted ConfigMaps and network file systems lack or
// deliver in forms of their own.
const watchEvery = 5 * time.Second

// Update is what Watch found in the file.
type Update struct {
	Config   Config // in force from now on; the old one when Err is set
	Warnings []Warning
	Err      error
}

// Watch reads the config file every 5 s until ctx ends and calls apply, one
// call after the other, for each content that differs from the one before, the
// first time from the one that c was read from. A content counts when two reads
// in a row have found it, so that a file that is just being written does not; an
// empty one never does. It blocks; without a config file it returns at once.
func Watch(ctx context.Context, c Config, src Sources, apply func(Update)) {
	if c.File == "" {
		return
	}
	w := newWatcher(c, src)
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if u, news := w.step(); news {
				apply(u)
			}
		}
	}
}

// errEmptied: a file without settings would bring all the defaults back, and is
// most likely one that somebody is about to write.
var errEmptied = errors.New("it is empty now: what was in force stays")

// watcher is the state of one Watch: step is its work, Watch only its clock.
type watcher struct {
	config Config
	src    Sources
	read   func(string) ([]byte, error)
	seen   string // sum or error that was told, at first what Load has read
	latest string // sum or error of the last check
}

func newWatcher(c Config, src Sources) *watcher {
	w := &watcher{config: c, src: src, read: src.ReadFile, seen: c.FileSum, latest: c.FileSum}
	if w.read == nil {
		w.read = readFile
	}
	return w
}

// step checks the file once and reports whether there is an Update to pass on.
func (w *watcher) step() (Update, bool) {
	body, err := w.read(w.config.File)
	if err == nil && len(bytes.TrimSpace(body)) == 0 {
		err = errEmptied
	}
	seen := sum(body)
	if err != nil {
		seen = "error:" + err.Error()
	}
	steady := seen == w.latest
	w.latest = seen
	if seen == w.seen || !steady {
		return Update{}, false
	}
	w.seen = seen

	src := w.src
	src.ReadFile = func(string) ([]byte, error) { return body, err }
	next, warnings, err := w.config.Reload(src)
	w.config = next
	return Update{Config: next, Warnings: warnings, Err: err}, true
}
