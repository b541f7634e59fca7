package ironic

// Tally counts requests of one kind.
type Tally struct {
	Requests uint64
	Errors   uint64 // a 404 for a single node is an answer, not an error
}

// Stats counts what the client has asked Ironic since it was made. Nothing else in this program sends Ironic a request
// of its own, so that a number which stands still proves that none was sent.
type Stats struct {
	List    Tally // pages
	Node    Tally // single nodes
	Newest  Tally // what changed last
	Version Tally // GET /v1
}

// Requests is the sum over all kinds.
func (s Stats) Requests() uint64 {
	return s.List.Requests + s.Node.Requests + s.Newest.Requests + s.Version.Requests
}

// Errors is the sum over all kinds.
func (s Stats) Errors() uint64 {
	return s.List.Errors + s.Node.Errors + s.Newest.Errors + s.Version.Errors
}
