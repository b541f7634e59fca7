package config

import "fmt"

// Reload loads src again and returns what is to be in force from now on: c with
// the settings that may change while running (see docs/settings.md) taken from
// src. Others that changed are named in a warning and stay. With an error c is
// returned unchanged: a broken file changes nothing.
func (c Config) Reload(src Sources) (Config, []Warning, error) {
	loaded, warnings, err := Load(src)
	if err != nil {
		return c, warnings, err
	}
	was, is := c.texts(), loaded.texts()
	for _, s := range table {
		if s.hot {
			continue
		}
		before, after := was[s.key()], is[s.key()]
		// A new password leaves the masked text as it was.
		if before != after || s.name == nameEndpoint && c.Ironic.Endpoint != loaded.Ironic.Endpoint {
			warnings = append(warnings, Warning(fmt.Sprintf("%s changed from %s to %s: needs a restart, %s stays in force",
				s.name, quote(before), quote(after), quote(before))))
		}
	}
	next := c
	next.FileSum = loaded.FileSum
	next.Mode = loaded.Mode
	next.Limits.Total = loaded.Limits.Total
	next.Limits.Pools = loaded.Limits.Pools
	next.Limits.VirtualMedia = loaded.Limits.VirtualMedia
	next.Turns = loaded.Turns
	next.Holdoff = loaded.Holdoff
	next.Holdoff.File, next.Holdoff.ConfigMap = c.Holdoff.File, c.Holdoff.ConfigMap
	next.Disruption = loaded.Disruption
	next.Disruption.Mode = c.Disruption.Mode
	return next, warnings, nil
}
