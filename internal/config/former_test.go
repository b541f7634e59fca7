package config

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
)

// renamedSetting lets IRONIC_THROTTLE_LINGER be called IRONIC_THROTTLE_AFTERGLOW before, for one test.
func renamedSetting(t *testing.T) {
	t.Helper()
	before := formerNames
	formerNames = map[string]string{"IRONIC_THROTTLE_AFTERGLOW": nameLinger, "IRONIC_THROTTLE_SHOW_ME": nameElect}
	t.Cleanup(func() { formerNames = before })
}

func TestASettingByItsFormerName(t *testing.T) {
	renamedSetting(t)
	const was, is = "IRONIC_THROTTLE_AFTERGLOW", nameLinger
	for _, tt := range []struct {
		name    string
		environ []string
		flags   []string
		file    string
		want    time.Duration
		says    string // a warning, or the error where want is 0
	}{
		{"environment", []string{was + "=31s"}, nil, "", 31 * time.Second, was + " (environment) is deprecated: the setting is called " + is + " now"},
		{"file", nil, nil, "afterglow: 32s", 32 * time.Second, "afterglow (file c.yaml, line 1) is deprecated: the setting is called linger now"},
		{"flag", nil, []string{"--afterglow=33s"}, "", 33 * time.Second, "--afterglow (flag) is deprecated: the setting is called --linger now"},
		{"both alike", []string{was + "=31s", is + "=31s"}, nil, "", 31 * time.Second, was + " (environment) is deprecated"},
		{"both alike in the file", nil, nil, "linger: 31s\nafterglow: 31s", 31 * time.Second, "afterglow (file c.yaml, line 2) is deprecated"},
		{"one is empty", []string{was + "=", is + "=31s"}, nil, "", 31 * time.Second, ""},
		{"the flag wins over the environment", []string{was + "=31s"}, []string{"--linger=33s"}, "", 33 * time.Second, was + " (environment) is deprecated"},
		{"so does a former flag", []string{is + "=31s"}, []string{"--afterglow=33s"}, "", 33 * time.Second, "--afterglow (flag) is deprecated"},
		{"the environment wins over the file", []string{was + "=31s"}, nil, "linger: 32s", 31 * time.Second, was + " (environment) is deprecated"},
		{"both in the environment, different", []string{was + "=31s", is + "=32s"}, nil, "", 0,
			was + `="31s" (environment): is the former name of ` + is + `, which is "32s" there: remove the former one`},
		{"both in the file, different", nil, nil, "afterglow: 31s\nlinger: 32s", 0, `afterglow="31s" (file c.yaml, line 1): is the former name of linger`},
		{"both flags, different", nil, []string{"--linger=33s", "--afterglow=34s"}, "", 0, `--afterglow="34s" (flag): is the former name of --linger`},
		{"a wrong value", []string{was + "=soon"}, nil, "", 0, is + `="soon" (environment, as ` + was + ")"},
		{"twice in the file", nil, nil, "afterglow: 31s\nafterglow: 31s", 0, "must come once"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
			AddFlags(fs)
			if err := fs.Parse(tt.flags); err != nil {
				t.Fatal(err)
			}
			src := Sources{Flags: fs, ReadFile: func(string) ([]byte, error) { return []byte(tt.file), nil }}
			c, warnings, err := loadFrom(t, src, append(tt.environ, endpoint, "IRONIC_THROTTLE_CONFIG=c.yaml")...)
			says := strings.Join(warnings, "\n")
			if tt.want == 0 {
				if err == nil {
					t.Fatalf("no error, and %s=%v; want one", is, c.Leases.Linger)
				}
				says = err.Error()
			} else if err != nil || c.Leases.Linger != tt.want {
				t.Errorf("%s = %v, want %v; %v", is, c.Leases.Linger, tt.want, err)
			}
			if !strings.Contains(says, tt.says) || tt.says == "" && strings.Contains(says, "deprecated") {
				t.Errorf("said:\n%s\nwant: %s", says, tt.says)
			}
		})
	}
}

// TestAFormerNameIsNoneOfTheSettings: nothing shows it, and a flag that needed no value needs none.
func TestAFormerNameIsNoneOfTheSettings(t *testing.T) {
	renamedSetting(t)
	fs := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	AddFlags(fs)
	basic := fs.FlagUsages()
	ShowAdvanced(fs)
	if all := basic + fs.FlagUsages(); strings.Contains(all, "afterglow") || !strings.Contains(all, "--linger") {
		t.Errorf("help:\n%s", all)
	}
	if err := fs.Parse([]string{"--show-me"}); err != nil {
		t.Fatal(err)
	}
	c, _, err := loadFrom(t, Sources{Flags: fs}, endpoint, "IRONIC_THROTTLE_KUBERNETES=on")
	if err != nil || !c.Kubernetes.Leader.Elect || c.Effective()["showMe"] != "" {
		t.Errorf("%v, %v", c.Effective(), err)
	}
}

// TestFormerNames: a row leads from a name that is none any more to one that is.
func TestFormerNames(t *testing.T) {
	for was, is := range formerNames {
		named := func(name string) bool {
			return slices.ContainsFunc(table, func(s setting) bool { return s.name == name })
		}
		if named(was) || !named(is) || !strings.HasPrefix(was, envPrefix) {
			t.Errorf("%s: %s", was, is)
		}
	}
}
