package fairshare

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// F-9: the same log gives the same answers, byte for byte.
func TestF9_SameLogSameAnswers(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		one, two, g := twins(t)
		for range rapid.IntRange(20, 100).Draw(t, "steps") {
			s := g.next(one)
			a, _ := one.play(s)
			if b, _ := two.play(s); a != b {
				t.Fatalf("%v: %+v and %+v", s, a, b)
			}
		}
		if a, b := shown(one), shown(two); a != b {
			t.Fatalf("%s\n%s", a, b)
		}
	})
}

// shown is what people would be shown.
func shown(r *run) (text string) {
	s := r.turns.(*actual).s
	v := s.View(r.now.Add(time.Second), 100)
	for i := range v.Hosts {
		text += v.Hosts[i].Host.Name()
		v.Hosts[i].Host = nil
	}
	return text + fmt.Sprintf("%+v %+v", v, s.Stats())
}
