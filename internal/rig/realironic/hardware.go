package realironic

import (
	_ "embed" // the pretended hosts
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Span is a length of time, drawn uniformly from Least to Most each time that it is needed.
type Span struct{ Least, Most time.Duration }

// Hardware is how long the pretended hosts of the ipmi driver take. The zero value does everything at once.
type Hardware struct{ Inspect, Clean, Deploy, Power, TearDown Span }

// pretendPy is the module that Ironic loads; hardwareFile is what it reads on every call.
//
//go:embed pretend.py
var pretendPy string

const (
	pretendModule = "ironic_throttle_pretend"
	pretendDir    = "python" // in the scratch folder, first of Python's path
	hardwareFile  = "hardware.json"
)

// pretended are the names that the operator asks for, and who answers for them: group of
// entry points, name, class of pretend.py.
var pretended = map[string]map[string]string{
	"hardware.types":                 {"ipmi": "Hardware"},
	"hardware.interfaces.boot":       {"ipxe": "Boot"},
	"hardware.interfaces.deploy":     {"direct": "Direct", "custom-agent": "CustomAgent", "ramdisk": "Ramdisk"},
	"hardware.interfaces.inspect":    {"agent": "Inspect"},
	"hardware.interfaces.management": {"ipmitool": "Management"},
	"hardware.interfaces.power":      {"ipmitool": "Power"},
	"hardware.interfaces.vendor":     {"ipmitool": "Vendor"},
}

// pretend puts the module first in Python's path. Names of entry points must be unique, so
// a copy of Ironic's own list, with some entries that are ours, stands before the original:
// Python takes the first distribution of a name.
func (i *Ironic) pretend(h Hardware) error {
	seconds := map[string][]float64{}
	for name, s := range map[string]Span{
		"inspect": h.Inspect, "clean": h.Clean, "deploy": h.Deploy, "power": h.Power, "tear_down": h.TearDown,
	} {
		seconds[name] = []float64{s.Least.Seconds(), s.Most.Seconds()}
	}
	times, err := json.Marshal(seconds)
	if err != nil {
		return err
	}
	packages := filepath.Join(i.place.root, "usr/lib/python3/dist-packages")
	found, err := filepath.Glob(filepath.Join(packages, "ironic-[0-9]*.*-info"))
	if err != nil || len(found) != 1 {
		return fmt.Errorf("list of Ironic's drivers: %q in %s, want one", found, packages)
	}
	ours := i.place.file(pretendDir, filepath.Base(found[0]))
	if err := os.CopyFS(ours, os.DirFS(found[0])); err != nil {
		return fmt.Errorf("list of Ironic's drivers: %w", err)
	}
	list := filepath.Join(ours, "entry_points.txt")
	text, err := os.ReadFile(list)
	if err != nil {
		return fmt.Errorf("list of Ironic's drivers: %w", err)
	}
	changed, err := override(string(text))
	if err != nil {
		return fmt.Errorf("list of Ironic's drivers: %w", err)
	}
	for path, content := range map[string]string{
		list: changed, i.place.file(pretendDir, pretendModule+".py"): pretendPy, i.place.file(hardwareFile): string(times),
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return fmt.Errorf("pretended hardware: %w", err)
		}
	}
	return nil
}

// override puts the pretended classes into an entry_points.txt, each in the place of
// exactly one entry.
func override(text string) (string, error) {
	left := map[string]string{}
	for group, names := range pretended {
		for name, class := range names {
			left["ironic."+group+" "+name] = class
		}
	}
	var out strings.Builder
	group := ""
	for line := range strings.Lines(text) {
		if g, ok := strings.CutPrefix(strings.TrimSpace(line), "["); ok {
			group = strings.TrimSuffix(g, "]")
		}
		name, _, isEntry := strings.Cut(line, "=")
		name = strings.TrimSpace(name)
		key := group + " " + name
		if class, ok := left[key]; ok && isEntry {
			line = fmt.Sprintf("%s = %s:%s\n", name, pretendModule, class)
			delete(left, key)
		}
		out.WriteString(line)
	}
	if len(left) > 0 {
		return "", fmt.Errorf("no entry for %q", slices.Sorted(maps.Keys(left)))
	}
	return out.String(), nil
}
