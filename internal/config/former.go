package config

import (
	"os"

	"github.com/spf13/pflag"
)

// formerNames are names that settings had in the last releases, and the ones that they have now: as
// long as a row is here, the former one is read in the environment, in the file and as a flag, with a
// warning. A setting that is renamed gets a row, and loses it after two minor releases (docs/versions.md).
var formerNames = map[string]string{}

// former is the row of a setting under its former name: name, key and flag follow from it.
func (s setting) former() (was setting, ok bool) {
	for old, name := range formerNames {
		if name == s.name {
			return setting{name: old}, true
		}
	}
	return setting{}, false
}

// addFormerFlag registers the flag that s had before. No help shows it.
func (s setting) addFormerFlag(fs *pflag.FlagSet) {
	was, ok := s.former()
	if !ok {
		return
	}
	f := fs.VarPF(&rawFlag{s.def, s.rule.kind}, was.flag(), "", "the former name of --"+s.flag())
	f.Hidden, f.NoOptDefVal = true, fs.Lookup(s.flag()).NoOptDefVal
}

func isFormerFlag(name string) bool {
	for old := range formerNames {
		if (setting{name: old}).flag() == name {
			return true
		}
	}
	return false
}

// renamed reports whether s was given by its former name alone: in one place, where text and formerText
// are what stands under either name, "" for nothing. Both are fine where they say the same.
func (l *loader) renamed(s setting, place, name, formerName, text, formerText string) bool {
	switch {
	case formerText == "":
		return false
	case text != "" && text != formerText:
		l.broken[s.name] = true
		l.fault(formerName, s.shown(formerText), place, "is the former name of %s, which is %s there: remove the former one", name, quote(s.shown(text)))
		return false
	}
	l.warnf("%s (%s) is deprecated: the setting is called %s now", formerName, place, name)
	return text == ""
}

// formerEnv reads the environment.
func (l *loader) formerEnv(s setting) {
	was, ok := s.former()
	if !ok || !l.renamed(s, "environment", s.name, was.name, os.Getenv(s.name), os.Getenv(was.name)) {
		return
	}
	_ = l.v.BindEnv(s.key(), was.name) // fails without a key
	l.from[s.name] = "environment, as " + was.name
}

// formerFlag reads the flags.
func (l *loader) formerFlag(s setting, flags *pflag.FlagSet) {
	was, ok := s.former()
	if !ok {
		return
	}
	given := func(flag string) (*pflag.Flag, string) {
		if f := flags.Lookup(flag); f != nil && f.Changed {
			return f, f.Value.String()
		}
		return nil, ""
	}
	_, text := given(s.flag())
	f, formerText := given(was.flag())
	if l.renamed(s, "flag", "--"+s.flag(), "--"+was.flag(), text, formerText) {
		_ = l.v.BindPFlag(s.key(), f) // fails without a flag
		l.from[s.name] = "flag --" + was.flag()
	}
}

// formerKey is a setting in the file under its former key.
type formerKey struct {
	setting           setting
	key, text, source string
}

// formerKeys adds to what was found in the file.
func (l *loader) formerKeys(formers []formerKey, found map[string]any) {
	for _, f := range formers {
		s := f.setting
		text, _ := found[s.key()].(string)
		if !l.renamed(s, f.source, s.key(), f.key, text, f.text) {
			continue
		}
		found[s.key()] = f.text
		if !l.given(s.name) { // else flag or environment win
			l.from[s.name] = f.source
		}
	}
}
