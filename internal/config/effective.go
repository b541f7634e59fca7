package config

import "maps"

// Effective returns every setting that is in force, by its file key, as text
// and without secrets: what /v1/status shows.
func (c Config) Effective() map[string]string {
	m := map[string]string{}
	for _, s := range table() {
		if s.name != nameLimitAlias {
			m[s.key()] = s.value(&c).String()
		}
	}
	return m
}

// Changed is Effective without the settings that are as they would be if nobody had set
// them: what the start of serve logs.
func (c Config) Changed() map[string]string {
	usual := Default()
	usual.Limits.StuckCap = defaultStuckCap(c.Limits.Total)
	m, unset := c.Effective(), usual.Effective()
	maps.DeleteFunc(m, func(key, text string) bool { return unset[key] == text })
	return m
}
