package ironic

import (
	"context"
	"fmt"
	"io"
	"strconv"
)

// Change is a node as the list of the newest changes shows it.
type Change struct {
	UUID  string
	State State
	// UpdatedAt is provision_updated_at as Ironic writes it, "" for a node that never
	// changed (NULL). Compare it for equality: each conductor writes it by its own clock.
	UpdatedAt string
}

// Newest returns the k nodes whose provision state changed last, the newest first, in
// one request, and whether these are all that there are: Ironic's own max_limit may be
// below k. Nodes that never changed come last (sqlite, MySQL) or first (PostgreSQL).
// Nothing tells nodes with equal stamps apart, and MySQL stamps whole seconds. k must be
// 1 to 1000, which is what Ironic allows at most unless it was told otherwise.
//
// State changes, heartbeats and aborts move a node to the front; edits of a node,
// maintenance and creation do not; a deleted node falls out (docs/dev/reference/ironic.md).
func (c *Client) Newest(ctx context.Context, k int) (changes []Change, all bool, err error) {
	if k < 1 || k > pageLimit {
		return nil, false, fmt.Errorf("number of newest changes: %d must be 1 to %d", k, pageLimit)
	}
	v, err := c.negotiate(ctx)
	if err != nil {
		return nil, false, err
	}
	changes = make([]Change, 0, k)
	err = c.rows(ctx, request{
		tally: &c.count.probe, version: v.String(),
		path: "nodes?sort_key=provision_updated_at&sort_dir=desc&limit=" + strconv.Itoa(k) +
			"&fields=uuid,provision_state,provision_updated_at" + v.children(),
	}, "", func(body io.Reader) (l list, err error) {
		l, err = decodeList(body, func(row *reader) (bool, error) {
			n, ok, err := row.node()
			if len(changes) == k {
				return false, fmt.Errorf("more than the %d nodes that were asked for", k)
			}
			if ok {
				changes = append(changes, Change{UUID: n.UUID, State: n.State, UpdatedAt: n.ProvisionUpdatedAt})
			}
			return ok, err
		})
		all = l.rows < k && !l.more
		return l, err
	})
	if err != nil {
		return nil, false, err
	}
	return changes, all, nil
}
