package ironic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"unique"
)

// PageOfChanges is how many of the nodes that changed last a poll asks for.
const PageOfChanges = 100

// List returns all nodes in one provision state, in Ironic's order, over as many pages as it takes. With an error it
// returns none of them.
func (c *Client) List(ctx context.Context, state State) ([]Node, error) {
	filter := "provision_state=" + url.PathEscape(string(state)) + "&limit=" + strconv.Itoa(pageLimit) + "&"
	return twice(ctx, c, func(v *version) (nodes []Node, err error) {
		defer func() {
			for _, n := range nodes {
				c.reading.Add(-n.size())
			}
		}()
		_, err = c.pages(ctx, v, filter, c.fields, func(n Node) error {
			if n.State == "" { // not readable, but it is the state of this list
				n.State = state
			}
			nodes = append(nodes, n)
			return hold(&c.reading, n)
		})
		return nodes, err
	})
}

// Catalog returns all nodes. It fails as a whole, also if a row has no usable UUID.
//
// It asks for no limit, so that Ironic's own limit ends each page: that is the PageLimit.
func (c *Client) Catalog(ctx context.Context) (*Catalog, error) {
	return twice(ctx, c, func(v *version) (*Catalog, error) {
		var held atomic.Int64
		all := &Catalog{}
		const fields = "uuid,name,provision_state,boot_interface,conductor_group"
		most, err := c.pages(ctx, v, "", fields, func(n Node) error {
			rest := unique.Make(Entry{State: n.State, BootInterface: n.BootInterface, ConductorGroup: n.ConductorGroup})
			all.nodes = append(all.nodes, listed{n.UUID, n.Name, rest})
			return hold(&held, n)
		})
		all.pageLimit = most
		return all, err
	})
}

// Newest returns up to PageOfChanges nodes whose provision state changed last, the newest first, in one request, and
// whether these are all nodes. Nodes that never changed come last (SQLite, MySQL) or first (PostgreSQL).
//
// State changes, heartbeats and aborts move a node to the front; edits of a node, maintenance and creation do not
// (docs/dev/reference/ironic.md).
func (c *Client) Newest(ctx context.Context) (nodes []Node, all bool, err error) {
	nodes, err = twice(ctx, c, func(v *version) (nodes []Node, err error) {
		query := "sort_key=provision_updated_at&sort_dir=desc&limit=" + strconv.Itoa(PageOfChanges) + "&"
		p, err := c.page(ctx, v, &c.newest, query, c.fields, func(n Node) error {
			if nodes = append(nodes, n); len(nodes) > PageOfChanges {
				return fmt.Errorf("more rows than the %d that were asked for", PageOfChanges)
			}
			return nil
		})
		all = p.rows < PageOfChanges && !p.more
		return nodes, err
	})
	return nodes, all && err == nil, err
}

// twice reads a list, and once more from its start if that fails: the node of the marker may have gone, or the database
// was locked for a moment.
func twice[T any](ctx context.Context, c *Client, read func(*version) (T, error)) (list T, err error) {
	var none T
	for range 2 {
		var v *version
		if v, err = c.negotiate(ctx); err != nil {
			return none, err
		}
		if list, err = read(v); err == nil {
			return list, nil
		}
		if ctx.Err() != nil {
			break
		}
	}
	return none, err
}

// pages reads a list page by page. It returns the number of rows after which Ironic itself ended a page (its
// max_limit), 0 if it did not.
//
// gophercloud's pager expects nodes_links and stops after the first page, and Ironic's next link forgets the filter. So
// pages asks for each page itself, with the filter and the last UUID as marker.
func (c *Client) pages(
	ctx context.Context, v *version, filter, fields string, take func(Node) error,
) (most int, err error) {
	for marker := ""; ; {
		query := filter
		if marker != "" {
			query += "marker=" + url.QueryEscape(marker) + "&"
		}
		last := marker
		p, err := c.page(ctx, v, &c.list, query, fields, func(n Node) error {
			last = n.UUID
			return take(n)
		})
		switch {
		case err != nil:
			return 0, err
		case p.more:
			most = p.rows
		case p.rows < pageLimit: // a full page may lack its next link
			return most, nil
		}
		if last == marker {
			c.list.errors.Add(1)
			return 0, answerError(request{path: "nodes?" + query}.what(), errors.New("a page with a next link has no new node"))
		}
		marker = last
	}
}

// page reads one page.
func (c *Client) page(
	ctx context.Context, v *version, count *tally, query, fields string, take func(Node) error,
) (p page, err error) {
	r := request{tally: count, version: v, path: "nodes?" + query + "fields=" + fields}
	if v.minor >= minorChildren {
		r.path += "&include_children=True"
	}
	err = c.get(ctx, r, func(_ http.Header, body io.Reader) error {
		p, err = decodePage(body, take)
		return err
	})
	return p, err
}
