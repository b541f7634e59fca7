package ironic

import (
	"context"
	"io"
	"net/url"
)

// Catalog lists all nodes there are, page by page in Ironic's own order. begin is called
// before each page and returns the mark of what it shows. A page that fails, or that
// shows a row without a usable uuid, fails the list; when the node with which a page
// ended is deleted the list begins once more (GC-14). Of a node that comes twice the
// later row counts.
//
// No limit is asked for, so that each page is as long as Ironic makes it: that is how
// PageLimit is learned. A page that does not say that more follows is still asked for a
// next one, unless it is shorter than one before.
func (c *Client) Catalog(ctx context.Context, begin func() Mark) (*Catalog, error) {
	var all *Catalog
	err := again(ctx, func() (err error) { all, err = c.catalogOnce(ctx, begin); return err })
	return all, err
}

// catalogOnce reads the pages of one list of all nodes.
func (c *Client) catalogOnce(ctx context.Context, begin func() Mark) (*Catalog, error) {
	v, err := c.negotiate(ctx)
	if err != nil {
		return nil, err
	}
	roll, marker := newRoll(), ""
	longest, limit := 0, 0
	for {
		mark := begin()
		if marker == "" {
			roll.begun = mark
		}
		roll.seq = mark.Seq
		known := roll.Len()
		var page list
		r := request{tally: &c.count.list, version: v.String(), path: "nodes?" + marker + "fields=" + v.entryFields() + v.children()}
		if err := c.rows(ctx, r, marker, func(body io.Reader) (_ list, err error) {
			page, err = decodeList(body, roll.row)
			return page, err
		}); err != nil {
			return nil, err
		}
		fresh := roll.Len() - known
		switch {
		case page.more:
			limit = page.rows // that is when Ironic says it
		case limit == 0 && marker != "" && fresh > 0:
			limit = longest // it did not say it of the page before
		}
		longest = max(longest, page.rows)
		if !page.more && (page.rows < longest || fresh == 0) {
			return roll.done(limit), nil
		}
		if fresh == 0 {
			return nil, c.endless(r)
		}
		marker = "marker=" + url.QueryEscape(roll.uuid(roll.last)) + "&"
	}
}

// entryFields lists what we ask of each node for an Entry, as far as this version knows it.
func (v Version) entryFields() string {
	fields := "uuid,name,provision_state"
	if v.Minor >= minorBootInterface {
		fields += ",boot_interface"
	}
	if v.ConductorGroups() {
		fields += ",conductor_group"
	}
	return fields
}
