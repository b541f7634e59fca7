package api

// Queue is the body of GET /v1/queue: who waits, in which order, and why that order.
type Queue struct {
	// Pools are the limits with a queue of their own: "", the total, then conductor groups by name, then "virtual-media".
	Pools []PoolQueue `json:"pools"`
}

// QueueQuery says which hosts of the queues are wanted. The zero value of a field wants all.
type QueueQuery struct {
	Limit     int     // of hosts of each pool, 0..1000
	Namespace string  // of the hosts
	Reason    Reason  // of their last answer
	Pool      *string // whose queue is wanted; "" is the total
}

// All reports whether q wants hosts of every namespace and reason, of whatever pool.
func (q QueueQuery) All() bool { return q.Namespace == "" && q.Reason == "" }

// PoolQueue is the queue for the slots of one limit (docs/behaviour.md).
type PoolQueue struct {
	Pool    string `json:"pool"`
	Limit   int    `json:"limit"`
	Waiting int    `json:"waiting"` // hosts in line for a slot
	Due     int    `json:"due"`     // of these, those that were overtaken so often that a free slot is kept for them
	// Silent hosts have not asked for too long; Stopped ones are kept from starting by a hold, a breaker or a pause.
	// Both keep their place, and are not in line.
	Silent  int `json:"silent"`
	Stopped int `json:"stopped"`
	// MeanSlotSeconds is for how long a host holds a slot on average; absent until enough slots have ended to tell.
	MeanSlotSeconds float64 `json:"meanSlotSeconds,omitempty"`
	// FailingAllowed is how many failing hosts may hold slots: a quarter of the slots while healthy hosts want slots,
	// more when they do not. FailingHeld is how many do; it may be more, as no slot is taken away.
	FailingAllowed int `json:"failingAllowed"`
	FailingHeld    int `json:"failingHeld"`
	// Tenants that have hosts in the queue or slots, those with the most hosts in the queue first; cut off at the
	// limit of the query, or at 100.
	Tenants     []TenantQueue `json:"tenants"`
	TenantCount int           `json:"tenantCount"` // how many there are
	// Hosts are in the order of the queue, cut off at the limit of the query. With a namespace or a reason in the
	// query silent and stopped ones follow.
	Hosts    []QueuedHost `json:"hosts"`
	Matching int          `json:"matching,omitempty"` // hosts of the namespace and reason of the query; 0 without these
}

// TenantQueue is the part of a namespace.
type TenantQueue struct {
	Tenant  string  `json:"tenant"`
	Weight  float64 `json:"weight"`
	Holding int     `json:"holding"` // slots
	Waiting int     `json:"waiting"` // hosts in line
	Failing int     `json:"failing"` // of these, those that are failing
}

// QueuedHost is one host that waits.
type QueuedHost struct {
	Position int    `json:"position"` // 1 = next, 0: it is not in line
	Name     string `json:"name,omitempty"`
	NodeUUID string `json:"nodeUUID,omitempty"`
	Tenant   string `json:"tenant"`
	Reason   Reason `json:"reason,omitempty"` // that of its last answer; "" when that is not known
	Lane     string `json:"lane"`             // healthy, failing; planned of one that stands in no queue
	Errors   int    `json:"errors"`
	// WaitedSeconds counts from its first ask for this slot. ExpectSeconds is until the slot as far as one can tell:
	// half of all hosts in its place have one by then, 90 % within AtMostSeconds; nil until enough slots have ended.
	WaitedSeconds float64  `json:"waitedSeconds"`
	ExpectSeconds *float64 `json:"expectSeconds,omitempty"`
	AtMostSeconds *float64 `json:"atMostSeconds,omitempty"`
}

// Expected says when h may have its turn: half of all hosts in its place, and 90 %. It is empty where h is not in line.
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

// Turns counts what the queues of all pools did since the start.
type Turns struct {
	Waits Histogram `json:"waits"` // the times from a host's entry to its grant
	// Waiting are the hosts that want a slot now, by lane and tenant. Beyond a number the other tenants are "(others)".
	Waiting []WaitingCount `json:"waiting"`
	Stopped int            `json:"stopped"` // the hosts that want a slot and are stopped by a breaker or a pause
}

// WaitingCount is one cell of Turns.Waiting.
type WaitingCount struct {
	Lane          string  `json:"lane"`
	Tenant        string  `json:"tenant"`
	Hosts         int     `json:"hosts"`
	WaitedSeconds float64 `json:"waitedSeconds"` // for how long the first of them in line has waited
}
