package classify_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ironic-throttle/ironic-throttle/internal/gateway/classify"
	"github.com/ironic-throttle/ironic-throttle/pkg/ironic"
)

// wireText writes a request as BMO's gophercloud does.
func wireText(method, target, body string, fields ...string) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: ironic.example:6385\r\nUser-Agent: gophercloud/v2\r\n", method, target)
	fmt.Fprintf(&b, "Accept: application/json\r\nX-OpenStack-Ironic-API-Version: 1.89\r\n")
	if body != "" && !slices.ContainsFunc(fields, func(f string) bool { return strings.HasPrefix(f, "Content-Type:") }) {
		fields = append(fields, "Content-Type: application/json")
	}
	for _, field := range fields {
		b.WriteString(field + "\r\n")
	}
	if body != "" || strings.HasPrefix(strings.ToUpper(method), "P") {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(body))
	}
	return []byte(b.String() + "\r\n" + body)
}

// ordinary is every path of Ironic's API with which clients do anything but change
// the provision state. <n> is a node, <u> a UUID.
var ordinary = map[string][]string{
	"GET": {
		"/", "/v1", "/v1/", "/v1/nodes", "/v1/nodes?limit=1000&fields=uuid,name,provision_state&provision_state=deploying",
		"/v1/nodes?marker=<u>&limit=1000", "/v1/nodes/detail?provision_state=clean%20wait", "/v1/nodes/<n>", "/v1/nodes/<n>?fields=states,provision_state",
		"/v1/nodes/<n>/validate", "/v1/nodes/<n>/states", "/v1/nodes/<n>/states/", "/v1/nodes/<n>/states/console", "/v1/nodes/<n>/states.json",
		"/v1/nodes/<n>/states/provision", // 405, but starts nothing
		"/v1/nodes/<n>/management/boot_device", "/v1/nodes/<n>/management/boot_device/supported", "/v1/nodes/<n>/management/indicators",
		"/v1/nodes/<n>/vendor_passthru/methods", "/v1/nodes/<n>/vendor_passthru?method=provision", "/v1/nodes/<n>/traits", "/v1/nodes/<n>/vifs",
		"/v1/nodes/<n>/portgroups", "/v1/nodes/<n>/portgroups/detail", "/v1/nodes/<n>/ports", "/v1/nodes/<n>/ports/detail",
		"/v1/nodes/<n>/volume", "/v1/nodes/<n>/volume/targets", "/v1/nodes/<n>/volume/connectors", "/v1/nodes/<n>/bios", "/v1/nodes/<n>/bios/provision",
		"/v1/nodes/<n>/firmware", "/v1/nodes/<n>/history", "/v1/nodes/<n>/history/<u>", "/v1/nodes/<n>/inventory", "/v1/nodes/<n>/allocation",
		"/v1/nodes/<n>/children", "/v1/ports", "/v1/ports/detail?address=aa:bb:cc:dd:ee:ff", "/v1/ports/<u>", "/v1/portgroups", "/v1/portgroups/<n>",
		"/v1/portgroups/<n>/ports", "/v1/chassis", "/v1/chassis/<u>", "/v1/chassis/<u>/nodes", "/v1/chassis/<u>/nodes/detail", "/v1/drivers",
		"/v1/drivers/redfish", "/v1/drivers/redfish/properties", "/v1/drivers/redfish/vendor_passthru/methods", "/v1/drivers/redfish/raid/logical_disk_properties",
		"/v1/volume/targets", "/v1/volume/connectors/<u>", "/v1/conductors", "/v1/conductors/host.example", "/v1/allocations", "/v1/allocations/<n>",
		"/v1/deploy_templates", "/v1/deploy_templates/CUSTOM_STATES", "/v1/runbooks", "/v1/shards", "/v1/inspection_rules", "/v1/lookup?addresses=aa:bb:cc:dd:ee:ff",
	},
	"HEAD": {"/", "/v1/nodes/<n>", "/v1/nodes/<n>/states"},
	"POST": {
		"/v1/nodes", "/v1/nodes/<n>/vifs", "/v1/nodes/<n>/vendor_passthru?method=provision", "/v1/nodes/<u>/vendor_passthru/provision", "/v1/ports",
		"/v1/portgroups", "/v1/chassis", "/v1/volume/targets", "/v1/allocations", "/v1/deploy_templates", "/v1/runbooks", "/v1/events", "/v1/heartbeat/<u>",
		"/v1/nodes/<n>/states/provision", // 405 as well
		"/v1/drivers/redfish/vendor_passthru?method=states", "/v1/nodes/<n>/allocation", "/v1/inspection_rules", "/v1/continue_inspection?node_uuid=<u>",
	},
	"PATCH": {
		"/v1/nodes/<n>", "/v1/ports/<u>", "/v1/portgroups/<n>", "/v1/chassis/<u>", "/v1/volume/connectors/<u>", "/v1/allocations/<n>", "/v1/deploy_templates/<u>",
		"/v1/runbooks/<n>",
	},
	"PUT": {
		"/v1/nodes/<n>/states/power", "/v1/nodes/<n>/states/raid", "/v1/nodes/<n>/states/console", "/v1/nodes/<n>/states/boot_mode",
		"/v1/nodes/<n>/states/secure_boot", "/v1/nodes/<n>/maintenance", "/v1/nodes/<n>/management/boot_device", "/v1/nodes/<n>/management/inject_nmi",
		"/v1/nodes/<n>/management/indicators/chassis/led", "/v1/nodes/<n>/traits", "/v1/nodes/<n>/traits/CUSTOM_PROVISION", "/v1/nodes/<n>/vendor_passthru?method=x",
		"/v1/nodes/<n>/vmedia",
	},
	"DELETE": {
		"/v1/nodes/<n>", "/v1/nodes/<n>/maintenance", "/v1/nodes/<n>/traits", "/v1/nodes/<n>/traits/CUSTOM_STATES", "/v1/nodes/<n>/vifs/<u>",
		"/v1/nodes/<n>/allocation", "/v1/nodes/<n>/vmedia", "/v1/ports/<u>", "/v1/portgroups/<n>", "/v1/chassis/<u>", "/v1/volume/targets/<u>",
		"/v1/allocations/<n>", "/v1/deploy_templates/<u>", "/v1/nodes/<n>/vendor_passthru?method=x",
	},
	"OPTIONS": {"/v1/nodes", "/v1/nodes/<n>/states/provision"},
}

