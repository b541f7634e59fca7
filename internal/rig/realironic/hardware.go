package realironic

import (
	_ "embed" // the pretended hosts
	"fmt"
	"os"
	"path/filepath"
	"regexp"
)

// pretendPy is the module that Ironic loads.
//
// pretendPy is the module that Ironic loads.
//
//go:embed pretend.py
var pretendPy string

const (
	pretendModule = "ironic_throttle_pretend"
	pretendDir    = "python" // in the scratch folder, first of Python's path
)

// pretended are the drivers and interfaces that BMO asks for: group of entry points, name, class in pretend.py.
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

// pretend puts the module first in Python's path. Names of entry points must be unique, so a copy of Ironic's own list
// with some changed entries comes before the original: Python takes the first distribution of a name.
func (i *Ironic) pretend() error {
	packages := filepath.Join(i.place.Root, "usr/lib/python3/dist-packages")
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
	return writeFiles(map[string]string{list: string(text), i.place.file(pretendDir, pretendModule+".py"): pretendPy})
}
