package config

// Effective returns every setting that is in force, by its file key, as text
// and without secrets: what /v1/status shows and the start of serve logs.
func (c Config) Effective() map[string]string {
	m := map[string]string{}
	for _, s := range table() {
		if s.name != nameLimitAlias {
			m[s.key()] = s.value(&c).String()
		}
	}
	return m
}
