package config

import (
	"fmt"
	"strings"
)

// Markdown is the table of all settings as docs/settings.md holds it.
func Markdown() string {
	var b strings.Builder
	b.WriteString("| environment | file | flag | default | rule | live | meaning |\n")
	b.WriteString("| --- | --- | --- | --- | --- | --- | --- |\n")
	var c Config
	for _, s := range table() {
		v := s.value(&c)
		key, live := "`"+s.key()+"`", ""
		if s.noFile {
			key = ""
		}
		if s.hot {
			live = "yes"
		}
		def := s.shownDefault()
		if def == "" {
			def = "unset"
		}
		fmt.Fprintf(&b, "| `%s` | %s | `--%s` | %s | %s | %s | %s |\n",
			s.name, key, s.flag(), def, v.rule(), live, s.help)
	}
	return b.String()
}
