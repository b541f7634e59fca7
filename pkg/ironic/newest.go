package ironic

import (
	"context"
	"fmt"
	"io"
	"strconv"
)

// PageOfChanges is how many nodes a poll asks for that changed last.
const PageOfChanges = 100

// Newest returns up to PageOfChanges nodes whose provision state changed last, the newest first, in one request, and whether
// these are all that there are. Nodes that never changed come last (SQLite, MySQL) or first (PostgreSQL).
//
// State changes, heartbeats and aborts move a node to the front; edits of a node, maintenance and creation do not; a deleted
// node falls out (docs/dev/reference/ironic.md).
func (c *Client) Newest(ctx context.Context) (nodes []Node, all bool, err error) {
	err = again(ctx, func() error { nodes, all, err = c.newestOnce(ctx); return err })
	return nodes, all, err
}

func (c *Client) newestOnce(ctx context.Context) ([]Node, bool, error) {
	v, err := c.negotiate(ctx)
	if err != nil {
		return nil, false, err
	}
	held := &portion{of: &c.reading}
	defer held.end()
	var p page
	err = c.rows(ctx, request{
		tally: &c.count.newest, version: v.String(),
		path: "nodes?sort_key=provision_updated_at&sort_dir=desc&limit=" + strconv.Itoa(PageOfChanges) +
			"&fields=" + v.fields(c.more...) + v.children(),
	}, "", func(body io.Reader) (_ list, err error) {
		if p, err = decodePage(body, held); err == nil && p.rows > PageOfChanges {
			err = fmt.Errorf("%d rows, more than the %d that were asked for", p.rows, PageOfChanges)
		}
		return p.list, err
	})
	if err != nil {
		return nil, false, err
	}
	return p.nodes, p.rows < PageOfChanges && !p.more, nil
}
