package access

import (
	"container/list"
	"crypto/sha256"
	"time"
)

// digest stands for a text that must not be kept, or is too long for that.
type digest [sha256.Size]byte

func sum(text string) digest { return sha256.Sum256([]byte(text)) }

// kept holds values with an end each. When it is full the one that was not looked at
// for longest goes. It has no lock.
type kept[V any] struct {
	max   int
	order *list.List // of *keptValue[V], the last looked at first
	byKey map[digest]*list.Element
}

type keptValue[V any] struct {
	key   digest
	value V
	until time.Time
}

func newKept[V any](limit int) *kept[V] {
	return &kept[V]{max: limit, order: list.New(), byKey: map[digest]*list.Element{}}
}

// get returns the value of key. It is found also after its end, but not fresh then.
func (k *kept[V]) get(now time.Time, key digest) (value V, fresh, found bool) {
	e, found := k.byKey[key]
	if !found {
		return value, false, false
	}
	k.order.MoveToFront(e)
	v := e.Value.(*keptValue[V])
	return v.value, now.Before(v.until), true
}

func (k *kept[V]) put(key digest, value V, until time.Time) {
	k.drop(key)
	k.byKey[key] = k.order.PushFront(&keptValue[V]{key, value, until})
	if k.order.Len() > k.max {
		k.drop(k.order.Back().Value.(*keptValue[V]).key)
	}
}

func (k *kept[V]) drop(key digest) {
	if e, ok := k.byKey[key]; ok {
		k.order.Remove(e)
		delete(k.byKey, key)
	}
}
