//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/noauth"
	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/v1/allocations"
	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/v1/conductors"
	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/v1/drivers"
	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/v1/nodes"
	"github.com/gophercloud/gophercloud/v2/openstack/baremetal/v1/ports"
	"github.com/gophercloud/gophercloud/v2/pagination"
)

// gopher is BMO's client library on one of the two ways.
type gopher struct {
	*side
	client *gophercloud.ServiceClient
	told   []string
}

func newGopher(s *side, transport http.RoundTripper) *gopher {
	client, err := noauth.NewBareMetalNoAuth(noauth.EndpointOpts{IronicEndpoint: s.url + "/v1/"})
	if err != nil {
		s.Fatal(err)
	}
	client.Microversion = "1.82"
	client.HTTPClient = http.Client{Transport: transport}
	return &gopher{side: s, client: client}
}

// tell keeps what a call gave, less what only this side has.
func (g *gopher) tell(what string, result any, err error) {
	text, bad := json.Marshal(result)
	if bad != nil {
		g.Error(bad)
	}
	g.told = append(g.told, g.general(fmt.Sprintf("%s: %s, error %v", what, text, err)))
}

// all reads what the library takes for all pages.
func all[T any](ctx context.Context, g *gopher, what string, p pagination.Pager, extract func(pagination.Page) ([]T, error)) (found []T) {
	err := p.EachPage(ctx, func(_ context.Context, page pagination.Page) (bool, error) {
		rows, err := extract(page)
		found = append(found, rows...)
		return true, err
	})
	g.tell(what, found, err)
	return found
}

// make creates a node and what belongs to it, and reads them back in all ways.
func (g *gopher) make(ctx context.Context) {
	created, err := nodes.Create(ctx, g.client, nodes.CreateOpts{
		UUID: g.fill(node1), Name: g.fill("go~@-1"), Driver: "fake-hardware", ResourceClass: g.fill("r@"), Properties: map[string]any{"cpus": "4"},
	}).Extract()
	g.tell("create", created, err)
	_, err = nodes.Create(ctx, g.client, nodes.CreateOpts{UUID: g.fill(node2), Name: g.fill("go~@-1"), Driver: "fake-hardware"}).Extract()
	g.tell("create again", nil, err)
	for _, key := range []string{node1, "go~@-1", nobody0, "no-such"} {
		n, err := nodes.Get(ctx, g.client, g.fill(key)).Extract()
		g.tell("get "+key, n, err)
	}
	updated, err := nodes.Update(ctx, g.client, g.fill(node1), nodes.UpdateOpts{
		nodes.UpdateOperation{Op: nodes.AddOp, Path: "/extra/a", Value: map[string]any{"b": 1}},
		nodes.UpdateOperation{Op: nodes.AddOp, Path: "/instance_info/image_source", Value: "http://127.0.0.1/i"},
	}).Extract()
	g.tell("update", updated, err)
	_, err = nodes.Update(ctx, g.client, g.fill(node1), nodes.UpdateOpts{nodes.UpdateOperation{Op: nodes.RemoveOp, Path: "/extra/none"}}).Extract()
	g.tell("update badly", nil, err)
	g.tell("maintenance", nil, nodes.SetMaintenance(ctx, g.client, g.fill(node1), nodes.MaintenanceOpts{Reason: "fan"}).ExtractErr())
	g.tell("no maintenance", nil, nodes.UnsetMaintenance(ctx, g.client, g.fill(node1)).ExtractErr())
	valid, err := nodes.Validate(ctx, g.client, g.fill(node1)).Extract()
	g.tell("validate", valid, err)
	device, err := nodes.GetSupportedBootDevices(ctx, g.client, g.fill(node1)).Extract()
	g.tell("boot devices", device, err)

	port, err := ports.Create(ctx, g.client, ports.CreateOpts{NodeUUID: g.fill(node1), Address: g.fill("52:54:00:!!:00:01")}).Extract()
	if port != nil {
		g.tell("port", port.Address, err)
		g.tell("port is gone", nil, ports.Delete(ctx, g.client, port.UUID).ExtractErr())
	} else {
		g.tell("port", nil, err)
	}
	one, err := drivers.GetDriverDetails(ctx, g.client, "fake-hardware").Extract()
	g.tell("driver", one, err)
	all(ctx, g, "drivers", drivers.ListDrivers(g.client, nil), drivers.ExtractDrivers)
	all(ctx, g, "conductors", conductors.List(g.client, nil), conductors.ExtractConductors)
	all(ctx, g, "nodes of a class", nodes.ListDetail(g.client, nodes.ListOpts{ResourceClass: g.fill("r@")}), nodes.ExtractNodes)
	all(ctx, g, "nodes in no state", nodes.List(g.client, nodes.ListOpts{ProvisionState: "flying"}), nodes.ExtractNodes)
}

