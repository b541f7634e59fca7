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

// List returns all nodes in one provision state, each once and in Ironic's
// order, over as many pages as it takes. Any failure is a failure of the whole
// list: a part of it is never returned (GC-14).
//
// The pages are ours to turn. gophercloud's pager expects nodes_links
// and stops after the first page, Ironic's own next link forgets the filter;
// so each page is asked for with the filter and the last uuid as marker.
func (c *Client) List(ctx context.Context, state State) ([]Node, error) {
	if _, err := c.negotiate(ctx); err != nil {
		return nil, err
	}
	var nodes []Node
	err := again(ctx, func() (err error) { nodes, err = c.listOnce(ctx, state); return err })
	return nodes, err
}

// errMarkerGone marks a list that broke because the last node of a page was
// deleted before the next page was read.
var errMarkerGone = errors.New("the node with which the last page ended is gone")

// again reads a list, and once more from its start if that fails: its marker may have gone, or the database may have
// been locked for a moment.
func again(ctx context.Context, read func() error) error {
	err := read()
	if err != nil && ctx.Err() == nil {
		err = read()
	}
	return err
}

// listOnce reads the pages of one list.
func (c *Client) listOnce(ctx context.Context, state State) ([]Node, error) {
	v, err := c.negotiate(ctx)
	if err != nil {
		return nil, err
	}
	var nodes []Node
	at := make(map[string]int) // uuid → index in nodes
	held := &portion{of: &c.reading}
	defer held.end()
	marker := ""
	for {
		var p page
		r := c.pageOf(v, state, marker)
		if err := c.rows(ctx, r, marker, func(body io.Reader) (_ list, err error) {
			p, err = decodePage(body, held)
			return p.list, err
		}); err != nil {
			return nil, err
		}
		known := len(nodes)
		for _, n := range p.nodes {
			if n.State == "" { // unreadable; it is in this list because of its state
				n.State = state
			}
			if i, ok := at[n.UUID]; ok {
				nodes[i] = n
				continue
			}
			at[n.UUID] = len(nodes)
			nodes = append(nodes, n)
		}
		// A page is short when it has fewer rows than we asked for and nothing
		// is said to follow: Ironic's max_limit may be lower than ours, and a
		// next link may be missing.
		if p.rows < pageLimit && !p.more {
			return nodes, nil
		}
		if len(nodes) == known {
			return nil, c.endless(r)
		}
		marker = p.last
	}
}

// pageOf is the request for one page of a list.
func (c *Client) pageOf(v Version, state State, marker string) request {
	// %20 and not +, which is how every client of Ironic writes a space.
	filter := strings.ReplaceAll(url.QueryEscape(string(state)), "+", "%20")
	query := "provision_state=" + filter + "&limit=" + strconv.Itoa(pageLimit)
	if marker != "" {
		query += "&marker=" + url.QueryEscape(marker)
	}
	return request{
		tally: &c.count.list, version: v.String(),
		path: "nodes?" + query + "&fields=" + v.fields(c.more...) + v.children(),
	}
}

// rows sends a request for rows, which begin after marker, and has read take them.
func (c *Client) rows(ctx context.Context, r request, marker string, read func(io.Reader) (list, error)) error {
	var l list
	err := c.get(ctx, r, func(_ http.Header, body io.Reader) (err error) {
		l, err = read(body)
		return err
	})
	switch {
	case err != nil && marker != "" && isStatus(err, http.StatusNotFound):
		return fmt.Errorf("%w: %w", errMarkerGone, err)
	case err != nil:
		return err
	case l.skipped > 0:
		// Somebody is at work there, and we cannot tell who: such a list is none.
		r.tally.errors.Add(1)
		return answerError(r.what(), fmt.Errorf("%d of %d rows name no node", l.skipped, l.rows))
	}
	return nil
}

// endless is the failure of a list that says it goes on and does not.
func (c *Client) endless(r request) error {
	r.tally.errors.Add(1)
	return answerError(r.what(), errors.New("a page that goes on brings no new node"))
}
