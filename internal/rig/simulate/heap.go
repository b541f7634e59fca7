package simulate

// kind tells what an event is.
type kind uint8

const (
	evWake     kind = iota // a host's time to come back is there
	evFree                 // a worker is through with its host
	evAct                  // the reads of Ironic are over, the host's action comes
	evPut                  // the PUT leaves the operator
	evArrive               // the PUT reaches Ironic
	evAnswer               // Ironic's answer is back
	evPoll                 // the next request of the poller
	evTrouble              // a trouble begins
	evRelieved             // a trouble ends
	evSample               // time to note down what the picture needs
	evBegin                // the storm begins
	evFault                // the scenario's fault begins
	evMended               // and ends
	evWave                 // a wave of hosts comes
	evCapacity             // the site can boot more or fewer hosts from now on
)

// event is something that happens at a virtual moment. Events of one moment
// happen in the order in which they were made.
type event struct {
	at   int64
	seq  uint64
	who  int    // host, or trouble
	life uint32 // of the process that made it: what a dead one wanted is void
	kind kind
}

// agenda is what is still to happen. The hosts that sleep, by the thousand, lie
// apart from what happens within the next seconds, so that this stays small.
type agenda struct{ soon, asleep events }

func (a *agenda) push(e event) {
	if e.kind == evWake {
		a.asleep.push(e)
		return
	}
	a.soon.push(e)
}

// pop takes the first event; false when there is none.
func (a *agenda) pop() (event, bool) {
	switch {
	case len(a.soon) == 0 && len(a.asleep) == 0:
		return event{}, false
	case len(a.asleep) == 0, len(a.soon) > 0 && a.soon[0].before(&a.asleep[0]):
		return a.soon.pop(), true
	}
	return a.asleep.pop(), true
}

// events is a heap with four children to a node, by (at, seq).
type events []event

func (a *event) before(b *event) bool { return a.at < b.at || a.at == b.at && a.seq < b.seq }

func (h *events) push(e event) {
	*h = append(*h, e)
	q := *h
	i := len(q) - 1
	for i > 0 {
		up := (i - 1) / 4
		if !e.before(&q[up]) {
			break
		}
		q[i] = q[up]
		i = up
	}
	q[i] = e
}

// pop takes the first event; there must be one.
func (h *events) pop() event {
	q := *h
	top, e := q[0], q[len(q)-1]
	q = q[:len(q)-1]
	*h = q
	if len(q) == 0 {
		return top
	}
	i := 0
	for {
		first := 4*i + 1
		if first >= len(q) {
			break
		}
		least := first
		for c := first + 1; c < min(first+4, len(q)); c++ {
			if q[c].before(&q[least]) {
				least = c
			}
		}
		if !q[least].before(&e) {
			break
		}
		q[i] = q[least]
		i = least
	}
	q[i] = e
	return top
}
