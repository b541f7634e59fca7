package config

import (
	"fmt"

	"github.com/spf13/pflag"
)

// AddFlags registers a flag for every setting. Values are not checked when they
// are parsed but by Load, which then reports all faults together.
func AddFlags(fs *pflag.FlagSet) {
	var c Config
	for _, s := range table() {
		v := s.value(&c)
		f := fs.VarPF(&rawFlag{text: s.def, kind: v.kind()}, s.flag(), "", fmt.Sprintf("%s [env %s]", s.help, s.name))
		if v.kind() == "bool" {
			f.NoOptDefVal = "true"
		}
	}
}

// rawFlag keeps the text of a flag.
type rawFlag struct{ text, kind string }

func (f *rawFlag) String() string { return f.text }
func (f *rawFlag) Type() string   { return f.kind }
func (f *rawFlag) Set(text string) error {
	f.text = text
	return nil
}

// fromFlags picks out the flags that were given. One that was never registered
// counts as not given.
func fromFlags(rows []setting, fs *pflag.FlagSet) layer {
	found := layer{}
	if fs == nil {
		return found
	}
	for _, s := range rows {
		if f := fs.Lookup(s.flag()); f != nil && f.Changed {
			found[s.name] = given{f.Value.String(), "flag --" + s.flag()}
		}
	}
	return found
}
