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

// serviceLink matches what Kubernetes puts into the environment of every pod
// for a Service whose name begins with ironic-throttle. They are nobody's typo.
var (
	serviceLink = regexp.MustCompile(`_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_\d+_(TCP|UDP|SCTP)(_(ADDR|PORT|PROTO))?)$`)
	portLink    = regexp.MustCompile(`^(tcp|udp|sctp)://`)
)

func isServiceLink(name, text string) bool {
	return serviceLink.MatchString(name) || strings.HasSuffix(name, "_PORT") && portLink.MatchString(text)
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
		if text == "" || slices.Contains(all, name) || slices.Contains(reserved, name) {
			continue
		}
		near, away := nearest.Word(name, ours)
		bare := l.bare(name)
		switch {
		case bare != "":
			l.fault(name, "", "environment", "is not read: the name is %s", bare)
		case strings.HasPrefix(name, envPrefix):
			if !isServiceLink(name, text) {
				l.fault(name, "", "environment", "is not a setting%s", meant(strings.TrimPrefix(name, envPrefix), all))
			}
		case away <= typo:
			l.fault(name, "", "environment", "is not a setting; did you mean %s?", near)
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

// meant asks whether the nearest of known was meant, where it is near enough. Our prefix counts nowhere.
func meant(name string, known []string) string {
	var short []string
	for _, k := range known {
		short = append(short, strings.TrimPrefix(k, envPrefix))
	}
	near, away := nearest.Word(name, short)
	if 2*away > len(name) {
		return ""
	}
	return "; did you mean " + known[slices.Index(short, near)] + "?"
}
