package ironic

import "sync/atomic"

// Tally counts requests of one kind.
type Tally struct {
	Requests uint64
	Errors   uint64 // a 404 for a single node is an answer, not an error
}

// Stats counts the requests of a Client since NewClient.
type Stats struct {
	List    Tally // pages of lists
	Node    Tally // fetches of single nodes
	Newest  Tally // pages of the nodes that changed last
	Version Tally // GET /v1
}

type tally struct{ requests, errors atomic.Uint64 }

func (t *tally) read() Tally { return Tally{Requests: t.requests.Load(), Errors: t.errors.Load()} }

// Stats returns the counts so far.
func (c *Client) Stats() Stats {
	return Stats{List: c.list.read(), Node: c.node.read(), Newest: c.newest.read(), Version: c.versions.read()}
}