// life are the targets of a node's life, and where each leads.
var life = []struct {
	o   nodes.ProvisionStateOpts
	end string
}{
	{nodes.ProvisionStateOpts{Target: nodes.TargetActive}, "enroll"},
	{nodes.ProvisionStateOpts{Target: nodes.TargetManage}, "manageable"},
	{nodes.ProvisionStateOpts{Target: nodes.TargetInspect}, "manageable"},
	{nodes.ProvisionStateOpts{Target: nodes.TargetClean, CleanSteps: []nodes.CleanStep{{Interface: "bios", Step: "factory_reset"}}}, "manageable"},
	{nodes.ProvisionStateOpts{Target: nodes.TargetProvide}, "available"},
	{nodes.ProvisionStateOpts{Target: nodes.TargetActive, ConfigDrive: nodes.ConfigDrive{UserData: strings.Repeat("x", 1<<20), MetaData: map[string]any{"a": "b"}}}, "active"},
	{nodes.ProvisionStateOpts{Target: nodes.TargetRebuild}, "active"},
	{nodes.ProvisionStateOpts{Target: nodes.TargetRescue, RescuePassword: "sesame"}, "rescue"},
	{nodes.ProvisionStateOpts{Target: nodes.TargetUnrescue}, "active"},
	{nodes.ProvisionStateOpts{Target: nodes.TargetDeleted}, "available"},
	{nodes.ProvisionStateOpts{Target: nodes.TargetAbort}, "available"},
}

// live leads the node through its life, to its end.
func (g *gopher) live(ctx context.Context, l *lab) {
	uuid := g.fill(node1)
	for _, step := range life {
		err := nodes.ChangeProvisionState(ctx, g.client, uuid, step.o).ExtractErr()
		g.tell("target "+string(step.o.Target), nil, err)
		g.awaitRest(l, rests(node1, step.end))
	}
	n, err := nodes.Get(ctx, g.client, uuid).Extract()
	g.tell("after all", n, err)
	g.tell("power on", nil, nodes.ChangePowerState(ctx, g.client, uuid, nodes.PowerStateOpts{Target: nodes.PowerOn}).ExtractErr())
	g.awaitRest(l, rests(node1, "available"))
	made, err := allocations.Create(ctx, g.client, allocations.CreateOpts{Name: g.fill("a@"), ResourceClass: g.fill("r@")}).Extract()
	g.tell("allocation", made != nil && made.Name == g.fill("a@"), err)
	g.awaitRest(l, rests(node1, "available"))
	g.tell("allocation is gone", nil, allocations.Delete(ctx, g.client, g.fill("a@")).ExtractErr())
	g.tell("node is gone", nil, nodes.Delete(ctx, g.client, uuid).ExtractErr())
}

// gophercloud holds that BMO's own library sees no difference, from the create of a
// node to its end.
func (s *sameness) gophercloud(t *testing.T) {
	s.gophers(t, func(g *gopher) {
		g.make(t.Context())
		g.live(t.Context(), s.lab)
	})
}

// gophers lets the library do something on both ways and compares what it tells.
func (s *sameness) gophers(t *testing.T, something func(*gopher)) {
	var told [2][]string
	for i, side := range []*side{s.direct, s.through} {
		side.T = t
		g := newGopher(side, s.ironic.Client().Transport)
		something(g)
		told[i] = g.told
	}
	if diff := cmp.Diff(told[0], told[1]); diff != "" {
		t.Errorf("-direct +gateway:\n%.5000s", diff)
	}
	if testing.Verbose() {
		for _, line := range told[0] {
			t.Logf("%.200s", line)
		}
	}
}
