package config

import (
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/internal/nearest"
)

// reserved are names with our prefix that are no settings of serve: where the client commands find the
// server, what they show it, and how they know it.
var reserved = []string{envPrefix + "URL", envPrefix + "TOKEN_FILE", envPrefix + "CA_FILE"}

// serviceLink matches what Kubernetes puts into the environment of every pod for a Service, such as one
// called ironic-throttle.
var serviceLink = regexp.MustCompile(
	`_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_\d+_(TCP|UDP|SCTP)(_(ADDR|PORT|PROTO))?)$`)

func isServiceLink(name, text string) bool {
	return serviceLink.MatchString(name) || strings.HasSuffix(name, "_PORT") && strings.Contains(text, "://")
}

// typo is how many letters off a name may be that is one of ours misspelt.
const typo = 2

// checkNames refuses names in the environment that are nearly those of settings: they would be ignored in
// silence. Names of BMO and of Ironic's image lie beside ours where base takes the ConfigMap of both, so
// only names with our prefix have near ones, and the limit's. No value is shown, which may be a secret.
func (l *loader) checkNames(environ []string) {
	var all, ours []string // all names, and those that are nobody else's
	for _, s := range settings {
		all = append(all, s.names...)
		if s.key == "maxConcurrentProvisioningHosts" || s.short() != s.name() {
			ours = append(ours, s.name())
		}
	}
	for _, entry := range environ {
		name, text, _ := strings.Cut(entry, "=")
		if text == "" || slices.Contains(all, name) || slices.Contains(reserved, name) || isServiceLink(name, text) {
			continue
		}
		near, away := nearest.Word(name, ours)
		switch full := l.bare(name); {
		case full != "":
			l.fault(name, "", "environment", "is not read: the name is %s", full)
		case away <= typo:
			l.fault(name, "", "environment", "is not a setting; did you mean %s?", near)
		case strings.HasPrefix(name, envPrefix):
			l.fault(name, "", "environment", "is not a setting%s", meant(name, all))
		}
	}
}

// bare is the name of the setting that somebody gave without our prefix; "" if that is not so, or where other
// programs have such names: those of one word, and those with the tag common. Who gave the setting by its own
// name there knows it.
func (l *loader) bare(name string) string {
	for _, s := range settings {
		if s.short() == name && s.name() != name && !s.common && strings.Contains(name, "_") &&
			os.Getenv(s.name()) == "" && !strings.HasPrefix(l.source(s.key), "flag") {
			return s.name()
		}
	}
	return ""
}

// meant asks whether the nearest of known was meant, where it is near enough. Our prefix does not count.
func meant(name string, known []string) string {
	name = strings.TrimPrefix(name, envPrefix)
	near, best := "", len(name)/2+1
	for _, k := range known {
		_, away := nearest.Word(name, []string{strings.TrimPrefix(k, envPrefix)})
		if away < best {
			near, best = "; did you mean "+k+"?", away
		}
	}
	return near
}
