package ironic

import (
	"errors"
	"io"
)

// list is what an answer to a list tells besides its rows.
type list struct {
	rows    int  // as Ironic counts them, usable or not
	skipped int  // rows without a uuid that could be used
	more    bool // there was a next link
}

// page is one answer to a list of nodes.
type page struct {
	list
	nodes []Node
	last  string // uuid of the last usable row: the marker of the next page
}

// decodeList reads a list of nodes as it comes and hands each row to read, which takes
// it up and reports whether it could be used. Nothing but the longest single value is
// held in memory. It tolerates whatever is not needed: unknown fields, nulls, values of
// another type, texts of any length, names that come twice, of which the last counts
// (GC-17). What it does need are whole JSON and a list named nodes; an answer without
// them is an error, because half a list must never be taken for a whole one (GC-14).
func decodeList(r io.Reader, read func(row *reader) (bool, error)) (list, error) {
	in := newReader(r)
	var l list
	if err := in.expect('{'); err != nil {
		return list{}, err
	}
	found := false
	for in.more('}') {
		name, err := in.name()
		if err != nil {
			return list{}, torn(err)
		}
		switch string(name) {
		case "nodes":
			found = true
			err = in.expect('[')
			for err == nil && in.more(']') {
				in.meter.next()
				var ok bool
				ok, err = read(in)
				l.rows++
				if !ok {
					l.skipped++
				}
			}
			if err == nil {
				err = in.expect(']')
			}
		case "next":
			var next []byte
			next, err = in.text(maxTextLen)
			l.more = len(next) > 0
		default:
			err = in.skip()
		}
		if err != nil {
			return list{}, torn(err)
		}
	}
	if err := in.end(); err != nil {
		return list{}, err
	}
	if !found {
		return list{}, errors.New("no list named nodes")
	}
	return l, nil
}

// decodePage reads a list of whole nodes, which are added to held.
func decodePage(r io.Reader, held *portion) (page, error) {
	var p page
	var err error
	p.list, err = decodeList(r, func(row *reader) (bool, error) {
		n, ok, err := row.node()
		if ok {
			p.nodes = append(p.nodes, n)
			p.last = n.UUID
			err = held.add(n)
		}
		return ok, err
	})
	if err != nil {
		return page{}, err
	}
	return p, nil
}

// decodeNode reads a single node.
func decodeNode(r io.Reader) (Node, error) {
	in := newReader(r)
	n, ok, err := in.node()
	if err != nil {
		return Node{}, torn(err)
	}
	if err := in.nothing(); err != nil {
		return Node{}, err
	}
	if !ok {
		return Node{}, errors.New("a node without a uuid")
	}
	return n, nil
}

// torn names the error of an answer that stops too early by what it means.
func torn(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
