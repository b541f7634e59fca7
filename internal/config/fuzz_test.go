package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

// FuzzSetting gives a text to each setting: what Load lets pass keeps to its rule and can be read again from what is shown.
func FuzzSetting(f *testing.F) {
	for i, s := range settings {
		for _, text := range []string{s.def, another[s.key], "", "-1", "1e3", "99999999999999999999", "a=1,a=2", " ", "\x1b", "http://a:b@c", " 010 "} {
			f.Add(uint8(i), text)
		}
	}
	f.Fuzz(func(t *testing.T, row uint8, text string) {
		s := settings[int(row)%len(settings)]
		c, _, faults := loadFrom(t, Sources{ReadFile: files}, s.name()+"="+text, endpoint)
		holds(t, c, faults)
	})
}

func FuzzFile(f *testing.F) {
	paths, _ := filepath.Glob(filepath.Join(folder, "*"))
	for _, path := range paths {
		body, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		src := Sources{ReadFile: func(string) ([]byte, error) { return body, nil }}
		c, _, faults := loadFrom(t, src, ours("CONFIG", "f.yaml"), endpoint)
		holds(t, c, faults)
	})
}

// holds fails unless a config that Load let pass keeps its promises.
func holds(t *testing.T, c Config, faults []string) {
	t.Helper()
	for _, text := range faults {
		if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
			t.Errorf("control characters in %q", text)
		}
	}
	if faults != nil {
		return
	}
	for name, n := range c.Limits.Pools {
		if n > c.Limits.Total {
			t.Errorf("pool %q=%d of %d", name, n, c.Limits.Total)
		}
	}
	var flags []string
	for _, s := range settings {
		switch s.key {
		case "config":
		case "ironicEndpoint": // credentials are masked
			flags = append(flags, "--"+s.flag()+"="+c.Ironic.Endpoint)
		default:
			flags = append(flags, "--"+s.flag()+"="+s.text(c))
		}
	}
	again, _, faults := loadFrom(t, Sources{Flags: parsed(t, flags...)})
	again.File = c.File
	if diff := cmp.Diff(c.Effective(), again.Effective()); faults != nil || diff != "" {
		t.Errorf("%v (-texts +read again):\n%s", faults, diff)
	}
}
