package fleet

import (
	"crypto/sha256"
	"encoding/json"
)

// shared keeps one copy of what many objects have alike: the pods of a ReplicaSet have the same
// labels, requests and tolerations. Whoever gets such a value must not change it.
type shared struct {
	texts  map[string]string
	values map[[sha256.Size]byte]any
}

func newShared() *shared {
	return &shared{texts: map[string]string{}, values: map[[sha256.Size]byte]any{}}
}

// text is s, in memory once.
func (p *shared) text(s string) string {
	if s == "" {
		return ""
	}
	if one, ok := p.texts[s]; ok {
		return one
	}
	p.texts[s] = s
	return s
}

// once is v, or the value of the same type and content that was there before.
func once[T any](p *shared, v T) T {
	text, err := json.Marshal(v)
	if err != nil {
		return v
	}
	sum := sha256.Sum256(text)
	if one, ok := p.values[sum].(T); ok {
		return one
	}
	p.values[sum] = v
	return v
}

// labels are a map of texts, in memory once; nil where it is empty.
func (p *shared) labels(m map[string]string) map[string]string {
	if len(m) == 0 {
		return nil
	}
	return once(p, m)
}
