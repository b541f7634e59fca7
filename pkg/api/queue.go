package api

// Queue is the body of GET /v1/queue: which hosts wait, and in which order.
type Queue struct {
	// Pools have a queue each: first the pool "", then conductor groups by name, then "virtual-media".
	Pools []PoolQueue `json:"pools"`
}

// QueueQuery selects hosts of the queues. Its zero value selects no hosts, but the counts of every pool.
type QueueQuery struct {
	Limit     int     // the most hosts of each pool, 0..1000
	Namespace string  // their namespace, or their tenant; "": any
	Reason    Reason  // the reason of their last answer; "": any
	Pool      *string // the only pool; nil: every pool
}

// All reports whether q selects hosts of every namespace and reason.
func (q QueueQuery) All() bool { return q.Namespace == "" && q.Reason == "" }

// PoolQueue is the queue for the slots of one pool.
type PoolQueue struct {
	Pool    string `json:"pool"`
	Limit   int    `json:"limit"`
	Waiting int    `json:"waiting"` // hosts in line for a slot
	Due     int    `json:"due"`     // of Waiting: others overtook them too often, so the next free slot is theirs
	// Silent hosts have not asked for too long, and a hold, a breaker or a pause keeps Stopped hosts from starting. Both
	// keep their place but are not in line: they delay no other host.
	Silent  int `json:"silent"`
	Stopped int `json:"stopped"`
	// MeanSlotSeconds is how long a host holds a slot on average; 0 until enough slots have ended.
	MeanSlotSeconds float64 `json:"meanSlotSeconds,omitempty"`
	// FailingAllowed is how many slots hosts with errors may hold: a quarter of them, or more if no other host wants
	// one. FailingHeld is how many they do hold. It may be more, as no host ever loses its slot.
	FailingAllowed int `json:"failingAllowed"`
	FailingHeld    int `json:"failingHeld"`
	// Tenants have hosts in line or slots. Those with the most hosts in line come first; there are at most 100, or as
	// many as the query's Limit if that is more.
	Tenants     []TenantQueue `json:"tenants"`
	TenantCount int           `json:"tenantCount"` // all tenants
	// Hosts are in the order of the queue, at most the query's Limit. For a query with a Namespace or a Reason, those
	// that are not in line follow.
	Hosts    []QueuedHost `json:"hosts"`
	Matching int          `json:"matching,omitempty"` // all hosts of that Namespace and Reason; 0 for other queries
}

// TenantQueue is a tenant in the queue of a pool.
type TenantQueue struct {
	Tenant  string  `json:"tenant"`
	Weight  float64 `json:"weight"`  // its share of the slots, relative to others (TENANT_WEIGHTS)
	Holding int     `json:"holding"` // its slots
	Waiting int     `json:"waiting"` // its hosts in line
	Failing int     `json:"failing"` // of Waiting: hosts in the lane failing
}

// QueuedHost is a host that wants a slot.
type QueuedHost struct {
	Position int    `json:"position"`       // 1 is next; 0: it is not in line
	Name     string `json:"name,omitempty"` // of the node in Ironic: NAMESPACE~NAME if BMO made it
	NodeUUID string `json:"nodeUUID,omitempty"`
	Tenant   string `json:"tenant"`
	Reason   Reason `json:"reason,omitempty"` // of its last answer; "": not known
	Lane     string `json:"lane"`             // healthy, failing (two errors or more), or planned
	Errors   int    `json:"errors"`           // those that move it back in the queue, at most 9
	// WaitedSeconds counts from its first ask for this slot. ExpectSeconds and AtMostSeconds say how long it still
	// waits: half of the hosts in such a place got a slot within the first, 90 % within the second; nil: not known.
	WaitedSeconds float64  `json:"waitedSeconds"`
	ExpectSeconds *float64 `json:"expectSeconds,omitempty"`
	AtMostSeconds *float64 `json:"atMostSeconds,omitempty"`
}

// Expected returns ExpectSeconds and AtMostSeconds in words, such as "in 25m to 50m"; "" if h is not in line.
func (h QueuedHost) Expected() string {
	switch {
	case h.Position == 0:
		return ""
	case h.ExpectSeconds == nil:
		return "not known yet"
	case h.AtMostSeconds != nil && *h.AtMostSeconds > *h.ExpectSeconds:
		return "in " + Seconds(*h.ExpectSeconds) + " to " + Seconds(*h.AtMostSeconds)
	}
	return "in " + Seconds(*h.ExpectSeconds)
}

// Turns sums up the queues of all pools.
type Turns struct {
	Waits Histogram `json:"waits"` // from the first ask for a slot to the yes, since the start of the process
	// Waiting counts the hosts in line by lane and tenant. It names 50 tenants; the others are together "(others)".
	Waiting []WaitingCount `json:"waiting"`
	Stopped int            `json:"stopped"` // the sum of PoolQueue.Stopped
}

// WaitingCount counts the hosts in line of a lane and tenant.
type WaitingCount struct {
	Lane          string  `json:"lane"` // healthy or failing
	Tenant        string  `json:"tenant"`
	Hosts         int     `json:"hosts"`
	WaitedSeconds float64 `json:"waitedSeconds"` // how long the first of them has waited
}
