package nearest

import "testing"

func TestWord(t *testing.T) {
	known := []string{"linger", "maxAge", "maxStale"}
	for _, row := range []struct {
		name, want string
		away       int
	}{{"MAX_AGE", "maxAge", 0}, {"lnger", "linger", 1}, {"", "linger", 6}, {"maxAge", "maxAge", 0}, {"lingre", "linger", 2}} {
		if got, away := Word(row.name, known); got != row.want || away != row.away {
			t.Errorf("Word(%q) = %s, %d; want %s, %d", row.name, got, away, row.want, row.away)
		}
	}
}
