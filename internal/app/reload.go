package app

import (
	"context"
	"log/slog"
	"maps"
	"slices"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/httpserve"
)

// force is what is in force: an immutable value, replaced by each reload.
type force struct {
	config   config.Config
	settings map[string]string // effective, without secrets
	warnings []string
}

func newForce(c config.Config, warnings []string) *force {
	return &force{config: c, settings: c.Effective(), warnings: append([]string{}, warnings...)}
}

// tell logs the warnings.
func (f *force) tell(log *slog.Logger) {
	for _, w := range f.warnings {
		log.Warn("configuration warning", "warning", w)
	}
}

// tellStart logs once what is in force beside the defaults, and where we can be reached.
func (a *App) tellStart() {
	f, usual := a.force.Load(), config.Default().Effective()
	attrs := []any{"version", a.version}
	for _, key := range slices.Sorted(maps.Keys(usual)) {
		if is := f.settings[key]; is != usual[key] {
			attrs = append(attrs, key, is)
		}
	}
	a.log.Info("settings in force that are not defaults", attrs...)
	f.tell(a.log)
	attrs = nil // where each is from here, and what it is bound to, which may be open to others
	for _, e := range a.entrances() {
		if *e.at != nil {
			attrs = append(attrs, e.name, e.url(), e.name+"Address", (*e.at).Addr().String())
		}
	}
	a.log.Info("listening", attrs...)
	if few := httpserve.Descriptors(); httpserve.ConnsWithin(few) < httpserve.MaxConns {
		a.log.Warn("few descriptors (ulimit -n): listeners take fewer connections",
			"descriptors", few, "connections", httpserve.ConnsWithin(few))
	}
}

// watch applies each change of the config file; without one it returns at once.
func (a *App) watch(ctx context.Context) error {
	if a.reload != nil {
		config.Watch(ctx, a.force.Load().config, *a.reload, a.apply)
	}
	return nil
}

// apply puts a change of the config file in force, or says why it cannot be. A
// broken file changes nothing but the warnings.
func (a *App) apply(c config.Config, warnings []string, err error) {
	a.forcing.Lock()
	defer a.forcing.Unlock()
	old := a.force.Load()
	if err == nil {
		err = a.reconfigure(c)
	}
	if err != nil {
		a.log.Error("config file refused, nothing was changed", "file", old.config.File, "error", err)
		warnings = append(warnings, "config file refused, what was in force before stays: "+err.Error())
		a.force.Store(newForce(old.config, warnings))
		return
	}
	if a.level != nil {
		_ = a.level.UnmarshalText([]byte(c.Log.Level)) // it was checked
	}
	a.poller.Pace(c.View.PollInterval, pollTimeout(c))
	next := newForce(c, warnings)
	a.force.Store(next)
	for _, key := range slices.Sorted(maps.Keys(next.settings)) {
		if was, is := old.settings[key], next.settings[key]; was != is {
			a.log.Info("setting changed", "setting", key, "was", was, "is", is)
		}
	}
	next.tell(a.log)
}
