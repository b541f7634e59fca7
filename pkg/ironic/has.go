package ironic

import (
	"context"
	"fmt"
	"io"
	"net/url"
)

// The filters that HasNode knows, by the field of a node.
var filters = map[string]struct {
	since int
	of    func(Node) string
}{
	"driver":          {minorDriverFilter, func(n Node) string { return n.Driver }},
	"conductor_group": {minorConductorGrp, func(n Node) string { return n.ConductorGroup }},
}

// HasNode reports whether Ironic has a node whose field is value, spelled like that, in
// one request for one row: field is "driver" or "conductor_group". An Ironic that is too
// old to be asked so has none.
func (c *Client) HasNode(ctx context.Context, field, value string) (bool, error) {
	filter, known := filters[field]
	if !known {
		return false, fmt.Errorf("nodes cannot be looked for by %q", field)
	}
	if len(value) > maxKeyLen {
		return false, nil
	}
	v, err := c.negotiate(ctx)
	if err != nil || v.Minor < filter.since {
		return false, err
	}
	var p page
	err = c.rows(ctx, request{
		tally: &c.count.node, version: v.String(), small: true,
		path: "nodes?" + field + "=" + url.QueryEscape(value) + "&limit=1&fields=uuid," + field,
	}, "", func(body io.Reader) (_ list, err error) {
		p, err = decodePage(body, alone())
		return p.list, err
	})
	// MySQL compares without case, we do not.
	return err == nil && len(p.nodes) > 0 && filter.of(p.nodes[0]) == value, err
}
