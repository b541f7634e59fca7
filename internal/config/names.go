package config

import (
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/internal/nearest"
)

// serviceLink matches what Kubernetes puts into the environment of every pod for a Service, such as one
// called ironic-throttle.
var serviceLink = regexp.MustCompile(
	`^` + prefix + `(\w+_)?(SERVICE_HOST=|SERVICE_PORT(_\w+)?=|PORT=\w+://|PORT_\d+_(TCP|UDP|SCTP))`)

// checkNames refuses names in the environment that are nearly those of settings: they would be ignored in
// silence. Names of BMO and of Ironic's image lie beside ours where base takes the ConfigMap of both, so
// only names with our prefix have near ones, and the limit's. No value is shown, which may be a secret.
func (l *loader) checkNames() {
	known := []string{prefix + "URL", prefix + "TOKEN_FILE", prefix + "CA_FILE"} // of the client commands
	var ours, others, bare []string
	for _, s := range settings {
		known = append(known, s.names...)
		name := s.names[0]
		if short := s.short(); short == name {
			others = append(others, name)
		} else if ours = append(ours, name); !s.has("common") && os.Getenv(name) == "" { // else somebody knows its name
			bare = append(bare, short)
		}
	}
	for _, entry := range os.Environ() {
		name, text, _ := strings.Cut(entry, "=")
		if text == "" || slices.Contains(known, name) || serviceLink.MatchString(entry) {
			continue
		}
		short, prefixed := strings.CutPrefix(name, prefix)
		const limit, typo = "MAX_CONCURRENT_PROVISIONING_HOSTS", 2
		near, away := nearest.Word(name, append(ours, limit))
		if other, less := nearest.Word(short, others); prefixed && less < away {
			near, away = other, less
		}
		switch {
		case slices.Contains(bare, name):
			l.wrong(name, "environment", "is not read: the name is "+prefix+name)
		case away <= typo || prefixed && away <= len(short)/2:
			l.wrong(name, "environment", "is not a setting; did you mean "+near+"?")
		case prefixed:
			l.wrong(name, "environment", "is not a setting")
		}
	}
}
