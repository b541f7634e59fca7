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

// PageOfChanges is how many nodes a poll asks for that changed last.
const PageOfChanges = 100

// List returns all nodes in one provision state, in Ironic's order, over as many pages as it takes. Any failure is a
// failure of the whole list: a part of it is never returned.
func (c *Client) List(ctx context.Context, state State) ([]Node, error) {
	filter := "provision_state=" + url.PathEscape(string(state)) + "&limit=" + strconv.Itoa(pageLimit) + "&"
	return twice(ctx, c, func(v *version) (nodes []Node, err error) {
		defer func() {
			for _, n := range nodes {
				c.reading.Add(-n.size())
			}
		}()
		_, err = c.pages(ctx, v, filter, c.fields, func(n Node) error {
			if n.State == "" { // unreadable; it is in this list because of its state
				n.State = state
			}
			nodes = append(nodes, n)
			return hold(&c.reading, n)
		})
		return nodes, err
	})
}

// Catalog lists all nodes there are. Any failure, and a row without a usable uuid, fails the list.
//
// No limit is asked for, so that each page is as long as Ironic makes it: that is how PageLimit is learned.
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
// whether these are all that there are. Nodes that never changed come last (SQLite, MySQL) or first (PostgreSQL).
//
// State changes, heartbeats and aborts move a node to the front; edits of a node, maintenance and creation do not; a
// deleted node falls out (docs/dev/reference/ironic.md).
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

// twice reads a list, and once more from its start if that fails: its marker may have gone, or the database may have
// been locked for a moment. Nothing is read while no version can be agreed.
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

// pages reads a list page by page until the last one. It returns the number of rows at which Ironic ends a page of its
// own accord (its max_limit), as this list has met it, and 0 when it has not.
//
// The pages are ours to turn. gophercloud's pager expects nodes_links and stops after the first page, Ironic's own
// next link forgets the filter; so each page is asked for with the filter and the last uuid as marker.
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
		case p.rows < pageLimit: // else a next link may be missing
			return most, nil
		}
		if last == marker {
			c.list.errors.Add(1)
			return 0, answerError(request{path: "nodes?" + query}.what(), errors.New("a page that goes on brings no new node"))
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
