package config

import (
	"maps"

	"github.com/go-viper/mapstructure/v2"
)

// values are the fields of c by their file keys.
func (c Config) values() map[string]any {
	m := map[string]any{}
	_ = mapstructure.Decode(c, &m) // every struct becomes a map
	return m
}

// texts are the values of c as texts without secrets, "" for what is not set.
func (c Config) texts() map[string]string {
	m, values := map[string]string{}, c.values()
	for _, s := range table {
		m[s.key()] = s.format(values[s.key()])
	}
	return m
}

// Effective returns every setting that is in force, by its file key, as text
// and without secrets: what /v1/status shows.
func (c Config) Effective() map[string]string {
	return c.texts()
}

// Changed is Effective without the settings that are as they would be if nobody had set
// them: what the start of serve logs.
func (c Config) Changed() map[string]string {
	usual := Default()
	m, unset := c.Effective(), usual.Effective()
	maps.DeleteFunc(m, func(key, text string) bool { return unset[key] == text })
	return m
}
