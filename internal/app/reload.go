package app

import (
	"context"
	"log/slog"
	"maps"
	"slices"

	"github.com/ironic-throttle/ironic-throttle/internal/config"
	"github.com/ironic-throttle/ironic-throttle/internal/httpserve"
)

// force is the settings in force. It is immutable; each reload replaces it.
type force struct {
	config   config.Config
	settings map[string]string // the effective values, without secrets
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

// tellStart logs the settings that are not defaults, the warnings and the open listeners.
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
	attrs = nil // the URL for this machine, and the bound address, which shows who else may reach it
	for _, e := range a.entrances() {
		if *e.at != nil {
			attrs = append(attrs, e.name, e.url(), e.name+"Address", (*e.at).Addr().String())
		}
	}
	a.log.Info("listening", attrs...)
	if descriptors := httpserve.Descriptors(); httpserve.ConnsWithin(descriptors) < httpserve.MaxConns {
		a.log.Warn("few descriptors (ulimit -n): listeners take fewer connections",
			"descriptors", descriptors, "connections", httpserve.ConnsWithin(descriptors))
	}
}

// watch applies each change of the config file until ctx ends. Without a file it returns at once.
func (a *App) watch(ctx context.Context) error {
	if a.reload != nil {
		config.Watch(ctx, a.force.Load().config, *a.reload, a.apply)
	}
	return nil
}

// apply puts a changed config file in force, or logs why it cannot. A broken file changes only the warnings.
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
		_ = a.level.UnmarshalText([]byte(c.Log.Level)) // config.Load has checked it
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
