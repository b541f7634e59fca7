package breaker

// ring is a queue of at most so many values, which grows on demand. The zero value
// is empty.
type ring[T any] struct {
	buf  []T
	head int
	n    int
}

// push appends v. When limit values are there it drops the oldest.
func (r *ring[T]) push(v T, limit int) {
	if r.n >= limit {
		r.pop()
	}
	if r.n == len(r.buf) {
		grown := make([]T, min(max(4, 2*r.n), limit))
		copy(grown, r.slice())
		r.buf, r.head = grown, 0
	}
	r.n++
	*r.at(r.n - 1) = v
}

// at returns the i-th oldest value, 0 <= i < n.
func (r *ring[T]) at(i int) *T {
	return &r.buf[(r.head+i)%len(r.buf)]
}

// pop takes off the oldest value of a ring that is not empty.
func (r *ring[T]) pop() T {
	var zero T
	p := r.at(0)
	v := *p
	*p = zero // let go of its texts
	r.head, r.n = (r.head+1)%len(r.buf), r.n-1
	return v
}

// slice returns the values, oldest first, nil for none.
func (r *ring[T]) slice() []T {
	var values []T
	for i := range r.n {
		values = append(values, *r.at(i))
	}
	return values
}
