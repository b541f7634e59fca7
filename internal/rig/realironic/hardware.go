package realironic

import (
	_ "embed" // the pretended hosts
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// Span is a length of time, drawn uniformly from Least to Most each time that it is needed.
type Span struct{ Least, Most time.Duration }

// Hardware is how long the pretended hosts of the ipmi driver take.
type Hardware struct{ Inspect, Clean, Deploy Span }

// pretendPy is the module that Ironic loads; hardwareFile is what it reads on every call.
//
//go:embed pretend.py
var pretendPy string

const (
	pretendModule = "ironic_throttle_pretend"
	pretendDir    = "python" // in the scratch folder, first of Python's path
	hardwareFile  = "hardware.json"
)

// pretended are the names that the operator asks for, and who answers for them: group of entry points, name, class of
// pretend.py.
var pretended = [][3]string{
	{"types", "ipmi", "Hardware"},
	{"interfaces.boot", "ipxe", "Boot"},
	{"interfaces.deploy", "direct", "Direct"},
	{"interfaces.deploy", "custom-agent", "CustomAgent"},
	{"interfaces.deploy", "ramdisk", "Ramdisk"},
	{"interfaces.inspect", "agent", "Inspect"},
	{"interfaces.management", "ipmitool", "Management"},
	{"interfaces.power", "ipmitool", "Power"},
	{"interfaces.vendor", "ipmitool", "Vendor"},
}

// pretend puts the module first in Python's path. Names of entry points must be unique, so a copy of Ironic's own list, with
// some entries that are ours, stands before the original: Python takes the first distribution of a name.
func (i *Ironic) pretend(h Hardware) error {
	seconds := map[string][]float64{}
	for name, s := range map[string]Span{"inspect": h.Inspect, "clean": h.Clean, "deploy": h.Deploy} {
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
	for _, entry := range pretended {
		group, name := regexp.QuoteMeta(entry[0]), regexp.QuoteMeta(entry[1])
		line := regexp.MustCompile(`(\[ironic\.hardware\.` + group + `\][^\[]*\n` + name + ` *=)[^\n]*`)
		if len(line.FindAllIndex(text, 2)) != 1 {
			return fmt.Errorf("list of Ironic's drivers: no entry for %q, or two", entry)
		}
		text = line.ReplaceAll(text, []byte("${1} "+pretendModule+":"+entry[2]))
	}
	return writeFiles(map[string]string{
		list: string(text), i.place.file(pretendDir, pretendModule+".py"): pretendPy, i.place.file(hardwareFile): string(times),
	})
}