const someUUID = "1be26c0b-03f2-4d2e-ae87-c02d7f33c123"

// names of nodes that a reader of paths could stumble over.
var names = []string{
	someUUID, "metal3~host-0001", "host.example.org", "provision", "states", "provision-1", "my.states", "ns~provision", "v1", "nodes", "reprovision",
	"statesman", "a~b.c_d-e", "abort", "host.json", "1", "...",
}

// Everything that starts no work passes, and reaches Ironic as it was.
func TestOrdinaryRequestsPass(t *testing.T) {
	w := newPassage(t)
	for method, targets := range ordinary {
		for i, target := range targets {
			for _, name := range []string{someUUID, "states", "provision", names[i%len(names)]} {
				target := strings.NewReplacer("<n>", name, "<u>", someUUID).Replace(target)
				body := ""
				if method == "POST" || method == "PUT" || method == "PATCH" {
					body = `{"target":"active","provision":"states"}`
				}
				raw := wireText(method, target, body)
				seen := w.send(raw)
				if len(seen) != 1 || seen[0].class != classify.Passes {
					t.Errorf("%s %s: %+v", method, target, seen)
					continue
				}
				if out := messagesOf(seen[0].upstream); len(out) != 1 || out[0].target != target || string(out[0].body) != body {
					t.Errorf("%s %s: %q", method, target, seen[0].upstream)
				}
			}
		}
	}
}

// provisionings are what clients write to provision <n> with <t>.
var provisionings = []struct{ path, body string }{
	{"/v1/nodes/<n>/states/provision", `{"target":"<t>"}`},
	{"/v1/nodes/<n>/states/provision", `{"target": "<t>", "configdrive": {"meta_data": {"a": "b"}}}`},
	{"/v1/nodes/<n>/states/provision", `{"clean_steps": [{"interface": "raid", "step": "x"}], "target": "<t>"}`},
	{"/v1/nodes/<n>/states/provision", `{"target": "<t>", "rescue_password": "x", "disable_ramdisk": true, "configdrive": null}`},
	{"/v1/nodes/<n>/states/provision/", `{"target":"<t>"}`},
	{"/v1/nodes/<n>/states/provision?x=y", `{"target":"<t>"}`},
	{"/v1/nodes/<n>/states/provision?target=<t>", ""},
	{"/v1/nodes/<n>/states/provision/<t>", ""},
	{"/nodes/<n>/states/provision", `{"target":"<t>"}`},
	{"/v1/nodes/<n>/states/provision.json", `{"target":"<t>"}`},
	{"/v1/nodes/<n>/states/provision/<t>.json/", ""},
}

func TestOrdinaryProvisioningIsGated(t *testing.T) {
	w := newPassage(t)
	for i, name := range names {
		if strings.HasSuffix(name, ".json") {
			continue // Ironic finds it by its UUID only
		}
		method := []string{"PUT", "put", "Put"}[i%3] // pecan folds it
		for j, target := range verbs[:len(verbs)-1] {
			free := slices.Contains(harmless, target)
			for _, k := range []int{0, i % len(provisionings), (i + j) % len(provisionings)} {
				tt := provisionings[k]
				fill := strings.NewReplacer("<n>", name, "<t>", target)
				raw := wireText(method, fill.Replace(tt.path), fill.Replace(tt.body))
				seen := w.send(raw)
				if len(seen) != 1 {
					t.Fatalf("%q: %+v", raw, seen)
				}
				got := seen[0]
				if got.class != classify.Suspect || got.to.Ident != name || got.read != (classify.Reading{Target: ironic.Target(target), Free: free}) {
					t.Errorf("%q: %+v", raw, got)
				}
				claims := claimsOf(messagesOf(got.upstream)[0])
				switch {
				case free && target != "unhold": // it goes on as it came
					if diff := cmp.Diff(claimsOf(messagesOf(raw)[0]), claims, cmp.AllowUnexported(claim{})); diff != "" {
						t.Errorf("%q (-client +gateway):\n%s", got.upstream, diff)
					}
				case !slices.ContainsFunc(claims, func(c claim) bool { return c.node == granted && c.targets[0] == target }):
					t.Errorf("Ironic cannot read %q", got.upstream)
				}
			}
		}
	}
}
