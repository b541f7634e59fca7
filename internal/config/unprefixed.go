package config

import "strings"

// warnUnprefixed warns of variables that bear the name of a setting without our prefix,
// which is not read. It never shows the value, which may be somebody else's secret.
func (l *loader) warnUnprefixed(src Sources) {
	// Who gave the setting under its own name there knows it.
	flags := fromFlags(l.rows, src.Flags)
	env, _ := fromEnviron(l.rows, src.Environ)
	meant := map[string]setting{}
	for _, s := range l.rows {
		_, flag := flags[s.name]
		if _, known := env[s.name]; !flag && !known && !s.shared() {
			meant[s.short()] = s
		}
	}
	for _, entry := range src.Environ {
		name, text, _ := strings.Cut(entry, "=")
		s, ok := meant[name]
		if !ok || text == "" {
			continue
		}
		delete(meant, name) // once
		if !s.common || l.wouldChange(s, text) {
			l.warnings = append(l.warnings, warnf("%s in the environment is not read: the name is %s", name, s.name))
		}
	}
}

// wouldChange reports whether text is a valid value of s and another than the one in
// force: else a variable that others use too is hardly meant for us.
func (l *loader) wouldChange(s setting, text string) bool {
	var c Config
	if s.value(&c).set(text) != nil || s.name == nameConfig && !decodable(text) {
		return false
	}
	return s.value(&c).String() != s.value(&l.config).String()
}
