package holdoff

// SetMost bounds b to n hosts.
func (b *Book) SetMost(n int) { b.most = n }

// Len is the number of hosts that b knows anything of.
func (b *Book) Len() int { return len(b.hosts) }

// Texts are the bounds of what is kept, in bytes.
const (
	MaxText  = maxText
	MaxCause = maxCause
)
