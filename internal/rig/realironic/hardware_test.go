package realironic

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const entryPoints = `[console_scripts]
ironic-api = ironic.cmd.api:main

[ironic.hardware.interfaces.boot]
ipxe = ironic.drivers.modules.ipxe:iPXEBoot
pxe = ironic.drivers.modules.pxe:PXEBoot

[ironic.hardware.interfaces.deploy]
custom-agent = ironic.drivers.modules.agent:CustomAgentDeploy
direct = ironic.drivers.modules.agent:AgentDeploy
ramdisk = ironic.drivers.modules.ramdisk:RamdiskDeploy

[ironic.hardware.interfaces.inspect]
agent = ironic.drivers.modules.inspector:AgentInspect

[ironic.hardware.interfaces.management]
ipmitool = ironic.drivers.modules.ipmitool:IPMIManagement

[ironic.hardware.interfaces.power]
agent = ironic.drivers.modules.agent_power:AgentPower
ipmitool = ironic.drivers.modules.ipmitool:IPMIPower

[ironic.hardware.interfaces.vendor]
ipmitool = ironic.drivers.modules.ipmitool:VendorPassthru

[ironic.hardware.types]
ipmi = ironic.drivers.ipmi:IPMIHardware
redfish = ironic.drivers.redfish:RedfishHardware
`

func TestPretendedHostsStandInForIronicsOwn(t *testing.T) {
	got, err := override(entryPoints)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer(
		"ironic.drivers.modules.ipxe:iPXEBoot", "ironic_throttle_pretend:Boot",
		"ironic.drivers.modules.agent:CustomAgentDeploy", "ironic_throttle_pretend:CustomAgent",
		"ironic.drivers.modules.agent:AgentDeploy", "ironic_throttle_pretend:Direct",
		"ironic.drivers.modules.ramdisk:RamdiskDeploy", "ironic_throttle_pretend:Ramdisk",
		"ironic.drivers.modules.inspector:AgentInspect", "ironic_throttle_pretend:Inspect",
		"ironic.drivers.modules.ipmitool:IPMIManagement", "ironic_throttle_pretend:Management",
		"ironic.drivers.modules.ipmitool:IPMIPower", "ironic_throttle_pretend:Power",
		"ironic.drivers.modules.ipmitool:VendorPassthru", "ironic_throttle_pretend:Vendor",
		"ironic.drivers.ipmi:IPMIHardware", "ironic_throttle_pretend:Hardware",
	).Replace(entryPoints)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, names := range pretended {
		for _, class := range names {
			if !strings.Contains(pretendPy, "\nclass "+class+"(") {
				t.Errorf("pretend.py has no class %s", class)
			}
		}
	}
}

func TestAnotherListOfDriversIsRefused(t *testing.T) {
	_, err := override(strings.Replace(entryPoints, "direct =", "straight =", 1))
	if err == nil || !strings.Contains(err.Error(), `["ironic.hardware.interfaces.deploy direct"]`) {
		t.Errorf("error %v, want one that names the entry", err)
	}
}

func TestPretendWritesWhatPythonFindsFirst(t *testing.T) {
	root := t.TempDir()
	info := filepath.Join(root, "usr/lib/python3/dist-packages/ironic-29.0.5.egg-info")
	i := &Ironic{Dir: filepath.Join(root, "tmp/ironic-1")}
	i.place = place{root: root, dir: i.Dir, pretend: true}
	for _, dir := range []string{info, i.Dir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := i.pretend(Hardware{}); err == nil {
		t.Error("a list without entries was taken")
	}
	_ = os.RemoveAll(i.place.file(pretendDir))
	if err := os.WriteFile(filepath.Join(info, "entry_points.txt"), []byte(entryPoints), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := i.pretend(Hardware{Deploy: Span{time.Second, 1500 * time.Millisecond}, FailDeploy: "^x"}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"python/ironic-29.0.5.egg-info/entry_points.txt": "ipmi = ironic_throttle_pretend:Hardware\n",
		"python/ironic_throttle_pretend.py":              "class Hardware(",
		"hardware.json":                                  `"deploy":[1,1.5],"fail_after":[0,0],"fail_deploy":"^x"`,
	} {
		text, err := os.ReadFile(i.place.file(name))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v, %q not in it:\n%s", name, err, want, text)
		}
	}
	if got := i.place.environment(); got[len(got)-1] != "PYTHONPATH=/tmp/ironic-1/python" {
		t.Errorf("environment %q, want a path as Ironic sees it", got)
	}
}

func TestBadHardwareIsNamed(t *testing.T) {
	i := &Ironic{Dir: t.TempDir()}
	if err := i.SetHardware(Hardware{}); err == nil || !strings.Contains(err.Error(), "Options.Hardware") {
		t.Errorf("hardware of an Ironic that has none: %v", err)
	}
	i.place = place{dir: i.Dir, pretend: true}
	for want, h := range map[string]Hardware{
		"FailDeploy": {FailDeploy: "("},
		"tear_down":  {TearDown: Span{2, 1}},
		"power":      {Power: Span{-1, 1}},
	} {
		if err := i.SetHardware(h); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want one that names %s", h, err, want)
		}
	}
}

func TestRootIsChecked(t *testing.T) {
	for _, tc := range []struct {
		options Options
		want    string // of the error, or the folder
	}{
		{Options{Hardware: &Hardware{}}, "Hardware without Root"},
		{Options{Root: "chroot"}, `Root "chroot"`},
		{Options{Root: "//"}, `Root "/"`},
		{Options{Root: "/c", Dir: "/cc"}, "below Root"},
		{Options{Root: "/c", Dir: "/c/../d"}, "below Root"},
		{Options{Root: "/c/", Hardware: &Hardware{}}, "/c/tmp"},
		{Options{Root: "/c", Dir: "/c/var"}, "/c/var"},
		{Options{}, ""},
	} {
		o, err := tc.options.checked()
		if err == nil && o.Dir != tc.want || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: folder %q, error %v, want %q", tc.options, o.Dir, err, tc.want)
		}
	}
	_, err := Start(t.Context(), Options{Root: t.TempDir()})
	if !errors.Is(err, ErrNotInstalled) || !strings.Contains(err.Error(), "run hack/ironic/chroot.sh as root (missing: ironic-dbsync") {
		t.Errorf("an empty folder: %v", err)
	}
}

func TestConfigInAChrootHasPathsOfTheChroot(t *testing.T) {
	p := place{root: "/chroot", dir: "/chroot/tmp/i", pretend: true}
	got, err := p.config(nil).render()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"connection = sqlite:////tmp/i/ironic.sqlite?", "state_path = /tmp/i\n", "require_tls = False\n",
		"enabled_hardware_types = fake-hardware,ipmi\n", "enabled_inspect_interfaces = fake,no-inspect,agent\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "/chroot") {
		t.Errorf("a path that Ironic cannot see:\n%s", got)
	}
}
