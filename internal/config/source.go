package config

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"github.com/ironic-throttle/ironic-throttle/internal/nearest"
)

// Sources is what Load looks at beside the environment of the process.
type Sources struct {
	// Flags were registered with AddFlags and parsed; nil means none given.
	Flags *pflag.FlagSet
	// ReadFile reads the config file; nil reads from disk, at most 1 MiB.
	ReadFile func(path string) ([]byte, error)
	// Exists tells whether something lies at the path of a setting, which decides
	// about a warning; nil looks on disk.
	Exists func(path string) bool
}

// AddFlags registers a flag for every setting, hidden where it is advanced. Values are not
// checked when they are parsed but by Load, which then reports all faults together.
func AddFlags(fs *pflag.FlagSet) {
	for _, s := range table {
		f := fs.VarPF(&rawFlag{s.def, s.rule.kind}, s.flag(), "", fmt.Sprintf("%s [env %s]", s.help, s.name))
		f.Hidden = !s.basic
		if s.rule.kind == yesNo.kind {
			f.NoOptDefVal = "true"
		}
		s.addFormerFlag(fs)
	}
}

// ShowAdvanced makes the help of fs show the advanced settings, and nothing else.
func ShowAdvanced(fs *pflag.FlagSet) {
	fs.VisitAll(func(f *pflag.Flag) { f.Hidden = !f.Hidden || isFormerFlag(f.Name) })
}

// rawFlag keeps the text of a flag. viper reads numbers and switches by itself where the
// type is one that it knows, and takes what is none for 0: the kinds of rules are others.
type rawFlag struct{ text, kind string }

func (f *rawFlag) String() string { return f.text }
func (f *rawFlag) Type() string   { return f.kind }
func (f *rawFlag) Set(text string) error {
	f.text = text
	return nil
}

func setDefaults(v *viper.Viper) {
	for _, s := range table {
		if s.def != "" {
			v.SetDefault(s.key(), s.def)
		}
	}
}

// bind lets viper read the flags that were given, and the environment; there an empty
// value is an unset one, as BMO has it.
func (l *loader) bind(flags *pflag.FlagSet) {
	setDefaults(l.v)
	for _, s := range table {
		names := []string{s.key(), s.name}
		if s.second != "" {
			names = append(names, s.second)
		}
		_ = l.v.BindEnv(names...) // fails without a key
		if slices.ContainsFunc(names[1:], func(name string) bool { return os.Getenv(name) != "" }) {
			l.from[s.name] = "environment"
		}
		l.formerEnv(s)
		if flags == nil {
			continue
		}
		if f := flags.Lookup(s.flag()); f != nil && f.Changed {
			_ = l.v.BindPFlag(s.key(), f) // fails without a flag
			l.from[s.name] = "flag --" + s.flag()
		}
		l.formerFlag(s, flags)
	}
}

// source tells where the value of a setting came from.
func (l *loader) source(name string) string {
	if from, ok := l.from[name]; ok {
		return from
	}
	return "default"
}

// given reports whether somebody gave the setting.
func (l *loader) given(name string) bool { return l.from[name] != "" }

// text is the value of a setting as it was given.
func (l *loader) text(name string) string { return l.v.GetString(keyOf(name)) }

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

// checkNames finds names with our prefix that are no settings, and warns of settings
// without it, which are not read. It never shows a value, which may be a secret.
func (l *loader) checkNames(environ []string) {
	var names []string
	meant := map[string]setting{} // by what somebody may take for the name
	known := map[string]bool{}
	for _, s := range table {
		names = append(names, s.name)
		known[s.name], known[s.second] = true, true
		if was, ok := s.former(); ok {
			known[was.name] = true
		}
		// Who gave the setting by its own name there knows it.
		if !s.shared() && !strings.HasPrefix(l.source(s.name), "flag") && os.Getenv(s.name) == "" {
			meant[s.short()] = s
		}
	}
	for _, entry := range environ {
		name, text, _ := strings.Cut(entry, "=")
		s, short := meant[name]
		switch {
		case text == "" || known[name]:
		case short:
			if !s.common || l.wouldChange(s, text) {
				l.warnf("%s in the environment is not read: the name is %s", name, s.name)
			}
		case strings.HasPrefix(name, envPrefix) && !reserved[name] && !isServiceLink(name, text):
			l.fault(name, "", "environment", "is not a setting; did you mean %s?", nearestEnv(name, names))
		}
	}
}

// wouldChange reports whether text is a valid value of s and another than the one in
// force: else a variable that others use too is hardly meant for us.
func (l *loader) wouldChange(s setting, text string) bool {
	shown, ok := s.read(text)
	return ok && (s.name != nameConfig || readable(text)) && shown != l.config.texts()[s.key()]
}

// read is text as s shows it, where it is a good value.
func (s setting) read(text string) (string, bool) {
	v := viper.New()
	v.Set(s.key(), text)
	var c Config
	wrong := unmarshal(v, &c)
	value := c.values()[s.key()]
	return s.format(value), len(wrong) == 0 && s.rule.holds(value)
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
