package breaker

// ring is a queue of at most so many values, which grows on demand. The zero value
// is empty.
type ring[T any] struct {
	buf  []T
	head int
	n    int
}

// push appends v. When limit values are there the oldest makes room.
func (r *ring[T]) push(v T, limit int) {
	if r.n >= limit {
		r.pop()
	}
	if r.n == len(r.buf) {
		grown := make([]T, min(max(4, 2*r.n), limit))
		for i := range r.n {
			grown[i] = *r.at(i)
		}
		r.buf, r.head = grown, 0
	}
	r.n++
	*r.at(r.n - 1) = v
}

// at returns the i-th oldest value, 0 <= i < n.
func (r *ring[T]) at(i int) *T {
	i += r.head
	if i >= len(r.buf) {
		i -= len(r.buf)
	}
	return &r.buf[i]
}

// pop takes off the oldest value of a ring that is not empty.
func (r *ring[T]) pop() T {
	var zero T
	p := r.at(0)
	v := *p
	*p = zero // let go of its texts
	r.n--
	if r.head++; r.head == len(r.buf) {
		r.head = 0
	}
	return v
}

// slice returns the values, oldest first.
func (r *ring[T]) slice() []T {
	values := make([]T, r.n)
	for i := range values {
		values[i] = *r.at(i)
	}
	return values
}
