package ironic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// PageOfChanges is how many nodes a poll asks for that changed last.
const PageOfChanges = 100

// List returns all nodes in one provision state, each once and in Ironic's order, over as many pages as it takes. Any
// failure is a failure of the whole list: a part of it is never returned.
func (c *Client) List(ctx context.Context, state State) ([]Node, error) {
	// %20 and not +, which is how every client of Ironic writes a space.
	filter := strings.ReplaceAll(url.QueryEscape(string(state)), "+", "%20")
	var nodes []Node
	err := c.twice(ctx, func(v Version) error {
		held := &portion{of: &c.reading}
		defer held.end()
		nodes = nil
		at := make(map[string]int) // uuid → index in nodes
		fields := v.fields(c.images) + v.children()
		_, err := c.pages(ctx, v, "provision_state="+filter, pageLimit, fields, func(n Node) (fresh bool, err error) {
			if n.State == "" { // unreadable; it is in this list because of its state
				n.State = state
			}
			i, known := at[n.UUID]
			if known {
				nodes[i] = n
			} else {
				at[n.UUID], nodes = len(nodes), append(nodes, n)
			}
			return !known, held.add(n)
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	return nodes, nil
}

// Catalog lists all nodes there are. Any failure, and a row without a usable uuid, fails the list. Of a node that
// comes twice the later row counts.
//
// No limit is asked for, so that each page is as long as Ironic makes it: that is how PageLimit is learned.
func (c *Client) Catalog(ctx context.Context) (all *Catalog, err error) {
	err = c.twice(ctx, func(v Version) error {
		all = &Catalog{roster: &roster{byUUID: map[string]int{}}}
		held := alone()
		fields := v.known("uuid", "name", "provision_state", "boot_interface", "conductor_group") + v.children()
		all.pageLimit, err = c.pages(ctx, v, "", 0, fields, func(n Node) (fresh bool, err error) {
			return all.add(n), held.add(n)
		})
		return err
	})
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Newest returns up to PageOfChanges nodes whose provision state changed last, the newest first, in one request, and
// whether these are all that there are. Nodes that never changed come last (SQLite, MySQL) or first (PostgreSQL).
//
// State changes, heartbeats and aborts move a node to the front; edits of a node, maintenance and creation do not; a
// deleted node falls out (docs/dev/reference/ironic.md).
func (c *Client) Newest(ctx context.Context) (nodes []Node, all bool, err error) {
	err = c.twice(ctx, func(v Version) error {
		nodes = nil
		p, err := c.page(ctx, request{
			tally: &c.stats.Newest, version: v.String(),
			path: "nodes?sort_key=provision_updated_at&sort_dir=desc&limit=" + strconv.Itoa(PageOfChanges) +
				"&fields=" + v.fields(c.images) + v.children(),
		}, func(n Node) error {
			if nodes = append(nodes, n); len(nodes) > PageOfChanges {
				return fmt.Errorf("more rows than the %d that were asked for", PageOfChanges)
			}
			return nil
		})
		all = p.rows < PageOfChanges && !p.more
		return err
	})
	if err != nil {
		return nil, false, err
	}
	return nodes, all, nil
}

// twice reads a list, and once more from its start if that fails: its marker may have gone, or the database may have
// been locked for a moment. Nothing is read while no version can be agreed.
func (c *Client) twice(ctx context.Context, read func(Version) error) error {
	v, err := c.negotiate(ctx)
	if err != nil {
		return err
	}
	if err = read(v); err == nil || ctx.Err() != nil {
		return err
	}
	if v, err = c.negotiate(ctx); err != nil {
		return err
	}
	return read(v)
}

// pages reads a list page by page until the last one. take gets each node, and reports whether the list has not shown
// it before. pages returns the number of rows at which Ironic ends a page of its own accord (its max_limit), as this
// list has met it, and 0 when it has not.
//
// The pages are ours to turn. gophercloud's pager expects nodes_links and stops after the first page, Ironic's own
// next link forgets the filter; so each page is asked for with the filter and the last uuid as marker. A page that
// does not say that more follows is still asked for a next one, unless it is shorter than limit, or than one before: a
// next link may be missing, and max_limit lower than limit.
func (c *Client) pages(
	ctx context.Context, v Version, filter string, limit int, fields string, take func(Node) (bool, error),
) (most int, err error) {
	if filter != "" {
		filter += "&limit=" + strconv.Itoa(limit) + "&"
	}
	longest := limit
	for marker := ""; ; {
		r := request{tally: &c.stats.List, version: v.String(), path: "nodes?" + filter + marker + "fields=" + fields}
		fresh, last := 0, ""
		p, err := c.page(ctx, r, func(n Node) error {
			isNew, err := take(n)
			if isNew {
				fresh++
			}
			last = n.UUID
			return err
		})
		switch {
		case err != nil:
			return 0, err
		case fresh == 0 && (p.more || limit > 0 && p.rows >= limit):
			c.count(&r.tally.Errors)
			return 0, answerError(r.what(), errors.New("a page that goes on brings no new node"))
		case p.more:
			most = p.rows // that is when Ironic says it
		case most == 0 && marker != "" && fresh > 0:
			most = longest // it did not say it of the page before
		}
		longest = max(longest, p.rows)
		if !p.more && (p.rows < longest || fresh == 0) {
			return most, nil
		}
		marker = "marker=" + url.QueryEscape(last) + "&"
	}
}

// page reads one page. One with a row that names no node is none: somebody is there, and we cannot tell who.
func (c *Client) page(ctx context.Context, r request, take func(Node) error) (p page, err error) {
	err = c.get(ctx, r, func(_ http.Header, body io.Reader) error {
		p, err = decodePage(body, take)
		if err == nil && p.skipped > 0 {
			err = fmt.Errorf("%d of %d rows name no node", p.skipped, p.rows)
		}
		return err
	})
	return p, err
}
