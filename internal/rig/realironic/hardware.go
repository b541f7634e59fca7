package realironic

import (
	_ "embed" // the pretended hosts
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Span is a length of time, drawn uniformly from Least to Most each time that it is needed.
type Span struct{ Least, Most time.Duration }

// Hardware is how long the pretended hosts of the ipmi driver take, and which of them
// fail. The zero value does everything at once and fails never.
type Hardware struct {
	Inspect, Clean, Deploy, Power, TearDown Span
	// FailDeploy is a regular expression; nodes whose name has a match fail every deploy,
	// after FailAfter instead of Deploy. Empty: none.
	FailDeploy string
	FailAfter  Span
}

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

// SetHardware changes what the pretended hosts do from their next step on. Ironic must
// have been started with Options.Hardware.
func (i *Ironic) SetHardware(h Hardware) error {
	if !i.place.pretend {
		return errors.New("set hardware: this Ironic was started without Options.Hardware")
	}
	text, err := h.render()
	if err != nil {
		return err
	}
	// Whole or not at all: a driver may read it now.
	next := i.place.file(hardwareFile + ".new")
	if err := os.WriteFile(next, text, 0o600); err != nil {
		return fmt.Errorf("set hardware: %w", err)
	}
	if err := os.Rename(next, i.place.file(hardwareFile)); err != nil {
		return fmt.Errorf("set hardware: %w", err)
	}
	return nil
}

// render is what pretend.py reads: seconds, and the expression.
func (h Hardware) render() ([]byte, error) {
	if _, err := regexp.Compile(h.FailDeploy); err != nil {
		return nil, fmt.Errorf("hardware: FailDeploy: %w", err)
	}
	out := map[string]any{"fail_deploy": h.FailDeploy}
	for name, s := range map[string]Span{
		"inspect": h.Inspect, "clean": h.Clean, "deploy": h.Deploy, "power": h.Power,
		"tear_down": h.TearDown, "fail_after": h.FailAfter,
	} {
		if s.Least < 0 || s.Most < s.Least {
			return nil, fmt.Errorf("hardware: %s from %s to %s: must not be negative, nor the least above the most", name, s.Least, s.Most)
		}
		out[name] = []float64{s.Least.Seconds(), s.Most.Seconds()}
	}
	return json.Marshal(out)
}

// pretend puts the module first in Python's path. Names of entry points must be unique, so
// a copy of Ironic's own list, with some entries that are ours, stands before the original:
// Python takes the first distribution of a name.
func (i *Ironic) pretend(h Hardware) error {
	if err := i.SetHardware(h); err != nil {
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
	for path, content := range map[string]string{list: changed, i.place.file(pretendDir, pretendModule+".py"): pretendPy} {
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
