package child

import (
	"syscall"
	"testing"
)

func TestCatches(t *testing.T) {
	p, _, _ := script(t, `trap : TERM; echo up >&3; while :; do sleep 0.01; done`)
	for sig, want := range map[syscall.Signal]bool{syscall.SIGTERM: true, syscall.SIGUSR1: false} {
		if got, err := p.Catches(sig); err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", sig, got, err, want)
		}
	}
	p.Kill()
	if got, err := p.Catches(syscall.SIGTERM); err == nil || got {
		t.Errorf("%v, %v of nobody", got, err)
	}
}
