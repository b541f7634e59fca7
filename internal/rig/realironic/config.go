package realironic

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/ironic-throttle/ironic-throttle/internal/rig/child"
)

// settings are a configuration file: values by section and option.
type settings map[string]map[string]string

// place is what the configuration depends on.
type place struct {
	Options
	dir              string // the scratch folder, as the test sees it
	apiPort, rpcPort int
}

// file returns a path in the scratch folder, as the test sees it.
func (p place) file(elem ...string) string { return filepath.Join(append([]string{p.dir}, elem...)...) }

// seen returns the same path as Ironic sees it.
func (p place) seen(elem ...string) string { return strings.TrimPrefix(p.file(elem...), p.Root) }

func (p place) url() string {
	scheme := "http"
	if p.TLS {
		scheme = "https"
	}
	return fmt.Sprintf("%s://%s:%d", scheme, child.Loopback, p.apiPort)
}

// rpcAddress returns a loopback address that only this Ironic uses.
func (p place) rpcAddress() string { return fmt.Sprintf("127.1.%d.%d", p.rpcPort>>8, p.rpcPort&0xff) }

// interfaces are the hardware interfaces that nodes may use. The first of each is the default. The fakes need no
// ramdisk, BMC or network.
var interfaces = map[string]string{
	"bios":       "fake,no-bios",
	"boot":       "fake,ipxe,pxe,redfish-virtual-media",
	"console":    "fake,no-console",
	"deploy":     "fake,direct,ramdisk,custom-agent",
	"inspect":    "fake,no-inspect",
	"management": "fake,ipmitool,redfish",
	"network":    "noop",
	"power":      "fake,ipmitool,redfish",
	"raid":       "fake,no-raid,agent",
	"rescue":     "fake,no-rescue,agent",
	"storage":    "noop",
	"vendor":     "fake,no-vendor,ipmitool,redfish",
}

// config returns the configuration of an Ironic that needs no other service.
func (p place) config() settings {
	api, rpc := strconv.Itoa(p.apiPort), strconv.Itoa(p.rpcPort)
	c := settings{
		"DEFAULT": {
			// json-rpc connects to this host.
			"host": "localhost", "my_ip": child.Loopback,
			"auth_strategy": "noauth", "rpc_transport": "json-rpc",
			"state_path": p.seen(), "tempdir": p.seen("tmp"), "graceful_shutdown_timeout": "5",
			"enabled_hardware_types":    "fake-hardware,redfish,ipmi",
			"default_network_interface": "noop",
		},
		"api":              {"host_ip": child.Loopback, "port": api, "api_workers": "1"},
		"json_rpc":         {"auth_strategy": "noauth", "host_ip": child.Loopback, "port": rpc},
		"database":         {"connection": p.connection()},
		"oslo_concurrency": {"lock_path": p.seen("lock")},
		"oslo_policy":      {"policy_file": p.seen("policy.yaml"), "policy_dirs": p.seen("config.d")},
		"service_catalog":  {"auth_type": "none", "endpoint_override": p.url()},
		"inspector":        {"auth_type": "none", "endpoint_override": "http://" + child.Loopback + ":5050"},
		"dhcp":             {"dhcp_provider": "none"},
		"deploy":           {"http_root": p.seen("http"), "http_url": "http://" + child.Loopback + ":8080"},
		"pxe": {
			"tftp_root": p.seen("tftp"), "images_path": p.seen("images"),
			"tftp_master_path": "", "instance_master_path": "",
		},
		"conductor": {
			"automated_clean": "True", "sync_power_state_interval": "0", "workers_pool_size": "300",
			"deploy_kernel": "file:///dev/null", "deploy_ramdisk": "file:///dev/null",
			"rescue_kernel": "file:///dev/null", "rescue_ramdisk": "file:///dev/null",
		},
		"sensor_data":                  {"send_sensor_data": "False"},
		"healthcheck":                  {"enabled": "False"},
		"oslo_messaging_notifications": {"driver": "noop"},
	}
	for kind, names := range interfaces {
		c["DEFAULT"]["enabled_"+kind+"_interfaces"] = names
	}
	if p.Root != "" {
		// Ironic 21 does not know these.
		c["DEFAULT"]["enabled_firmware_interfaces"] = "fake,no-firmware"
		c["agent"] = map[string]string{"require_tls": "False"}
		// On another port than 8089, a conductor of 29.0 does not clear its own locks when it starts: it looks for them
		// by name and port, but has taken them by name.
		c["DEFAULT"]["host"] = p.rpcAddress()
		c["json_rpc"]["host_ip"], c["json_rpc"]["port"] = p.rpcAddress(), "8089"
	}
	if p.Pretend {
		// BMO asks for these, and pretend.py has them. It has no redfish.
		c["DEFAULT"]["enabled_hardware_types"] = "fake-hardware,ipmi"
		c["DEFAULT"]["enabled_inspect_interfaces"] += ",agent"
		c["DEFAULT"]["enabled_management_interfaces"] += ",noop"
	}
	if p.BasicAuth {
		c["DEFAULT"]["auth_strategy"] = "http_basic"
		c["DEFAULT"]["http_basic_auth_user_file"] = p.seen("htpasswd")
	}
	if p.TLS {
		c["api"]["enable_ssl_api"] = "True"
		c["ssl"] = map[string]string{"cert_file": p.seen("api.crt"), "key_file": p.seen("api.key")}
	}
	for section, options := range p.Settings {
		if c[section] == nil {
			c[section] = map[string]string{}
		}
		maps.Copy(c[section], options)
	}
	return c
}

// render returns the file, in a stable order.
func (s settings) render() string {
	var b strings.Builder
	for _, section := range slices.Sorted(maps.Keys(s)) {
		fmt.Fprintf(&b, "[%s]\n", section)
		for _, option := range slices.Sorted(maps.Keys(s[section])) {
			fmt.Fprintf(&b, "%s = %s\n", option, s[section][option])
		}
	}
	return b.String()
}
