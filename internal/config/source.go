package config

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/pflag"

	"github.com/ironic-throttle/ironic-throttle/internal/nearest"
)

// Sources is everything that Load looks at.
type Sources struct {
	// Flags were registered with AddFlags and parsed; nil means none given.
	Flags *pflag.FlagSet
	// Environ is NAME=value as os.Environ returns it.
	Environ []string
	// ReadFile reads the config file; nil reads from disk, at most 1 MiB.
	ReadFile func(path string) ([]byte, error)
	// Exists tells whether something lies at the path of a setting, which decides
	// about a warning; nil looks on disk.
	Exists func(path string) bool
}

// given is a value as somebody gave it.
type given struct {
	text   string
	source string
}

// layer holds what one source gives, by setting name.
type layer map[string]given

// reserved are names with our prefix that are no settings of serve.
var reserved = map[string]bool{
	"IRONIC_THROTTLE_URL":        true, // where the client commands find the server
	"IRONIC_THROTTLE_TOKEN_FILE": true, // and what they show it
	"IRONIC_THROTTLE_CA_FILE":    true, // and how they know it
}

// serviceLink matches what Kubernetes puts into the environment of every pod
// for a Service whose name begins with ironic-throttle. They are nobody's typo.
var (
	serviceLink = regexp.MustCompile(`_(SERVICE_HOST|SERVICE_PORT(_[A-Z0-9_]+)?|PORT_\d+_(TCP|UDP|SCTP)(_(ADDR|PORT|PROTO))?)$`)
	portLink    = regexp.MustCompile(`^(tcp|udp|sctp)://`)
)

func isServiceLink(name, text string) bool {
	return serviceLink.MatchString(name) || strings.HasSuffix(name, "_PORT") && portLink.MatchString(text)
}

// fromEnviron picks our settings out of environ. An empty value is an unset
// one, as BMO has it; of a name given twice the first counts, as in os.Getenv.
func fromEnviron(rows []setting, environ []string) (layer, []error) {
	known := map[string]setting{}
	names := make([]string, 0, len(rows))
	for _, s := range rows {
		known[s.name] = s
		names = append(names, s.name)
	}
	found := layer{}
	var faults []error
	for _, entry := range environ {
		name, text, _ := strings.Cut(entry, "=")
		s, ok := known[name]
		switch {
		case text == "":
		case ok:
			if _, twice := found[s.name]; !twice {
				found[s.name] = given{text, "environment"}
			}
		case !strings.HasPrefix(name, envPrefix), reserved[name], isServiceLink(name, text):
		default:
			// The value may be a secret that landed in the wrong name.
			faults = append(faults, &Fault{
				Setting: name, Source: "environment",
				Rule: fmt.Sprintf("is not a setting; did you mean %s?", nearestEnv(name, names)),
			})
		}
	}
	return found, faults
}

// nearestEnv is the known environment name closest to name, which carries our
// prefix: wrongly so where the known one is bare.
func nearestEnv(name string, known []string) string {
	full, fullAway := nearest.Word(name, known)
	bare, bareAway := nearest.Word(strings.TrimPrefix(name, envPrefix), known)
	if bareAway < fullAway {
		return bare
	}
	return full
}
