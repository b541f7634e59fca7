package child

import "testing"

func TestMemoryIsInMiB(t *testing.T) {
	// A string of 16 MiB, thrown away before the shell says that it is up.
	p, _, _ := script(t, `a=$(head -c 16777216 /dev/zero | tr '\0' x); a=; echo up >&3; while :; do sleep 0.01; done`)
	m, err := p.Memory()
	if err != nil || m.Most < 16 || m.Most > 1024 || m.Now <= 0 || m.Now > m.Most {
		t.Errorf("%s, %v; want 16 MiB at most", m, err)
	}
	p.Kill()
	if m, err := p.Memory(); err == nil || m != (Memory{}) {
		t.Errorf("%s, %v of nobody", m, err)
	}
}
